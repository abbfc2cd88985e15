/** Imports of files in the Console: their lines, what they wrote, and the entries of the audit log that they make. @module */
import type { Written } from "../../rows/mod.ts";
import { type ConsoleActor, callConsole } from "../actions/action.ts";
import { type Checked, count, flag, many, orNull, record, text, time } from "../actions/columns.ts";

const WRITTEN = { created: count(), changed: count(), deleted: count() };

const IMPORT = record({
  /** The requests of the import are this act; its changes in the history have it. */
  act: text(),
  /** The act undoes an import. */
  isUndo: flag(),
  at: time(),
  /** Null for a deleted person. */
  by: orNull(text()),
  personId: text(),
  file: text(),
  /** Its changes in the history are between these; without the last, it has not ended. */
  from: count(),
  until: orNull(count()),
  /** Its place in the history of the table: the last change before its end, or before its beginning if it has not ended. */
  place: count(),
  /** The rows that it began to write. */
  rows: count(),
  /** What it wrote; null: it has not ended. */
  ended: orNull(record(WRITTEN)),
  /** What the history has of it. */
  kept: record(WRITTEN),
  /** When it was last undone, and by which act; null also after an undo of that. */
  undone: orNull(record({ act: text(), at: time() })),
});
export type Import = Checked<typeof IMPORT>;

export const IMPORTS_READ = record({ imports: many(IMPORT) });
export const IMPORT_READ = record({ lastId: count(), ids: many(count()), rowIds: many(text()) });

type Entry =
  | { step: "begin_import"; about: { act: string; file: string; digest: string; rows: number } }
  | { step: "begin_undo"; about: { act: string; of: string; file: string } }
  | { step: "import_rows" | "undo_import"; about: { act: string; file: string; wrote: Written } };

/** @throws {Problem} unknown_table */
export async function logImport(
  deps: ConsoleActor,
  { slug, table }: { slug: string; table: string },
  { step, about }: Entry,
): Promise<void> {
  const values = { app_slug: slug, wanted_table: table, step, about };
  await callConsole(deps, "console_log_import", values);
}
