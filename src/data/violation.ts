/**
 * Converts a violated rule of a table to a Problem that names the columns, and never contains PostgreSQL's message. Pure.
 *
 * @module
 */

import type { Violation } from "../db/mod.ts";
import type { JsonSchema } from "../http/mod.ts";
import { VALUES } from "../kinds/mod.ts";
import { type Detail, Problem } from "../problem.ts";
import { REQUIRED } from "../rows/mod.ts";
import type { NamedColumn } from "../schema/mod.ts";
import { findConstraint, type RecordedTable } from "../tables/catalog/mod.ts";
import { atRow } from "./read_row.ts";

type Column = RecordedTable["definition"]["columns"][number];
type BrokenRow = { table: RecordedTable; isDelete: boolean };

type Describe = (columns: readonly Column[]) => string;

const MESSAGES: Readonly<Record<Violation["kind"], Describe>> = {
  unique: (columns) => `Must be unique: another row has this ${showTogether(columns)}`,
  reference: ([column]) => `No row of ${column?.table ?? "that table"} has this id`,
  required: () => REQUIRED,
  value: () => "Does not fit the column",
  rule: () => RULE,
};

/** Whether the violated constraint, if it is named, belongs to this table. */
export function isKnown({ whole }: RecordedTable, { constraint }: Violation): boolean {
  return constraint === undefined || findConstraint(whole, constraint) !== undefined;
}

export function toProblem(violation: Violation, row: BrokenRow): Problem {
  if (violation.kind === "reference" && row.isDelete) return new Problem("still_referenced");
  if (violation.kind === "rule") return toForbidden(violation);
  const columns = blame(violation, row);
  const message = MESSAGES[violation.kind](columns);
  const issues = columns.map(({ name }) => ({ path: `/${name}`, message }));
  const { row: index } = violation;
  const details = index === undefined ? issues : issues.map((issue) => atRow(index, issue));
  if (violation.kind !== "unique") return toInvalid(details);
  return new Problem("unique_violation", details.length === 0 ? {} : { details });
}

/** A rule names a column only if the caller sent it, so it can be one that the caller does not see. */
function toForbidden({ column, row }: Violation): Problem {
  const detail = { path: column === undefined ? "" : `/${column}`, message: RULE };
  const details = row === undefined ? [detail] : [atRow(row, detail)];
  return new Problem("forbidden", {
    message: "A rule of this app does not allow this; nothing was written",
    ...(details.some(({ path }) => path !== "") ? { details } : {}),
  });
}

/** The message of a field that a rule denies. */
export const RULE = "Your role does not allow this";

function showTogether(columns: readonly Column[]): string {
  const names = columns.map(({ name }) => name);
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `combination of ${names.slice(0, -1).join(", ")} and ${last}`;
}

/** The Problem for invalid values, with all known errors. `end`: the end of the message. */
export function toInvalid(details: Detail[], end = ""): Problem {
  return new Problem("validation_failed", {
    message: `Some values do not fit their columns; nothing was written${end}`,
    ...(details.length === 0 ? {} : { details }),
  });
}

/** The violating columns that the app is served: a constraint can include other columns. */
function blame({ constraint, column }: Violation, { table }: BrokenRow): Column[] {
  const named =
    constraint === undefined ? undefined : findConstraint(table.whole, constraint)?.columns;
  const columns = column === undefined ? (named ?? []) : [column];
  return columns.flatMap((name) => table.definition.columns.filter((own) => own.name === name));
}

// JSON Schemas of each column kind's values, as their readers accept them and the
// database prints them.

/** The schema of a column's values, with `null` unless the column is required. */
export function toValueSchema(column: NamedColumn): JsonSchema {
  const schema = describeUnique(column, VALUES[column.kind].schema(column));
  const { type, enum: values } = schema;
  if (column.required) return type === undefined ? { ...schema, not: { type: "null" } } : schema;
  return {
    ...schema,
    ...(type === undefined ? {} : { type: [type, "null"] }),
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
  };
}

/** States that a column is unique, which a schema of single values cannot express. */
function describeUnique({ unique }: NamedColumn, schema: JsonSchema): JsonSchema {
  if (unique !== true) return schema;
  const { description } = schema;
  return {
    ...schema,
    description: description === undefined ? UNIQUE : `${description} ${UNIQUE}`,
  };
}

const UNIQUE = "No two rows of the app have the same value.";
