/** A running service: pools, isolation guard, metrics and the modules of its role; and the doctor's checks. @module */
export { checkCookieDomain, evaluateProxies } from "./callers.ts";
export type { CheckResult } from "./check_result.ts";
export { ADMIN_CONNECTIONS, evaluateDriver } from "./databases.ts";
export { CHECKS, type DoctorContext, runChecks } from "./doctor.ts";
export { IsolationError, openService, type Service } from "./open.ts";
export { checkPooler } from "./pooler.ts";
export { checkConsole, checkLogins } from "./pushing.ts";
export { routes } from "./routes.ts";
export { toFailedCheck } from "./unavailable.ts";
