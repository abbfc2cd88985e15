/** Calls tables' functions, each with one statement. @module */

import {
  type Dialect,
  type ReadLength,
  readSqlState,
  SIGNALS,
  SignalError,
  ViolationError,
} from "../db/mod.ts";
import { type KeyRequestContext, keyRejected } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import type { TableDefinition } from "../schema/mod.ts";
import {
  ALL_ENDPOINTS,
  allowsEndpoint,
  briefCallText,
  type Caller,
  callInTurnText,
  callText,
  type Endpoint,
  type EndpointCall,
  ofAnotherRelease,
  PIPELINED,
  type RecordedTable,
  scopeOf,
  toParameters,
} from "../tables/catalog/mod.ts";
import type { DataDeps } from "./deps.ts";
import { toGrouping } from "./group_creates.ts";
import { estimateKept, type Kept } from "./kept.ts";
import { proveKey } from "./prove_key.ts";
import { isKnown, toProblem } from "./violation.ts";

// Converts an error of a table's function to a Problem.

const NO_SUCH_FUNCTION = "42883";
/** Also while `rowhouse migrate` has yet to let the functions that find rows read the table. */
const OF_ANOTHER_RELEASE: ReadonlySet<string | undefined> = new Set([NO_SUCH_FUNCTION, "42501"]);

/**
 * The database rejects a key that has just ended; the gateway rejects it from then on. If the functions belong to another
 * release than the process, the error states this, and callers can retry after the deployment.
 */
function toCallError(error: unknown, { maxResponseBytes }: DataDeps, call: TableCall): unknown {
  const signal = error instanceof SignalError ? error.signal : undefined;
  if (signal === SIGNALS.keyRejected) return keyRejected(error);
  if (signal === SIGNALS.roleRejected) return roleRejected(error);
  const writesNothing = call.endpoint === "update" && call.values.body === "{}";
  const rejectRows = call.isOneRow ? wouldBeTooLarge : TOO_LARGE[call.endpoint];
  const rejectWrite = writesNothing ? undefined : rejectRows;
  if (error instanceof SignalError && signal === SIGNALS.rowTooLarge)
    return rejectWrite?.(maxResponseBytes) ?? tooLarge(error.detail);
  const state = readSqlState(error);
  if (state === PROGRAM_LIMIT) return rejectWrite?.(maxResponseBytes) ?? tooLarge();
  return OF_ANOTHER_RELEASE.has(state) ? ofAnotherRelease(error) : error;
}

/** The error for an action that the person's role cannot do with the table. */
export function roleRejected(cause?: unknown): Problem {
  return new Problem("forbidden", { message: "Your role does not allow this", cause });
}

/** PostgreSQL cannot build a value of 1 GB, so it cannot measure such a row. */
const PROGRAM_LIMIT = "54000";

const TOO_LARGE: Readonly<Partial<Record<Endpoint, (maxBytes: number) => Problem>>> = {
  create: wouldBeTooLarge,
  create_many: rowsTooLarge,
  update: wouldBeTooLarge,
  update_many: rowsTooLarge,
  upsert: rowsTooLarge,
  update_keyed: rowsTooLarge,
};

export function rowsTooLarge(maxBytes: number): Problem {
  return new Problem("body_too_large", {
    message: `The rows would be larger than ${maxBytes} bytes as JSON, the max size of a response; nothing was written: send fewer at a time`,
  });
}

function wouldBeTooLarge(maxBytes: number): Problem {
  return new Problem("validation_failed", {
    message: `The row would be larger than ${maxBytes} bytes as JSON, the max size of a response; nothing was written`,
  });
}

function tooLarge(id?: string): Problem {
  const message =
    id === undefined
      ? "A row of this page is too large for a response: request fewer rows, down to limit=1, to find and skip it"
      : `The row ${id} is too large for a response: skip it with an offset one higher, or make it smaller`;
  return new Problem("response_too_large", { message });
}

export type RenewedCall = EndpointCall & Pick<TableCall, "related" | "isUnindexed" | "limitMs">;
type TableCall = EndpointCall & {
  readonly table: RecordedTable;
  /** The call for a table with other columns; default: the same arguments. */
  readonly renew?: (table: RecordedTable) => RenewedCall | Promise<RenewedCall>;
  /** The other tables whose functions the function calls. */
  readonly related?: readonly RecordedTable[];
  /** Whether errors do not name the row, because the request has only one. */
  readonly isOneRow?: boolean | undefined;
  /** Max execution time, if it is shorter than the pool's. */
  readonly limitMs?: number | undefined;
  /** Whether no index serves the query of the call. */
  readonly isUnindexed?: boolean;
};

/** The result of the table's function for this app, as UTF-8. */
export async function callFunction(
  deps: DataDeps,
  context: KeyRequestContext,
  call: TableCall,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const { table, endpoint } = call;
  const { appId, proof, person } = context.principal;
  const view = table.definition.served?.view;
  if (person !== undefined && (view === undefined || !allowsEndpoint(view, endpoint)))
    return await callNewer(deps, context, call);
  const dialect = deps.catalog.dialect();
  const statements = statementsOf(table, dialect);
  const { texts } = statements;
  // A write with an idempotency key takes effect once, however often it is sent. Another write is not retried after a broken
  // connection, because it may have happened.
  const isKeyed = "claim" in call.values && call.values.claim !== null;
  const parameters = toParameters(table.definition, { app: appId, proof }, call);
  const options: Parameters<typeof deps.db.bytes>[2] = {
    retry: isKeyed || scopeOf(endpoint) === "data:read" ? "safe" : "unsafe",
    caller: context.request,
    queue: appId,
    lane: person && { name: person.id, weight: HEAVY.has(endpoint) ? 2 : 1 },
    isOfApp: true,
    touched: findTouched(statements, call),
    meter: context.meter,
    limitMs: call.limitMs,
    length: lengthOf(call),
    // A lock timeout ends the claim for a moment. A repeat then writes, and this call returns its response. But without space
    // for another key, the caller would omit the key while this call is in progress.
    brief:
      isKeyed && !deps.idempotencyCapacity.isFarFromFull(context.principal)
        ? undefined
        : statements.briefTexts[endpoint],
    grouping: endpoint === "create" ? toGrouping(deps, context, call, statements) : undefined,
  };
  // Only a statement with nothing but the call reaches the node with the app's rows.
  const textInTurn = () =>
    dialect.hasNodes ? texts[endpoint] : callInTurnText(table.definition, endpoint, dialect);
  const send = (text: string, limits = options) => deps.db.bytes(text, parameters, limits);
  const find = (freeMs?: number) =>
    freeMs === undefined
      ? send(textInTurn())
      : send(texts[endpoint], { ...options, limitMs: Math.min(freeMs, call.limitMs ?? freeMs) });
  try {
    return await (call.isUnindexed === true
      ? deps.unindexed.run(context, table.name, find)
      : send(texts[endpoint]));
  } catch (error) {
    if (CHANGED.has(readSqlState(error) ?? "")) {
      // The app may have been deleted, with the functions of its tables.
      await proveKey(deps, context.principal);
      await deps.catalog.refresh();
      const newer = findCurrent(deps, context.principal, table.name);
      const isOld = ({ name, definition }: RecordedTable) =>
        deps.catalog.findFor(context.principal, name)?.definition !== definition;
      if ([table, ...(call.related ?? [])].some(isOld)) {
        const renewed = await call.renew?.(newer);
        return await callFunction(deps, context, { ...call, ...renewed, table: newer });
      }
    }
    if (!(error instanceof ViolationError)) throw toCallError(error, deps, call);
    const { row, ...broken } = error.violation;
    const violation = { ...broken, row: call.isOneRow ? undefined : row };
    // Another process pushed a constraint that this process has not read yet.
    if (!isKnown(table, violation)) await deps.catalog.refresh();
    const current = deps.catalog.findFor(context.principal, table.name) ?? table;
    throw toProblem(violation, { table: current, isDelete: DELETES.has(endpoint) });
  }
}

/** For an endpoint that the person does not have: another process may have just pushed other rules. @throws {Problem} forbidden */
async function callNewer(
  deps: DataDeps,
  context: KeyRequestContext,
  call: TableCall,
): Promise<Uint8Array<ArrayBuffer> | null> {
  await proveKey(deps, context.principal);
  const newer = findCurrent(deps, context.principal, call.table.name);
  if (newer.definition === call.table.definition) throw roleRejected();
  const renewed = await call.renew?.(newer);
  return await callFunction(deps, context, { ...call, ...renewed, table: newer });
}

/** The function of a call, and the other tables that it reads. */
function findTouched({ kept }: Statements, { endpoint, related = [] }: TableCall) {
  return [
    ...kept[endpoint],
    ...related.map(({ name: table }) => ({ table, code: table, bytes: 0 })),
  ];
}

/** Calls with conditions can take a hundred times as long as calls by id. */
const HEAVY: ReadonlySet<Endpoint> = new Set<Endpoint>([
  "find",
  "find_groups",
  "update_found",
  "delete_found",
  "upsert",
  "update_keyed",
]);
const DELETES: ReadonlySet<Endpoint> = new Set<Endpoint>(["delete", "delete_found"]);

/** The length of a read that can be pipelined. A list without a size limit could delay others. */
function lengthOf({ endpoint, values }: EndpointCall): ReadLength | undefined {
  if (!PIPELINED.has(endpoint)) return undefined;
  if (!("inline" in values)) return "short";
  return values.inline === null ? "long" : "longer";
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

/**
 * The table that the caller has now, as this process knows.
 *
 * @throws {Problem} unknown_table; forbidden — the person's role can do nothing with it
 */
export function findCurrent({ catalog }: DataDeps, caller: Caller, name: string): RecordedTable {
  const table = catalog.findFor(caller, name);
  if (table !== undefined) return table;
  throw catalog.find(caller.appId, name) === undefined
    ? new Problem("unknown_table")
    : roleRejected();
}

type Statements = {
  readonly dialect: Dialect;
  readonly defaultBytes: number;
  readonly texts: Readonly<Record<Endpoint, string>>;
  readonly briefTexts: Readonly<Record<Endpoint, string | undefined>>;
  readonly kept: Kept;
};

/** Cached per definition, because every request needs it. */
const cached = new WeakMap<TableDefinition, Statements>();

function statementsOf({ definition }: RecordedTable, dialect: Dialect): Statements {
  const found = cached.get(definition);
  if (found?.dialect === dialect) return found;
  const textsOf = <Text>(toText: (endpoint: Endpoint) => Text) =>
    Object.fromEntries(ALL_ENDPOINTS.map((endpoint) => [endpoint, toText(endpoint)])) as Record<
      Endpoint,
      Text
    >;
  const texts = textsOf((endpoint) => callText(definition, endpoint, dialect));
  const briefTexts = textsOf((endpoint) => briefCallText(definition, endpoint, dialect));
  const defaults = definition.columns.map((column) => column.default);
  const defaultBytes = JSON.stringify(defaults).length;
  const kept = estimateKept(definition, texts);
  const created = { dialect, defaultBytes, texts, briefTexts, kept };
  cached.set(definition, created);
  return created;
}
