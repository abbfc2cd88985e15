/** Apps with their keys, targets, limits and tables. @module */
export * from "./app_life.ts";
export {
  type AppContents,
  deleteApp,
  findAppContents,
  orderTables,
  planRestore,
  type RestoreStep,
  renameApp,
  setAppSwitch,
  setHistoryDays,
  type Writer,
  waitForWriters,
} from "./app_life.ts";
export { moveApp } from "./app_node.ts";
export * from "./apps.ts";
export { GRACE, HISTORY_AGE, KEY_NAME, PER_MINUTE, PER_MINUTE_OF_KEY, SLUG } from "./apps.ts";
export { KEY_MAX_LENGTH, readKeyText, toProof } from "./key_text.ts";
export {
  GRACES,
  type Grace,
  issueKey,
  type KeyRecord,
  type KeyUse,
  keyList,
  type ListedKey,
  revokeKey,
  rollKey,
  type UsedKey,
  useKey,
  useKeys,
} from "./keys.ts";
export { DEFAULT_PER_MINUTE, type Limits, MAX_PER_MINUTE, makeLimits, setLimit } from "./limits.ts";
export * from "./tables.ts";
export { type EndedUse, runRowsJobs } from "./tables.ts";
export {
  type AppTargets,
  makeOrigins,
  type Origins,
  readReturnUrl,
  readTarget,
  setTargets,
  type Target,
  type TypedTargets,
} from "./targets.ts";
