/** Columns of lists: their checks, and their texts in JSON, CSV, a command and the Console. @module */
import * as v from "valibot";
import { isObject } from "../../std/json.ts";

type Texts = {
  /** The heading in the Console. A column without it is no column there. */
  title?: string;
  /** The text before the value in a command's lines, such as "since"; `false` if the lines omit the value. */
  label?: string | false;
  /** The name in CSV; by default the name in JSON with underscores. `false` if CSV omits the column. */
  csv?: string | false;
  /** Only pages of the Console use the value. */
  isHidden?: true;
  /** The only value, in the document of a command. */
  fixed?: boolean;
};
export type Column<Value = unknown> = Texts & {
  schema: v.GenericSchema<unknown, Value>;
  /** The type of the value in JSON, in the notation of TypeScript. */
  shape: string;
  kind: "text" | "count" | "flag" | "time" | "json" | "parts";
};
export type Checked<Of extends Column> = Of extends Column<infer Value> ? Value : never;
export type Columns = Readonly<Record<string, Column>>;
export type Row<Of extends Columns> = {
  -readonly [Name in keyof Of]: Checked<Of[Name]>;
};

export function text(texts: Texts = {}): Column<string> {
  return { schema: v.string(), shape: "string", kind: "text", ...texts };
}

export function count(texts: Texts = {}): Column<number> {
  return { schema: v.number(), shape: "number", kind: "count", ...texts };
}

/** Yes or no. A command omits it. */
export function flag(texts: Texts = {}): Column<boolean> {
  return { schema: v.boolean(), shape: "boolean", kind: "flag", label: false, ...texts };
}

/** Always this value. */
export function fixed(value: boolean): Column<boolean> {
  return { ...flag(), fixed: value };
}

/** A time in UTC, such as `2030-01-31T12:00:00Z`. */
export function time(texts: Texts = {}): Column<string> {
  const schema = v.pipe(
    v.string(),
    v.check((at) => !Number.isNaN(Date.parse(at)), "must be a time"),
    v.transform((at) => new Date(at).toISOString().replace(".000Z", "Z")),
  );
  return { schema, shape: "string", kind: "time", ...texts };
}

export function oneOf<const Value extends string>(
  values: readonly Value[],
  texts: Texts = {},
): Column<Value> {
  const shape = values.map((value) => JSON.stringify(value)).join(" | ");
  return { schema: v.picklist(values), shape, kind: "text", ...texts };
}

/** JSON as text, which can be cut off. */
export function json(): Column<string> {
  return { schema: v.string(), shape: "object", kind: "json" };
}

/** Another value, which commands do not print on a line. */
export function shaped<Value>(schema: Column<Value>["schema"]): Column<Value> {
  return { schema, shape: "object", kind: "parts" };
}

/** Always null. */
export function nothing(): Column<null> {
  return { schema: v.null(), shape: "null", kind: "text" };
}

export function orNull<Value>({ schema, shape, ...rest }: Column<Value>): Column<Value | null> {
  return { ...rest, schema: v.nullable(schema), shape: `${shape} | null` };
}

export function many<Value>({ schema, shape }: Column<Value>, texts: Texts = {}): Column<Value[]> {
  const items = shape.startsWith("{")
    ? `[${shape}]`
    : shape.includes(" ")
      ? `(${shape})[]`
      : `${shape}[]`;
  return { schema: v.array(schema), shape: items, kind: "parts", ...texts };
}

/** A value that only pages of the Console use. */
export function hidden<Value>(column: Column<Value>): Column<Value> {
  return { ...column, csv: false, isHidden: true };
}

export function toPrinted<Of extends Columns>(columns: Of): Of {
  const printed = Object.entries(columns).filter(([, { isHidden }]) => isHidden !== true);
  // Callers only iterate over the columns.
  return Object.fromEntries(printed) as Of;
}

/** An object with these values, in this order. */
export function record<Of extends Columns>(columns: Of, texts: Texts = {}): Column<Row<Of>> {
  const entries = Object.entries(columns);
  const schema = v.object(
    Object.fromEntries(entries.map(([name, column]) => [name, column.schema])),
  );
  const shape = `{ ${entries.map(([name, column]) => `${name}: ${column.shape}`).join(", ")} }`;
  // The compiler does not connect the names of the entries with their types.
  return { schema: schema as unknown as Column<Row<Of>>["schema"], shape, kind: "parts", ...texts };
}

/** @throws {Error} the database returned something else */
export function check<Value>({ schema }: Column<Value>, found: unknown, name: string): Value {
  const { success, output, issues } = v.safeParse(schema, found);
  if (success) return output;
  // Without the values, because they would be logged.
  const texts = issues.map(
    (issue) => `${v.getDotPath(issue) ?? "the result"} is not ${issue.expected ?? "valid"}`,
  );
  throw new Error(`rowhouse.${name} returned something unexpected: ${texts.join("; ")}`);
}

/** A value as text, as in CSV; `null` for none. */
export function toValueText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value) && value.every((item) => typeof item === "string"))
    return value.join(" ");
  return isObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
}
