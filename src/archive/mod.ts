/** Archives: an app with its rows in one file, written and restored with the same ids. @module */
export type { ArchiveDeps } from "./deps.ts";
export { countRows, exportRows, findArchive } from "./export.ts";
export { type Archive, ArchiveError, checkArchive } from "./file.ts";
export { type ImportPlan, planImport } from "./plan.ts";
export { runImport } from "./restore.ts";
export { describeSettings, planSettings, toSettingsJson } from "./settings.ts";
export { checkValues } from "./values.ts";
