/** Apps with their keys, targets, limits and tables. @module */
export * from "./app_archive.ts";
export { type AppContents, deleteApp, findAppContents } from "./app_deletion.ts";
export { renameApp, setAppSwitch, type Writer, waitForWriters } from "./app_life.ts";
export { moveApp } from "./app_node.ts";
export { setTargets } from "./app_targets.ts";
export * from "./apps.ts";
export { GRACE, KEY_NAME, PER_MINUTE, PER_MINUTE_OF_KEY, SLUG } from "./inputs.ts";
export { GRACES, type Grace, keyList, type ListedKey, rollKey } from "./key_life.ts";
export { KEY_MAX_LENGTH, readKeyText, toProof } from "./key_text.ts";
export {
  issueKey,
  type KeyRecord,
  type KeyUse,
  revokeKey,
  type UsedKey,
  useKey,
  useKeys,
} from "./keys.ts";
export {
  DEFAULT_PER_MINUTE,
  type Limits,
  MAX_PER_MINUTE,
  makeLimits,
  setLimit,
} from "./limits.ts";
export { makeOrigins, type Origins } from "./origins.ts";
export { orderTables, planRestore, type RestoreStep } from "./restore_order.ts";
export { readReturnUrl } from "./return_url.ts";
export { type EndedUse, runRowsJobs } from "./rows_jobs.ts";
export * from "./tables.ts";
export { type AppTargets, readTarget, type Target, type TypedTargets } from "./target.ts";
