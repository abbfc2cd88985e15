/** Calls by an operator, an administrator or a signed-in person, and their audit log. @module */
export {
  type ConsoleActor,
  recordRejection,
  type VisitorActor,
} from "./action.ts";
export { listAudit, sweepAudit } from "./audit.ts";
export { AUDIT_RETENTION_S } from "./audit_retention.ts";
export { type Field, type Input, readInput } from "./input.ts";
export { findIssues, rejectFor } from "./issues.ts";
export {
  ConsoleRejected,
  NotSignedIn,
  SecondFactorNeeded,
  SignInTooOld,
  SuperAdminNeeded,
  unknownApp,
} from "./rejections.ts";
