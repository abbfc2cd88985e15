/** Apps with their keys, targets, limits and tables. @module */
export * from "./app_life.ts";
export { moveApp } from "./app_node.ts";
export * from "./apps.ts";
export * from "./key_actions.ts";
export { KEY_MAX_LENGTH, readKeyText, toProof } from "./key_text.ts";
export * from "./keys.ts";
export * from "./table_actions.ts";
export * from "./tables.ts";
export * from "./targets.ts";
