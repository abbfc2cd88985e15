/** What the pages of the Console read, and changes that only the Console makes. @module */
export { type AppEnd, deleteAppByConsole, describeAppEnd } from "./app_end.ts";
export {
  type AppKey,
  type ConsoleApp,
  type ConsoleVisitor,
  listConsoleApps,
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
export {
  type ChangesQuery,
  type PushedDefinition,
  type RisenCode,
  type ShownChanges,
  showConsoleChanges,
} from "./changes.ts";
export { type ConsoleFindings, findInConsole } from "./find.ts";
export { type ConsoleHome, readConsoleHome } from "./home.ts";
export {
  type AnyPerson,
  type AppPerson,
  type ConsolePerson,
  listAppPeople,
  listConsoleInvitations,
  listConsolePeople,
  type ShownPerson,
  showConsolePerson,
} from "./people.ts";
export { type ConsolePush, listConsolePushes, type ShownPush, showConsolePush } from "./pushes.ts";
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
  listConsoleAppTables,
  listConsoleTables,
  type ShownTable,
  showConsoleTable,
  type TableSize,
  type TableUsers,
} from "./tables.ts";
