/** Calls by an operator, an administrator or a signed-in person, and their audit log. @module */
export {
  type ConsoleActor,
  recordRejection,
  runAction,
  type VisitorActor,
} from "./action.ts";
export { type AuditEntry, auditList, sweepAudit } from "./audit.ts";
export * from "./columns.ts";
export * from "./declaration.ts";
export * from "./list.ts";
export {
  ConsoleRejected,
  NotSignedIn,
  rejectFor,
  SecondFactorNeeded,
  SignInTooOld,
  SuperAdminNeeded,
  unknownApp,
  unknownPerson,
} from "./rejections.ts";
