/** An explicit change, read from a value of any type: hostile, as a definition is. @module */
import * as v from "valibot";
import type { Detail } from "../problem.ts";
import type { Change } from "./change.ts";

/** Longer than any name: which names there are is checked against the tables. */
const Name = v.pipe(v.string(), v.maxLength(63));

const ChangeSchema = v.variant("kind", [
  v.strictObject({ kind: v.literal("rename_column"), table: Name, column: Name, to: Name }),
  v.strictObject({ kind: v.literal("rename_table"), table: Name, to: Name }),
  v.strictObject({ kind: v.literal("drop_column"), table: Name, column: Name }),
  v.strictObject({ kind: v.literal("drop_table"), table: Name }),
  v.strictObject({ kind: v.literal("drop_value"), table: Name, column: Name, value: Name }),
]);

/** A change, or everything that is wrong with it, with paths below the change. */
export function readChange(value: unknown): { change: Change } | { details: Detail[] } {
  const read = v.safeParse(ChangeSchema, value);
  if (read.success) return { change: read.output };
  const details = read.issues.map((issue) => ({
    path: (issue.path ?? []).map(({ key }) => `/${String(key).slice(0, 100)}`).join(""),
    message: `Cannot read this part of the change: expected ${issue.expected ?? "another value"}`,
  }));
  return { details };
}
