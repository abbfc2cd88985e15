/** Reads an explicit change from a value of any type, as hostile input like a definition. @module */
import * as v from "valibot";
import { KINDS, readDefinition } from "../dsl/mod.ts";
import type { Detail } from "../problem.ts";
import { isStorableText } from "../std/is_storable_text.ts";
import { type Change, toColumnType } from "./change.ts";

/** Longer than any name. The tables determine which names exist. */
const MAX_CHARS = 63;
const Name = v.pipe(v.string(), v.maxLength(MAX_CHARS), v.check(isStorableText));

const ChangeSchema = v.variant("kind", [
  v.strictObject({ kind: v.literal("rename_column"), table: Name, column: Name, to: Name }),
  v.strictObject({ kind: v.literal("rename_table"), table: Name, to: Name }),
  v.strictObject({ kind: v.literal("drop_column"), table: Name, column: Name }),
  v.strictObject({ kind: v.literal("drop_table"), table: Name }),
  v.strictObject({ kind: v.literal("drop_value"), table: Name, column: Name, value: Name }),
  v.strictObject({
    kind: v.literal("retype_column"),
    table: Name,
    column: Name,
    type: v.strictObject({
      kind: v.picklist(KINDS),
      // Read as part of a definition, which limits their number first.
      values: v.optional(v.unknown()),
      default: v.optional(v.unknown()),
    }),
  }),
]);

/** A change, or all its errors, with paths relative to the change. */
export function readChange(value: unknown): { change: Change } | { details: Detail[] } {
  const read = v.safeParse(ChangeSchema, value);
  if (read.success) return checkType(read.output);
  const details = read.issues.map((issue) => ({
    path: (issue.path ?? []).map(({ key }) => `/${String(key).slice(0, 100)}`).join(""),
    message: describeIssue(issue),
  }));
  return { details };
}

function describeIssue({ type, expected, received }: v.BaseIssue<unknown>): string {
  if (expected === "never") return "Unknown field";
  if (received === "undefined") return "Missing";
  if (type === "max_length") return `Must have at most ${MAX_CHARS} characters`;
  if (type === "check") return "Must not contain U+0000 or lone surrogates";
  return `Must be ${EXPECTED[expected ?? ""] ?? listChoices(expected)}`;
}

/** Names of types for people. */
const EXPECTED: Readonly<Record<string, string>> = {
  string: "a string",
  Object: "an object",
  Array: "a list",
};

/** The choices of a text such as `("a" | "b")`. */
function listChoices(expected: string | null): string {
  return `one of ${expected?.replace(/^\((.*)\)$/, "$1").replaceAll(" | ", ", ")}`;
}

/** The type of a column, in its normal form, as in a definition with such a column. */
function checkType(
  asked: v.InferOutput<typeof ChangeSchema>,
): { change: Change } | { details: Detail[] } {
  if (asked.kind !== "retype_column") return { change: asked };
  const { table, column, type } = asked;
  if (type.kind === "ref") return { details: [{ path: "/type/kind", message: NO_REFERENCE }] };
  const flags = { required: false, unique: false, index: false };
  const columns = [{ name: column, ...flags, ...type }];
  const tables = [{ name: table, columns, indexes: [], uniques: [] }];
  const read = readDefinition({ version: 1, tables });
  if ("issues" in read)
    return { details: read.issues.map(({ message }) => ({ path: "/type", message })) };
  const [found] = read.definition.tables.flatMap((table) => table.columns);
  if (found === undefined) throw new Error("The column was not read");
  return { change: { kind: "retype_column", table, column, type: toColumnType(found) } };
}

const NO_REFERENCE =
  "Cannot make this column a reference: add a column with the reference, copy the values, and drop the old column";
