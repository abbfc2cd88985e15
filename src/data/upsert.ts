/**
 * Creates rows, or updates those with the same values in a unique constraint. A write that finds rows by their values also reads,
 * so it needs both scopes.
 *
 * @module
 */

import { SIGNALS, SignalError } from "../db/mod.ts";
import {
  checkObject,
  type KeyRequestContext,
  ofParameter,
  readParameters,
  scopeMissing,
  unsupportedParameter,
} from "../http/mod.ts";
import { VALUES } from "../kinds/mod.ts";
import { allows } from "../principal.ts";
import { type Detail, Problem } from "../problem.ts";
import type { Json, NamedColumn, TableDefinition } from "../schema/mod.ts";
import { canonicalJson } from "../std/json.ts";
import { quote } from "../std/quote.ts";
import {
  type Constraint,
  formerNames,
  keysOf,
  type RecordedTable,
  type ServedDefinition,
} from "../tables/catalog/mod.ts";
import { findCurrent } from "./call.ts";
import { allowsQueries, type DataDeps, ON_CONFLICT } from "./deps.ts";
import { proveKey } from "./prove_key.ts";
import { invalid } from "./query/filter.ts";
import { givenTwice } from "./query/list_query.ts";
import { checkAccept, rejectIfMatch, requireTable } from "./read_request.ts";
import {
  atRow,
  type Body,
  checkBatch,
  MAX_ISSUES,
  type ReadBatch,
  readBatch,
  readRow,
} from "./read_row.ts";
import { respondWithBatch, respondWithUpserted } from "./responses.ts";
import { readSent, write } from "./write.ts";

/** What happens to rows that exist. */
export const EXISTING_VALUES = ["update", "ignore", "only"] as const;

type UpsertQuery = {
  /** The columns of a unique constraint, in any order. */
  readonly columns: readonly string[];
  readonly existing: (typeof EXISTING_VALUES)[number];
};

/** @throws {Problem} unsupported_query — another parameter; invalid_query */
function readUpsertQuery(query: string): UpsertQuery {
  const found = new Map<string, string>();
  for (const [name, value] of readParameters(query)) {
    if (name !== ON_CONFLICT && name !== "existing")
      throw unsupportedParameter(name, "creates have only onConflict and existing");
    if (found.has(name)) throw givenTwice(name);
    found.set(name, value);
  }
  const named = found.get(ON_CONFLICT);
  if (named === undefined) throw invalid("Cannot use existing without onConflict");
  const sent = found.get("existing") ?? "update";
  const existing = EXISTING_VALUES.find((value) => value === sent);
  if (existing === undefined)
    throw ofParameter(
      "existing",
      invalid(`Cannot read existing ${quote(sent)}: must be ${EXISTING_VALUES.join(" or ")}`),
    );
  return { columns: named.split(","), existing };
}

/** Whether a write of a table has parameters that this caller can use. */
export function hasWriteQuery(
  deps: Pick<DataDeps, "previews">,
  { principal, query }: KeyRequestContext,
): boolean {
  return allowsQueries(deps, principal) && !readParameters(query).next().done;
}

/** @throws {Problem} invalid_query; forbidden; invalid_precondition; and as a create */
export async function upsertRows(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const named = await requireTable(deps, context);
  checkAccept(context.request);
  const query = readUpsertQuery(context.query);
  if (!allows(context.principal.scopes, "data:read")) throw scopeMissing("data:read");
  rejectIfMatch(context.request, "onConflict: it names the state of one row");
  const table = await findUnique(deps, context, named, query);
  const sent = await readSent(deps, table, context);
  const { value } = sent;
  const isList = Array.isArray(value);
  const rows = isList ? checkBatch(value) : [checkObject(value)];
  const ids = rows.map(() => deps.makeId()).sort();
  try {
    return await write(deps, context, sent, {
      rows: rows.length,
      query: context.query,
      isOneRow: !isList,
      read: (definition) => readUpsert(definition, rows, { query, isList }),
      reject: ({ unique }) =>
        unique === undefined ? notUnique(table.definition, query) : undefined,
      action: query.existing === "only" ? "only" : "upsert",
      toCall: ({ text: bodies, sequence, unique }, common, current) => {
        const key = { unique: toNumbers(unique, current), indexes: toIndexes(query, current) };
        const values = { bodies, ...key, ...common };
        if (query.existing === "only") return { endpoint: "update_keyed", values };
        const isIgnored = query.existing === "ignore";
        return { endpoint: "upsert", values: { ...values, ids, sequence, isIgnored } };
      },
      respond: isList ? (written) => respondWithBatch(written, 200) : respondWithUpserted,
    });
  } catch (error) {
    if (!(error instanceof SignalError) || error.signal !== SIGNALS.indexMissing) throw error;
    throw new Problem("unavailable", {
      message: `The unique constraint on ${query.columns.join(", ")} is still being built: try again later`,
      retryAfterS: RETRY_S,
      cause: error,
    });
  }
}

const RETRY_S = 5;

/** The table with the unique constraint: another process may have just pushed it. Its names are only for a proven key. */
async function findUnique(
  deps: DataDeps,
  context: KeyRequestContext,
  table: RecordedTable,
  query: UpsertQuery,
): Promise<RecordedTable> {
  if (findConstraint(table.definition, query) !== undefined) return table;
  await proveKey(deps, context.principal, "data:write");
  const current = findCurrent(deps, context.principal, table.name);
  if (findConstraint(current.definition, query) !== undefined) return current;
  throw notUnique(current.definition, query);
}

function findConstraint(table: TableDefinition, { columns }: UpsertQuery): Constraint | undefined {
  const wanted = toSet(columns);
  return keysOf(table).find((key) => toSet(key.columns) === wanted);
}

function toSet(columns: readonly string[]): string {
  return columns.toSorted().join(",");
}

function notUnique(table: TableDefinition, { columns }: UpsertQuery): Problem {
  const sets = keysOf(table).map((key) => key.columns.join(","));
  const wanted =
    sets.length === 0
      ? `${table.name} has no unique column`
      : `must be the columns of a unique constraint: ${sets.join(" or ")}`;
  return invalid(`Cannot use onConflict ${quote(columns.join(","))}: ${wanted}`);
}

function toNumbers(unique: Constraint | undefined, { definition }: RecordedTable): number[] {
  const names = definition.columns.map(({ name }) => name);
  return (unique?.columns ?? []).map((name) => names.indexOf(name) + 1);
}

/** The names of the index in each form, as releases before 0.2.0 name them and then its own; another app can have declared the columns in another order. */
function toIndexes(query: UpsertQuery, { whole, definition }: RecordedTable): string[] {
  const key = findConstraint(whole, query) ?? findConstraint(definition, query);
  if (key === undefined) return [];
  return [key.name, formerNames(whole, key)[0] ?? "", key.search ?? ""];
}

type ReadUpsert = Omit<ReadBatch, "leastBytes"> & {
  readonly unique: Constraint | undefined;
  /** The positions of the rows in the order of their keys, in which every request locks them. */
  readonly sequence: readonly number[];
};

type Options = { readonly query: UpsertQuery; readonly isList: boolean };

function readUpsert(
  table: ServedDefinition,
  bodies: readonly Body[],
  { query, isList }: Options,
): ReadUpsert {
  const [only] = bodies;
  const whole = query.existing !== "only";
  const read =
    isList || only === undefined
      ? readBatch(table, bodies, { whole })
      : readOne(table, only, { whole });
  const unique = findConstraint(table, query);
  const keys = read.values.map((values) => toKey(table, unique, values));
  const positions = keys.map((_, position) => position);
  const unnamed = whole ? [] : listUnnamed(table, unique, { bodies, isList });
  const issues = [...read.issues, ...unnamed, ...listRepeated(keys, unique)];
  const sequence = positions.toSorted((a, b) => compare(keys[a] ?? LAST, keys[b] ?? LAST));
  return {
    ...read,
    issues: issues.slice(0, MAX_ISSUES),
    unique,
    sequence: sequence.map((position) => position + 1),
  };
}

function readOne(
  table: TableDefinition,
  body: Body,
  { whole }: { readonly whole: boolean },
): Omit<ReadBatch, "leastBytes"> {
  const { text, values, ...read } = readRow(table, body, { whole });
  return { ...read, text: `[${text}]`, values: [values] };
}

/** An error for each column of the constraint that a row without defaults lacks. */
function listUnnamed(
  { served }: ServedDefinition,
  unique: Constraint | undefined,
  { bodies, isList }: { readonly bodies: readonly Body[]; readonly isList: boolean },
): Detail[] {
  const names = (unique?.columns ?? []).filter((name) => !served?.view.owner.includes(name));
  return bodies.flatMap((body, position) =>
    names
      .filter((name) => !Object.hasOwn(body, name))
      .map((name) => ({ path: `/${name}`, message: "Is required, to find the row" }))
      .map((issue) => (isList ? atRow(position, issue) : issue)),
  );
}

/** After every key. */
const LAST = "\u{ffff}";

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The values of the constraint's columns in a new row, equal for equal values; `undefined` with a null, which never conflicts. */
function toKey(
  { columns, served }: ServedDefinition,
  unique: Constraint | undefined,
  values: Readonly<Record<string, Json>>,
): string | undefined {
  const parts = columns
    .filter(({ name }) => unique?.columns.includes(name))
    // The service fills it with the same person in each row.
    .map((column) => (served?.view.owner.includes(column.name) ? true : toPart(column, values)));
  return parts.includes(null) ? undefined : canonicalJson(parts);
}

function toPart(
  { name, kind, default: initial }: NamedColumn,
  values: Readonly<Record<string, Json>>,
) {
  const value = (Object.hasOwn(values, name) ? values[name] : initial) ?? null;
  return value === null ? null : (VALUES[kind].toKey?.(value) ?? value);
}

/** An error for each row whose key another row has. */
function listRepeated(
  keys: readonly (string | undefined)[],
  unique: Constraint | undefined,
): Detail[] {
  const rows = Map.groupBy(keys.keys(), (position) => keys[position]);
  const [column = ""] = unique?.columns ?? [];
  return [...rows].flatMap(([key, positions]) => {
    if (key === undefined || positions.length < 2) return [];
    return positions.map((position, place) => {
      const other = positions[place === 0 ? 1 : 0] ?? 0;
      const message = `Must be different in each row: row ${other} of the list has the same ${unique?.columns.join(", ")}`;
      return atRow(position, { path: `/${column}`, message });
    });
  });
}
