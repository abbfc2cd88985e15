/** Reads a sent row: reads known columns, drops unknown columns but lists them, and reports all errors. Pure. @module */

import { type KeyRequestContext, listTags, prefers, readMatch } from "../http/mod.ts";
import { SQL } from "../kinds/mod.ts";
import { type Detail, Problem } from "../problem.ts";
import { readValue } from "../rows/mod.ts";
import type { Json, NamedColumn, TableDefinition } from "../schema/mod.ts";
import { isObject } from "../std/json.ts";
import { escapePointer } from "../std/json_pointer.ts";
import { splitList, splitObject } from "../std/json_text.ts";
import { MAX_BATCH } from "../std/limits.ts";
import { isUuid } from "../std/patterns.ts";
import { ROW_MATCH, type ServedDefinition } from "../tables/catalog/mod.ts";
import type { DataDeps } from "./deps.ts";

export type UnknownField = { path: string; name: string };

type ReadRow = {
  /** The known columns as JSON text for the table's function. */
  text: string;
  /** The fields of the body that the table does not have. */
  unknown: UnknownField[];
  issues: Detail[];
  values: Readonly<Record<string, Json>>;
};

/** Columns of every table that a body cannot set. */
const OWN_COLUMNS = new Set(["id", "app_id"]);

/** Reads the body of a create (`whole`) or an update. Absent columns of an update do not change. */
export function readRow(
  table: ServedDefinition,
  body: Readonly<Record<string, unknown>>,
  options: { whole: boolean; stored?: StoredTexts | undefined },
): ReadRow {
  const columns = columnsOf(table);
  const texts: [string, string][] = [];
  const values: Record<string, Json> = {};
  const issues: Detail[] = [];
  const unknown: UnknownField[] = [];
  for (const [name, value] of Object.entries(body)) {
    const column = columns.get(name);
    if (column === undefined) {
      // The function rejects the column by its name. Its value could reveal what the column accepts.
      if (table.hidden?.includes(name) === true) values[name] = null;
      else if (!OWN_COLUMNS.has(name)) unknown.push({ path: `/${escapePointer(name)}`, name });
      continue;
    }
    const stored = SQL[column.kind].isJson === true ? options.stored?.get(name) : undefined;
    if (stored !== undefined && value !== null) {
      texts.push([name, stored]);
      continue;
    }
    const read = readValue(value, column);
    if ("issue" in read) issues.push({ path: `/${name}`, message: read.issue });
    else values[name] = read.value;
  }
  if (options.whole) issues.push(...findMissing(table, body));
  return { text: withTexts(JSON.stringify(values), texts), unknown, issues, values };
}

/** JSON that the database stored, by column: written as it is, because a JavaScript number could not have its digits. */
export type StoredTexts = ReadonlyMap<string, string>;

/** The text of a row with more values. */
function withTexts(row: string, texts: readonly (readonly [name: string, text: string])[]): string {
  if (texts.length === 0) return row;
  const added = texts.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",");
  return row === "{}" ? `{${added}}` : `{${added},${row.slice(1)}`;
}

function findMissing(table: TableDefinition, body: Readonly<Record<string, unknown>>): Detail[] {
  return table.columns
    .filter(
      (column) =>
        column.required && column.default === undefined && !Object.hasOwn(body, column.name),
    )
    .map((column) => ({ path: `/${column.name}`, message: "Is required and has no default" }));
}

const columnMaps = new WeakMap<TableDefinition, ReadonlyMap<string, NamedColumn>>();

function columnsOf(table: TableDefinition): ReadonlyMap<string, NamedColumn> {
  const found = columnMaps.get(table);
  if (found !== undefined) return found;
  const created = new Map(table.columns.map((column) => [column.name, column]));
  columnMaps.set(table, created);
  return created;
}

// Reads the rows of a batch. The service creates all of them or none. Pure.

/** Max listed errors: the response must not be much larger than the request. */
export const MAX_ISSUES = 1000;

export type ReadBatch = {
  /** The known columns of each row, as a JSON array for the table's function. */
  text: string;
  /** The first fields that the table does not have. */
  unknown: UnknownField[];
  /** A lower bound of the response's size: the bytes of the omitted columns. */
  leastBytes: number;
  /** The first errors, in order of the rows. */
  issues: Detail[];
  /** The known columns of each row. */
  values: readonly Readonly<Record<string, Json>>[];
};

export type Body = Readonly<Record<string, unknown>>;

/** @throws {Problem} invalid_json — too many rows, no rows, or values that are not rows */
export function checkBatch(body: unknown): readonly Body[] {
  if (Array.isArray(body) && body.length > 0 && body.length <= MAX_BATCH && body.every(isObject))
    return body;
  throw new Problem("invalid_json", {
    message: `Cannot read the list: must have 1 to ${MAX_BATCH} JSON objects; split a longer list into several requests`,
  });
}

/** Reads each row like a create, or without `whole` like an update. Errors contain the index of the row. */
export function readBatch(
  table: TableDefinition,
  bodies: readonly Body[],
  { whole = true, stored }: { whole?: boolean; stored?: readonly StoredTexts[] | undefined } = {},
): ReadBatch {
  const rows = bodies.map((body, index) =>
    readRow(table, body, { whole, stored: stored?.[index] }),
  );
  return { ...joinRows(rows), leastBytes: countLeast(table, bodies) };
}

function joinRows(rows: readonly ReadRow[]): Omit<ReadBatch, "leastBytes"> {
  const issues = rows.flatMap((row, index) => row.issues.map((issue) => atRow(index, issue)));
  const unknown = rows.flatMap((row, index) =>
    row.unknown.map(({ path, name }) => ({ path: `/${index}${path}`, name })),
  );
  return {
    text: `[${rows.map(({ text }) => text).join(",")}]`,
    unknown: unknown.slice(0, MAX_ISSUES),
    issues: issues.slice(0, MAX_ISSUES),
    values: rows.map(({ values }) => values),
  };
}

// Reads the rows of an update of several rows.

type ReadUpdates = Omit<ReadBatch, "leastBytes"> & {
  /** The id of each row. */
  ids: string[];
};

/** Reads each row like an update. Errors contain the index of the row. */
export function readUpdates(
  table: TableDefinition,
  bodies: readonly Body[],
  stored?: readonly StoredTexts[],
): ReadUpdates {
  const heads = bodies.map(readHead);
  const places = Map.groupBy(heads.keys(), (index) => heads[index]?.id);
  const rows = bodies.map(({ [ROW_MATCH]: _, ...values }, index) => {
    const row = readRow(table, values, { whole: false, stored: stored?.[index] });
    const { id, match, issues } = heads[index] ?? { issues: [] };
    const other = (places.get(id) ?? []).find((place) => place !== index);
    if (id !== undefined && other !== undefined)
      issues.push({ path: "/id", message: `Must be the id of one row: /${other}/id is the same` });
    // The tags that the row in the database must have.
    const tags = match === undefined ? [] : [[ROW_MATCH, JSON.stringify(match)] as const];
    const text = withTexts(row.text, tags);
    return { ...row, text, issues: [...issues, ...row.issues] };
  });
  return { ...joinRows(rows), ids: heads.map(({ id = "" }) => id) };
}

type Head = { id?: string; match?: string | undefined; issues: Detail[] };

function readHead({ id, [ROW_MATCH]: match }: Body): Head {
  const head: Head = { issues: [] };
  if (typeof id === "string" && isUuid(id)) head.id = id.toLowerCase();
  else head.issues.push({ path: "/id", message: "Must be the uuid of a row" });
  if (match === undefined) return head;
  try {
    if (typeof match === "string") return { ...head, match: listTags(readMatch(match)) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
  const message = 'Must be "*" or quoted ETags, as in If-Match';
  return { ...head, issues: [...head.issues, { path: `/${ROW_MATCH}`, message }] };
}

/** A small body can create a thousand rows of long defaults: check their size before the write. */
function countLeast(table: TableDefinition, bodies: readonly Body[]): number {
  const sizes = new Map(table.columns.map((column) => [column.name, sizeOfDefault(column)]));
  const sum = (names: Iterable<string>) =>
    [...names].reduce((bytes, name) => bytes + (sizes.get(name) ?? 0), 0);
  const whole = sum(sizes.keys());
  return bodies.reduce((bytes, body) => bytes + whole - sum(Object.keys(body)), 0);
}

/** The database prints numbers and times in its own notation: they count as one byte. */
function sizeOfDefault({ name, kind, default: value }: NamedColumn): number {
  const text = SQL[kind].isPrintedAsGiven && value !== undefined ? JSON.stringify(value) : "0";
  return name.length + text.length;
}

/** An error of a row as an error of the batch. */
export function atRow(index: number, { path, message }: Detail): Detail {
  return { path: `/${index}${path}`, message };
}

/** The preference of the Console's restores, whose rows keep the ids and the JSON in their bodies. It has no meaning without its key. */
const SENT_IDS = ["ids", "sent"] as const;
export const SENT_IDS_PREFERENCE = SENT_IDS.join("=");

function isRestore({ previews }: Pick<DataDeps, "previews">, context: KeyRequestContext): boolean {
  const { principal, request } = context;
  return principal.isOfConsole && previews.includes("history") && prefers(request, ...SENT_IDS);
}

/** The texts of each row in the list of a restore. */
export function readStored(
  deps: Pick<DataDeps, "previews">,
  context: KeyRequestContext,
  text: string,
): readonly StoredTexts[] | undefined {
  return isRestore(deps, context) ? splitList(text).map(splitObject) : undefined;
}

/** In ascending order: responses and lists have the order of the ids. Restored rows are in the order of the request. */
export function makeNewIds(
  deps: Pick<DataDeps, "makeId" | "previews">,
  context: KeyRequestContext,
  rows: readonly Body[],
): string[] {
  // Sorted in case the clock went back.
  if (!isRestore(deps, context)) return rows.map(() => deps.makeId()).sort();
  return rows.map(({ id }) => {
    if (typeof id === "string" && isUuid(id)) return id.toLowerCase();
    throw new Problem("invalid_json", {
      message: "Cannot restore a row: its id must be the uuid that it had",
    });
  });
}
