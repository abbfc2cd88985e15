/** A running service: pools, isolation guard, metrics and the modules of its role; and the doctor's checks. @module */

export type { CheckResult } from "./check_result.ts";
export { ADMIN_CONNECTIONS } from "./databases.ts";
export { checkPooler } from "./doctor/connections.ts";
export type { DoctorContext } from "./doctor/context.ts";
export { runChecks } from "./doctor/doctor.ts";
export { type ListenOptions, listen } from "./listen.ts";
export { checkLogins } from "./logins/checks.ts";
export { IsolationError, openService, type Service } from "./open.ts";
export { routes } from "./routes.ts";
export { checkCookieDomain, evaluateProxies, evaluateRemoved } from "./setting_checks.ts";
export { evaluateDriver } from "./settings_checks.ts";
