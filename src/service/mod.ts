/** A running service: pools, isolation guard, metrics and the rooms of its role put together; and its examination. @module */
export {
  examine,
  examineAdmin,
  examineLogin,
  type Finding,
  judgeDriver,
  judgeSecrets,
  judgeSettings,
} from "./doctor.ts";
export { IsolationError, openService, type Service, type ServiceOptions } from "./open.ts";
