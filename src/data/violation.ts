/**
 * A rule of the table that a row broke, as a problem: the columns to blame and no word of PostgreSQL's. Pure.
 *
 * @module
 */
import { constraintColumns, indexesOf, keysOf } from "../catalog/mod.ts";
import type { Violation } from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import { type Detail, Problem } from "../problem.ts";
import { utf8Length } from "../std/utf8_length.ts";

export type BrokenRow = {
  definition: TableDefinition;
  /** The JSON text of the columns that were sent. */
  sent: string;
  isDelete: boolean;
};

const MESSAGES: Readonly<Record<Violation["kind"], (columns: string) => string>> = {
  unique: (columns) => `Must be unique: another row has this ${columns}`,
  reference: () => "No row has this id",
  required: () => "Must not be null: the column is required",
  too_large: () => "Is too long for its index",
  value: () => "Does not fit the column",
};

/** Whether the constraint that was broken, where one is named, is one of this definition. */
export function isKnown(definition: TableDefinition, { constraint }: Violation): boolean {
  return constraint === undefined || constraintColumns(definition, constraint) !== undefined;
}

/** The problem of a broken rule. */
export function toProblem(violation: Violation, row: BrokenRow): Problem {
  if (violation.kind === "reference" && row.isDelete) return new Problem("still_referenced");
  const columns = blame(violation, row);
  const together = columns.join(", ");
  const details = columns.map((name) => ({
    path: `/${name}`,
    message: MESSAGES[violation.kind](together),
  }));
  if (violation.kind !== "unique") return toInvalid(details);
  return new Problem("unique_violation", details.length === 0 ? {} : { details });
}

/** The refusal of values, with every fault that is known. */
export function toInvalid(details: Detail[]): Problem {
  return new Problem("validation_failed", {
    message: "Some values do not fit their columns; nothing was written",
    ...(details.length === 0 ? {} : { details }),
  });
}

function blame({ kind, constraint, column }: Violation, row: BrokenRow): readonly string[] {
  if (column !== undefined) return [column];
  if (constraint !== undefined) return constraintColumns(row.definition, constraint) ?? [];
  return kind === "too_large" ? findLongest(row) : [];
}

/** PostgreSQL names no index where a value passes a whole page: it is the one that was sent the most. */
function findLongest({ definition, sent }: BrokenRow): readonly string[] {
  const values = JSON.parse(sent) as Record<string, unknown>;
  const sizeOf = (columns: readonly string[]) =>
    columns.reduce((size, name) => size + utf8Length(String(values[name] ?? "")), 0);
  const [longest] = [...keysOf(definition), ...indexesOf(definition)].sort(
    (a, b) => sizeOf(b.columns) - sizeOf(a.columns),
  );
  return longest?.columns ?? [];
}
