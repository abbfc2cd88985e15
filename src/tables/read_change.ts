/** The schema of an explicit change, which is read as hostile input like a definition. @module */

import * as v from "valibot";
import { isReference } from "../kinds/mod.ts";
import { KINDS, readDefinition } from "../schema/mod.ts";
import { isStorableText } from "../std/text.ts";
import { kind, only, type Reading, readValue } from "./issues.ts";
import { type Change, toColumnType } from "./plan/change.ts";

/** Longer than any name. The tables determine which names exist. */
const MAX_CHARS = 63;

function name(description: string) {
  return v.pipe(
    v.string(),
    v.maxLength(MAX_CHARS, `Must have at most ${MAX_CHARS} characters`),
    v.check(isStorableText, "Must not contain U+0000 or lone surrogates"),
    v.description(description),
  );
}
const table = name("The table.");
const column = name("The column of the table.");
const to = name("The new name.");
const ofColumn = { table, column };

const type = only({
  kind: v.pipe(v.picklist(KINDS), v.description("The kind of the column.")),
  // Read as part of a definition, which limits their number first.
  values: v.optional(v.pipe(v.unknown(), v.description("The values of an enum."))),
  default: v.optional(v.pipe(v.unknown(), v.description("The default."))),
});

const AnyChange = v.variant("kind", [
  only({ kind: kind("rename_column", "Renames a column."), ...ofColumn, to }),
  only({ kind: kind("rename_table", "Renames a table."), table, to }),
  only({ kind: kind("drop_column", "Deletes a column with its values."), ...ofColumn }),
  only({ kind: kind("drop_table", "Deletes a table with its rows."), table }),
  only({
    kind: kind("drop_value", "Removes a value of an enum that no row has."),
    ...{ ...ofColumn, value: name("The value.") },
  }),
  only({
    kind: kind("retype_column", "Converts a column to another type."),
    ...{ ...ofColumn, type: v.pipe(type, v.description("The new type.")) },
  }),
]);

export const ChangeBody = v.pipe(
  AnyChange as v.GenericSchema<Change, v.InferOutput<typeof AnyChange>>,
  v.description(
    "The change. Only the app that owns the table can change it. One that deletes values (`drop_column`, `drop_table`, and `retype_column` if the values cannot be converted back) requires the scope `schema:drop` too.",
  ),
  v.rawTransform<v.InferOutput<typeof AnyChange>, Change>(({ dataset, addIssue, NEVER }) => {
    const read = checkType(dataset.value);
    if ("change" in read) return read.change;
    for (const message of read.issues) addIssue({ message, path: toPath(dataset.value, read.at) });
    return NEVER;
  }),
);

/** A change, or all its issues, with paths relative to the change. */
export function readChange(value: unknown): Reading<Change> {
  return readValue(ChangeBody, value);
}

type Checked = { change: Change } | { issues: string[]; at: string[] };

/** The type of a column, in its normal form, as in a definition with such a column. */
function checkType(asked: v.InferOutput<typeof AnyChange>): Checked {
  if (asked.kind !== "retype_column") return { change: asked };
  const { table, column, type } = asked;
  if (isReference(type)) return { issues: [NO_REFERENCE], at: ["type", "kind"] };
  const flags = { required: false, unique: false, index: false };
  const columns = [{ name: column, ...flags, ...type }];
  const tables = [{ name: table, columns, indexes: [], uniques: [] }];
  const read = readDefinition({ version: 1, tables });
  if ("issues" in read) return { issues: read.issues.map(({ message }) => message), at: ["type"] };
  const [found] = read.definition.tables.flatMap((table) => table.columns);
  if (found === undefined) throw new Error("The column was not read");
  return { change: { kind: "retype_column", table, column, type: toColumnType(found) } };
}

const NO_REFERENCE =
  "Cannot make this column a reference: add a column with the reference, copy the values, and drop the old column";

export function toPath(
  input: unknown,
  names: readonly string[],
): [v.IssuePathItem, ...v.IssuePathItem[]] | undefined {
  const [first, ...rest] = names.map(
    (key): v.IssuePathItem => ({ type: "unknown", origin: "value", input, key, value: undefined }),
  );
  return first && [first, ...rest];
}
