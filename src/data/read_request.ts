/** Reads the path, headers and body of a request, and checks them in the order of the contract. @module */
import { MAX_CATALOG_AGE_MS, type RecordedTable } from "../catalog/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import {
  acceptsEventStream,
  acceptsJson,
  checkJsonBody,
  type KeyRequestContext,
  readText,
  rejectQuery,
} from "../http/mod.ts";
import { type Detail, Problem } from "../problem.ts";
import { findNearest } from "../std/find_nearest.ts";
import { isUuid } from "../std/is_uuid.ts";
import { MAX_BODY_BYTES } from "../std/limits.ts";
import { quote } from "../std/quote.ts";
import { TABLE_PATTERN } from "../std/stored_text.ts";
import { checkProof } from "./call.ts";
import type { DataDeps } from "./deps.ts";
import { ONLY_LISTS } from "./query.ts";
import { readJson } from "./read_json.ts";
import type { UnknownField } from "./read_row.ts";
import { toInvalid } from "./violation.ts";

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
  return catalog.find(principal.appId, params["table"] ?? "");
}

/** Another process may have just pushed the table: refreshes the catalog. @throws {Problem} unknown_table */
export async function findNewTable(
  { catalog }: DataDeps,
  { principal, params }: KeyRequestContext,
): Promise<RecordedTable> {
  const name = params["table"] ?? "";
  if (TABLE_NAME.test(name)) await catalog.refresh();
  const table = catalog.find(principal.appId, name);
  if (table === undefined) throw new Problem("unknown_table");
  return table;
}

const TABLE_NAME = new RegExp(TABLE_PATTERN);

export function checkAccept(request: Request): void {
  if (acceptsJson(request.headers.get("accept"))) return;
  throw new Problem("not_acceptable", { message: "Rows are served as application/json only" });
}

/** The id of a request for one row, after the checks that come first. */
export function readRowRequest({ request, query, params }: KeyRequestContext): string {
  checkAccept(request);
  rejectQuery(query, ONLY_LISTS);
  const id = params["id"] ?? "";
  if (!isUuid(id))
    throw new Problem("invalid_id", { message: "The id in the path must be a uuid" });
  return id.toLowerCase();
}

export async function readBody(request: Request): Promise<{ text: string; value: unknown }> {
  checkJsonBody(request);
  const text = await readText(request, MAX_BODY_BYTES);
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
 */
export async function readValues<R extends Read>(
  deps: DataDeps,
  context: KeyRequestContext,
  { table, isStrict, read: readBy }: Reading<R>,
): Promise<{ table: RecordedTable; read: R }> {
  const { catalog } = deps;
  let current = table;
  let read = readBy(table.definition);
  if (read.unknown.length > 0 || read.issues.length > 0) {
    await catalog.refresh();
    current = catalog.find(context.principal.appId, table.name) ?? table;
    if (current.definition !== table.definition) read = readBy(current.definition);
  }
  const unknown = isStrict ? explainUnknown(read.unknown, current) : [];
  if (read.issues.length + unknown.length > 0) {
    await checkProof(deps, context, current);
    throw toInvalid([...read.issues, ...unknown]);
  }
  return { table: current, read };
}

/** Max listed unknown fields, and how many of them are compared with every column. */
const MAX_UNKNOWN = 100;
const MAX_COMPARED = 20;

function explainUnknown(unknown: readonly UnknownField[], table: RecordedTable): Detail[] {
  const names = table.definition.columns.map(({ name }) => name);
  return unknown.slice(0, MAX_UNKNOWN).map(({ path, name }, index) => {
    const near = index < MAX_COMPARED ? findNearest(name, names) : undefined;
    const suggestion = near === undefined ? "" : `; did you mean ${quote(near)}?`;
    return { path, message: `Is not a column${suggestion}` };
  });
}
