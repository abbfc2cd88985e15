/** Reads of the Console's pages, and changes that only the Console makes. @module */
export { type AppEnd, deleteAppByConsole } from "./app_end.ts";
export {
  type AppKey,
  type ConsoleApp,
  type ConsoleVisitor,
  type Numbers,
  type ShownApp,
  SPANS,
  type Span,
  showConsoleApp,
} from "./apps.ts";
export {
  type AuditFilter,
  type ConsoleAuditEntry,
  listConsoleAudit,
  type ShownAudit,
} from "./audit.ts";
export type { Axis, Change } from "./axis.ts";
export type {
  PushedDefinition,
  RisenCode,
  ShownChanges,
} from "./changes.ts";
export type { ConsoleFindings } from "./find.ts";
export type { ConsoleHome } from "./home.ts";
export {
  type AnyPerson,
  type AppPerson,
  type ConsolePerson,
  type ShownPerson,
  showConsolePerson,
} from "./people.ts";
export { type ConsolePush, type ShownPush, showConsolePush } from "./pushes.ts";
export { readConsole } from "./reads.ts";
export {
  type KeptRequest,
  listConsoleRequests,
  REQUEST_KINDS,
  type RequestFilter,
  type RequestKind,
  type ShownRequest,
  showConsoleRequest,
} from "./requests.ts";
export { openRows, type RowsKey, type ShownRows, showConsoleRows } from "./rows.ts";
export {
  type ConsoleAppTable,
  type ConsoleBuild,
  type ConsoleTable,
  endRegistrationByConsole,
  type FoundTable,
  type ShownTable,
  type TableSize,
  type TableUsers,
} from "./tables.ts";
