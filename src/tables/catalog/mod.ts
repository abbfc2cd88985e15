/** The recorded tables: keeps them current, calls their functions, and checks their isolation. @module */
export * from "./catalog.ts";
export * from "./former_names.ts";
export * from "./functions.ts";
export { type Isolation, listIssues, makeIsolationCheck } from "./isolation_check.ts";
export * from "./names.ts";
export * from "./person_endpoints.ts";
export * from "./rule_walks.ts";
export * from "./views.ts";
export * from "./walks.ts";
