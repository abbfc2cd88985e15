/** Moves the service's own rows of a database of another baseline to a new database. @module */
export { type Copying, copyRows, type Summary, summarize } from "./copy.ts";
export { NOT_MOVED } from "./differences.ts";
export * from "./service_tables.ts";
export * from "./target.ts";
