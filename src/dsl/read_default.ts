/** Reads defaults of columns: values of the column's kind, in one notation. @module */
import { DEFAULT_LIMITS, type Details, type Json, type Kind, VALUES } from "../kinds/mod.ts";
import { describe } from "../std/describe.ts";
import { utf8Length } from "../std/utf8_length.ts";

/** The properties of a column that affect its default. */
type Column = { readonly kind: Kind } & Details;

/** The recorded default, or an error message. */
export function readDefault(value: unknown, column: Column): { value: Json } | { issue: string } {
  const start = `Cannot use ${describe(value)} as the default of this ${column.kind} column`;
  if (value === null) return { issue: `${start}: leave out .default()` };
  const read = readOwn(value, column);
  if (read === undefined) return { issue: `${start}: ${VALUES[column.kind].default.wanted}` };
  const text = JSON.stringify(read);
  if (utf8Length(text) > DEFAULT_LIMITS.defaultBytes) {
    return { issue: `${start}: must be at most ${DEFAULT_LIMITS.defaultBytes} bytes of JSON` };
  }
  // A copy cannot change later, and turns -0 into 0, as JSON does.
  return { value: JSON.parse(text) };
}

function readOwn(value: unknown, column: Column): Json | undefined {
  const { default: rule, read } = VALUES[column.kind];
  if (rule.read !== undefined) return rule.read(value);
  if (typeof value === "string" && Object.hasOwn(rule.computed ?? {}, value)) return value;
  const result = read(value, column);
  return "value" in result ? result.value : undefined;
}

/** Bytes of the columns' defaults as JSON. */
export function sumDefaults(columns: readonly { readonly default?: Json }[]): number {
  return columns.reduce(
    (sum, column) =>
      sum + (column.default === undefined ? 0 : utf8Length(JSON.stringify(column.default))),
    0,
  );
}
