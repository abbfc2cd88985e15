/** Reads the path, headers and body of a request, and checks them in the order of the contract. @module */

import {
  acceptsEventStream,
  acceptsJson,
  checkJsonBody,
  type KeyRequestContext,
  parseJson,
  readText,
  rejectQuery,
} from "../http/mod.ts";
import { type Detail, Problem } from "../problem.ts";
import type { TableDefinition } from "../schema/mod.ts";
import { findReviver } from "../std/json_text.ts";
import { MAX_BODY_BYTES } from "../std/limits.ts";
import { suggestName } from "../std/names.ts";
import { isUuid, TABLE_PATTERN } from "../std/patterns.ts";
import { quote } from "../std/quote.ts";
import { MAX_CATALOG_AGE_MS, type RecordedTable } from "../tables/catalog/mod.ts";
import { findCurrent } from "./call.ts";
import type { DataDeps } from "./deps.ts";
import { proveKey } from "./prove_key.ts";
import { ONLY_LISTS } from "./query/list_query.ts";
import type { UnknownField } from "./read_row.ts";
import { toInvalid } from "./violation.ts";

// Reads the body of a write as JSON, and preserves every number exactly.

/** @throws {Problem} invalid_json */
function readJson(text: string): unknown {
  return parseJson(text, findReviver(text));
}

/** The table in the path. @throws {Problem} unknown_table; not_implemented */
export async function requireTable(
  deps: DataDeps,
  context: KeyRequestContext,
): Promise<RecordedTable> {
  await checkAge(deps);
  return findTable(deps, context) ?? (await findNewTable(deps, context));
}

/** Where there are event streams: a reader of a `reset` lists at any process, which must serve the new columns. */
export async function checkAge({ catalog, changeFeed }: DataDeps): Promise<void> {
  if (changeFeed !== undefined && catalog.age() > MAX_CATALOG_AGE_MS) await catalog.refresh();
}

/** The table in the path, if this app has pushed it and this process has read the push. */
function findTable(
  { catalog }: DataDeps,
  { request, principal, params }: KeyRequestContext,
): RecordedTable | undefined {
  const accept = request.headers.get("accept");
  if (acceptsEventStream(accept) && !acceptsJson(accept)) {
    throw new Problem("not_implemented", {
      message: "Event streams are not supported yet: read the list instead",
    });
  }
  return catalog.findFor(principal, params["table"] ?? "");
}

/** Another process may have just pushed the table: refreshes the catalog. @throws {Problem} unknown_table; forbidden */
export async function findNewTable(
  deps: DataDeps,
  { principal, params }: KeyRequestContext,
): Promise<RecordedTable> {
  const name = params["table"] ?? "";
  // Only a proven key learns whether the app has the table. The proof also shows whether the catalog is current.
  if (TABLE_NAME.test(name)) await proveKey(deps, principal);
  return findCurrent(deps, principal, name);
}

const TABLE_NAME = new RegExp(TABLE_PATTERN);

/** For writes of rows that a tag of one row cannot name. @throws {Problem} invalid_precondition */
export function rejectIfMatch({ headers }: Request, use: string): void {
  if (headers.has("if-match"))
    throw new Problem("invalid_precondition", { message: `Cannot use If-Match with ${use}` });
}

/** The table of a request without a query. @throws {Problem} unknown_table; not_acceptable; unsupported_query; and others */
export async function readTableRequest(
  deps: DataDeps,
  context: KeyRequestContext,
): Promise<RecordedTable> {
  const table = await requireTable(deps, context);
  checkAccept(context.request);
  rejectQuery(context.query, ONLY_LISTS);
  return table;
}

/** The table and the id of a request for one row. @throws {Problem} invalid_id; and as {@linkcode readTableRequest} */
export async function readRowRequest(
  deps: DataDeps,
  context: KeyRequestContext,
): Promise<{ table: RecordedTable; id: string }> {
  const table = await readTableRequest(deps, context);
  const id = context.params["id"] ?? "";
  if (!isUuid(id))
    throw new Problem("invalid_id", { message: "The id in the path must be a uuid" });
  return { table, id: id.toLowerCase() };
}

export function checkAccept(request: Request): void {
  if (acceptsJson(request.headers.get("accept"))) return;
  throw new Problem("not_acceptable", { message: "Rows are served as application/json only" });
}

/** The Console can write back any row that it can read: also one that grew by several requests. */
export async function readBody(
  { maxBatchBytes, maxResponseBytes }: Pick<DataDeps, "maxBatchBytes" | "maxResponseBytes">,
  { request, principal }: KeyRequestContext,
): Promise<{ text: string; value: unknown }> {
  checkJsonBody(request);
  const ofKey = { one: MAX_BODY_BYTES, list: maxBatchBytes };
  const limit = principal.isOfConsole ? maxResponseBytes + maxBatchBytes : ofKey;
  const text = await readText(request, limit);
  return { text, value: readJson(text) };
}

/** A body read by a table's columns. */
export type Read = { unknown: UnknownField[]; issues: Detail[] };

type Reading<R extends Read> = {
  table: RecordedTable;
  /** Whether unknown fields are errors. */
  isStrict: boolean;
  read: (definition: TableDefinition) => R;
};

/**
 * The sent values. Rejects and drops nothing before the catalog is known to be current. Errors reveal names of columns and
 * enum values, so only a proven key gets them.
 *
 * @throws {Problem} unknown_table; validation_failed; unauthenticated; read_only
 */
export async function readValues<R extends Read>(
  deps: DataDeps,
  { principal }: KeyRequestContext,
  { table, isStrict, read: readBy }: Reading<R>,
): Promise<{ table: RecordedTable; read: R }> {
  const issuesOf = (read: R, current: RecordedTable) => [
    ...read.issues,
    ...(isStrict ? explainUnknown(read.unknown, current.definition) : []),
  ];
  const read = readBy(table.definition);
  const isRejected = issuesOf(read, table).length > 0;
  if (isRejected) await proveKey(deps, principal, "data:write");
  else if (read.unknown.length > 0) await deps.catalog.refresh();
  else return { table, read };
  const current = deps.catalog.findFor(principal, table.name) ?? table;
  const again = current.definition === table.definition ? read : readBy(current.definition);
  const issues = issuesOf(again, current);
  if (issues.length === 0) return { table: current, read: again };
  if (!isRejected) await proveKey(deps, principal, "data:write");
  findCurrent(deps, principal, table.name);
  throw toInvalid(issues, isStrict ? "" : nameIgnored(again.unknown, current));
}

/** Max listed unknown fields, how many of them are compared with every column, and how many a sentence names. */
const MAX_UNKNOWN = 100;
const MAX_COMPARED = 20;
const MAX_NAMED = 3;

export function explainUnknown(
  unknown: readonly UnknownField[],
  { columns }: Pick<TableDefinition, "columns">,
): Detail[] {
  return unknown.slice(0, MAX_UNKNOWN).map(({ path, name }, index) => {
    const near = index < MAX_COMPARED ? suggestName(name, columns) : "";
    return { path, message: `Is not a column${near}` };
  });
}

/** Names the unknown fields when other fields are rejected: a required column can be missing because of a typing error. */
function nameIgnored(unknown: readonly UnknownField[], table: RecordedTable): string {
  const names = [...new Set(unknown.map(({ name }) => name))];
  if (names.length === 0) return "";
  const shown = names
    .slice(0, MAX_NAMED)
    .map((name) => `${quote(name)} is not a column${suggestName(name, table.definition.columns)}`);
  const rest = names.length - shown.length;
  return `. Ignored: ${shown.join("; ")}${rest > 0 ? `; and ${rest} more` : ""}`;
}
