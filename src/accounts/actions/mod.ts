/** Calls in the name of an operator, an administrator or a signed-in person, and the audit log of them. @module */
export type { Actor, ConsoleActor } from "./action.ts";
export { listAudit, OPERATOR, sweepAudit } from "./audit.ts";
export { AUDIT_RETENTION_S } from "./audit_retention.ts";
export { type ConsoleDeps, ConsoleRefused, SecondFactorNeeded } from "./console_call.ts";
export { refuseFor } from "./faults.ts";
export { type ShownCookies, SignInTooOld } from "./shown_call.ts";
