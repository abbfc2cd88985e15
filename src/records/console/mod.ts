/** Reads of the Console's pages, and changes that only the Console makes. @module */
export type { AppEnd } from "../apps/app_life.ts";
export type * from "./activity.ts";
export type { Axis, Change } from "./activity.ts";
export * from "./activity.ts";
export * from "./apps.ts";
export { deleteAppByConsole } from "./apps.ts";
export type { RowChange } from "./history.ts";
export type { ConsoleHome } from "./home.ts";
export * from "./people.ts";
export { type ConsolePush, type PushView, pushList } from "./pushes.ts";
export {
  CONSOLE_READS,
  type ConsoleMatches,
  type ConsoleReads,
  readConsole,
  readSorted,
} from "./reads.ts";
export * from "./tables.ts";
export { openRows, type RowsKey } from "./tables.ts";
