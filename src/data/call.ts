/** Calls tables' functions, each with one statement. @module */
import {
  ALL_ENDPOINTS,
  callText,
  type Endpoint,
  type EndpointCall,
  hashColumnSet,
  pageHead,
  type RecordedTable,
  SCOPE_OF,
  TAG_LENGTH,
  toParameters,
} from "../catalog/mod.ts";
import { type Dialect, type ReadLength, readSqlState, ViolationError } from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import type { KeyRequestContext } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { NO_SUCH_FUNCTION, toCallError } from "./call_error.ts";
import { toGrouping } from "./create_group.ts";
import type { DataDeps } from "./deps.ts";
import { proveKey } from "./prove_key.ts";
import { isKnown, toProblem } from "./violation.ts";

type TableCall = EndpointCall & {
  readonly table: RecordedTable;
  /** The call for a table with other columns; default: the same arguments. */
  readonly renew?: (table: RecordedTable) => EndpointCall | Promise<EndpointCall>;
  /** Max execution time, if it is shorter than the pool's. */
  readonly limitMs?: number;
};

/** The result of the table's function for this app, as UTF-8. */
export async function callFunction(
  deps: DataDeps,
  context: KeyRequestContext,
  call: TableCall,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const { table, endpoint } = call;
  const { appId, proof } = context.principal;
  const statements = statementsOf(table, deps.catalog.dialect());
  const { hash, texts } = statements;
  // A write with an idempotency key takes effect once, however often it is sent. Another write is not retried after a broken
  // connection, because it may have happened.
  const isKeyed = "claim" in call.values && call.values.claim !== null;
  const parameters = toParameters({ app: appId, proof }, call);
  try {
    return await deps.db.bytes(texts[endpoint], parameters, {
      retry: isKeyed || SCOPE_OF[endpoint] === "data:read" ? "safe" : "unsafe",
      caller: context.request,
      queue: appId,
      isOfApp: true,
      meter: context.meter,
      limitMs: call.limitMs,
      isOwn: makeIsOwn(appId, hash, call),
      length: lengthOf(call),
      grouping: endpoint === "create" ? toGrouping(deps, context, call, statements) : undefined,
    });
  } catch (error) {
    if (CHANGED.has(readSqlState(error) ?? "")) {
      // The app may have been deleted, with the functions of its tables.
      await proveKey(deps, context.principal);
      await deps.catalog.refresh();
      const newer = findCurrent(deps, appId, table.name);
      if (newer.definition !== table.definition) {
        const renewed = await call.renew?.(newer);
        return await callFunction(deps, context, { ...call, ...renewed, table: newer });
      }
    }
    if (!(error instanceof ViolationError)) throw toCallError(error, deps, call);
    const { violation } = error;
    // Another process pushed a constraint that this process has not read yet.
    if (!isKnown(table, violation)) await deps.catalog.refresh();
    const current = deps.catalog.find(appId, table.name) ?? table;
    throw toProblem(violation, { table: current, isDelete: endpoint === "delete" });
  }
}

/** Whether a response belongs to this read, by its content. Writes are not pipelined. */
function makeIsOwn(
  app: string,
  set: string,
  { endpoint, values }: EndpointCall,
): ((found: Uint8Array<ArrayBuffer>) => boolean) | undefined {
  if (endpoint === "get") return makeHas(`{"id":"${values.id}","app_id":"${app}"`, 0);
  if (endpoint === "list") return makeHas(pageHead({ app, set, ...values }), TAG_LENGTH);
  return undefined;
}

/** A list without a size limit could delay other pipelined calls. */
function lengthOf({ endpoint, values }: EndpointCall): ReadLength {
  if (endpoint !== "list") return "short";
  return values.inline === null ? "long" : "longer";
}

/** Whether bytes have these ASCII characters at a position. */
function makeHas(text: string, start: number): (bytes: Uint8Array<ArrayBuffer>) => boolean {
  const end = start + text.length;
  return ({ buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer, byteOffset, byteLength).toString("latin1", start, end) === text;
}

/**
 * SQLSTATEs of a call after the app's column set changed: the function, or a table, column or type that the function
 * names, does not exist or has changed. XX000: it was dropped as the call began. Nothing was written.
 */
const CHANGED: ReadonlySet<string> = new Set([
  NO_SUCH_FUNCTION,
  "42P01",
  "42703",
  "42704",
  "42804",
  "0A000",
  "XX000",
]);

/** The table that the app has now, as this process knows. @throws {Problem} unknown_table */
export function findCurrent({ catalog }: DataDeps, appId: string, name: string): RecordedTable {
  const table = catalog.find(appId, name);
  if (table === undefined) throw new Problem("unknown_table");
  return table;
}

type Statements = {
  readonly dialect: Dialect;
  readonly hash: string;
  readonly defaultBytes: number;
  readonly texts: Readonly<Record<Endpoint, string>>;
};

/** Cached per definition, because every request needs it. */
const cached = new WeakMap<TableDefinition, Statements>();

function statementsOf({ definition }: RecordedTable, dialect: Dialect): Statements {
  const found = cached.get(definition);
  if (found?.dialect === dialect) return found;
  const texts = Object.fromEntries(
    ALL_ENDPOINTS.map((endpoint) => [endpoint, callText(definition, endpoint, dialect)]),
  ) as Statements["texts"];
  const defaults = definition.columns.map((column) => column.default);
  const defaultBytes = JSON.stringify(defaults).length;
  const created = { dialect, hash: hashColumnSet(definition), defaultBytes, texts };
  cached.set(definition, created);
  return created;
}
