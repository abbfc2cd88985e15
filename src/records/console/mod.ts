/** Reads of the Console's pages, and changes that only the Console makes. @module */
export type { AppEnd } from "../apps/app_life.ts";
export * from "./activity.ts";
export * from "./apps.ts";
export * from "./imports.ts";
export * from "./reads.ts";
export * from "./tables.ts";
