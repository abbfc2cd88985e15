/** Apps, keys and people: functions over the database, shared by the rooms above. @module */
export { APP_SLUG, type App, addOrigin, createApp, findAppId, listApps } from "./apps.ts";
export { makeKeyText, readKeyText } from "./key_text.ts";
export { hashSecret, issueKey, type KeyRecord, revokeKey, unknownApp, useKey } from "./keys.ts";
export { makeOrigins, type Origins } from "./origins.ts";
export { readTarget, type Target } from "./target.ts";
export { transferTable } from "./transfer_table.ts";
