/** A running service: pools, isolation guard, metrics and the modules of its role; and the doctor's checks. @module */
export { checkCookieDomain, evaluateProxies } from "./callers.ts";
export { ADMIN_CONNECTIONS, evaluateDriver } from "./databases.ts";
export type { CheckResult } from "./doctor/check_result.ts";
export { type DoctorContext, runChecks } from "./doctor/doctor.ts";
export { checkPooler } from "./doctor/pooler.ts";
export { IsolationError, openService, type Service } from "./open.ts";
export { checkLogins } from "./pushing.ts";
export { routes } from "./routes.ts";
