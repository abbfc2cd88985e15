/** Moves the service's own rows of a database of another baseline to a new database. @module */
export { type Copying, copyRows, type Summary, summarize } from "./copy.ts";
export { NOT_MOVED } from "./differences.ts";
export {
  type MovedDatabases,
  moveServiceRows,
  planServiceRows,
  type ServicePlan,
} from "./service_tables.ts";
export {
  checkTarget,
  clearTarget,
  createTarget,
  dropTarget,
  findTarget,
  finishTarget,
  isMoving,
  listSessions,
  openTarget,
  readSourceState,
} from "./target.ts";
