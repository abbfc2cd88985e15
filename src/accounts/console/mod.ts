/** Reads of the Console's pages, and changes that only the Console makes. @module */
export { type AppEnd, deleteAppByConsole } from "./app_end.ts";
export {
  type AppKey,
  type AppView,
  type ConsoleApp,
  type ConsoleVisitor,
  type Numbers,
  SPANS,
  type Span,
} from "./apps.ts";
export type { AuditContent, ConsoleAuditEntry } from "./audit.ts";
export type { Axis, Change } from "./axis.ts";
export type {
  ChangesView,
  PushedDefinition,
  RisenCode,
} from "./changes.ts";
export type { ConsoleHome } from "./home.ts";
export {
  type AppPerson,
  type ConsolePerson,
  type PersonView,
  showConsolePerson,
} from "./people.ts";
export type { ConsolePush, PushView } from "./pushes.ts";
export { type ConsoleMatches, readConsole } from "./reads.ts";
export {
  REQUEST_KINDS,
  type RequestKind,
  type RequestView,
  type StoredRequest,
} from "./requests.ts";
export { openRows, type RowsKey } from "./rows.ts";
export {
  type ConsoleAppTable,
  type ConsoleBuild,
  type ConsoleTable,
  endRegistrationByConsole,
  type FoundTable,
  type TableSize,
  type TableUsers,
  type TableView,
} from "./tables.ts";
