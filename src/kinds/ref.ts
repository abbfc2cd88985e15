/** Columns with ids of rows in another table. @module */
import { describe, quote } from "../std/quote.ts";
import type { Details, DetailsReport, FieldKind, SqlKind, Types, ValueKind } from "./kind.ts";
import { uuidField, uuidSql, uuidValue } from "./uuid.ts";

/** The id of a row. Any string is accepted, except the id of a row of another table. */
export type Id<Table extends string> = string & { readonly "~table"?: Table };

/** A reference cannot have a default: its row would have to exist in every app. */
export type RefTypes<Table> = {
  ref: Types<
    Table extends string ? Id<Table> : string,
    never,
    Membership | { readonly readable: true },
    { readonly isReference: true }
  >;
};

/** The person has a row in that table with the same reference. The table has one uuid column, the person. */
type Membership = {
  readonly memberOf: string;
  readonly where?: { readonly [column: string]: Constant | readonly Constant[] | null };
};
type Constant = string | number | boolean;

export const refValue: ValueKind = /* @__PURE__ */ Object.assign({}, uuidValue, {
  details: {
    keys: ["table", "onDelete"],
    read: (fields: ReadonlyMap<string, unknown>, report: DetailsReport) => ({
      ...readTarget(fields, report),
      ...readOnDelete(fields, report),
    }),
  },
  compared: "reference" as const,
  default: {
    wanted: "a reference cannot have a default, because the row would have to exist in every app",
    read: () => undefined,
  },
  schema: ({ table = "another table" }: Details) => ({
    ...uuidValue.schema({}),
    description: `The id of a row of \`${table}\`.`,
  }),
});

function readTarget(
  fields: ReadonlyMap<string, unknown>,
  { add, isReservedTable }: DetailsReport,
): Details {
  const table = fields.get("table");
  if (typeof table === "string" && !isReservedTable(table)) return { table };
  add(
    typeof table === "string"
      ? `Cannot refer to ${quote(table)}: the name is reserved organization-wide`
      : `Cannot refer to ${describe(table)}: must be the name of a table`,
  );
  return {};
}

function readOnDelete(fields: ReadonlyMap<string, unknown>, { add }: DetailsReport): Details {
  if (!fields.has("onDelete")) return {};
  const onDelete = fields.get("onDelete");
  if (onDelete === "set null" && fields.get("required") === true)
    add('Cannot use onDelete "set null" on a required reference: leave out .required()');
  if (onDelete === "cascade" || onDelete === "set null") return { onDelete };
  add(`Cannot read onDelete ${describe(onDelete)}: must be "cascade", "set null" or left out`);
  return {};
}

export const refSql: SqlKind = /* @__PURE__ */ Object.assign({}, uuidSql, {
  placeholders: (table: string) => ({ table }),
  reversible: [],
});

export const refField: FieldKind = /* @__PURE__ */ Object.assign({}, uuidField, {
  label: "references",
  sign: "→",
  expected: ({ table }: Details) => `the id of a row of ${table}`,
  hint: undefined,
  control: "reference" as const,
  isHelped: true,
  cell: "reference" as const,
});
