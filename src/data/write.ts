/**
 * The protocol of writes with a body: the body is read by the app's columns, and read again if another process has pushed
 * others; a repeated idempotency key gets the first response.
 *
 * @module
 */

import { type KeyRequestContext, prefers } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import type { TableDefinition } from "../schema/mod.ts";
import { classify } from "../std/found.ts";
import { isObject } from "../std/json.ts";
import { MAX_REJECTED_PATHS } from "../std/limits.ts";
import type { RecordedTable } from "../tables/catalog/mod.ts";
import { callFunction, type RenewedCall } from "./call.ts";
import { type DeniedWrite, listDenied } from "./denied_values.ts";
import { DATA_PATH, type DataDeps } from "./deps.ts";
import { claimFor, findReplay, readIdempotencyKey, replayHeaders } from "./idempotency.ts";
import { proveKey } from "./prove_key.ts";
import { type Read, readBody, readValues } from "./read_request.ts";
import { MAX_ISSUES } from "./read_row.ts";
import type { Written } from "./responses.ts";

/** A request with a body. */
export type SentWrite = {
  readonly table: RecordedTable;
  readonly key: string | undefined;
  /** Whether unknown fields are errors. */
  readonly isStrict: boolean;
  readonly text: string;
  readonly value: unknown;
};

/** The arguments of every write. */
type Common = { readonly bytes: number; readonly claim: Uint8Array | null };

type Write<R extends Read> = {
  /** The body by the columns of a table. */
  readonly read: (definition: TableDefinition) => R;
  /** Why no call can store the values; `undefined` if one can. */
  readonly reject?: (read: R) => Problem | undefined;
  readonly toCall: (read: R, common: Common, table: RecordedTable) => RenewedCall;
  /** The row in the path. */
  readonly id?: string;
  /** The query of the request, if it changes what is written. */
  readonly query?: string;
  /** What the rules for people must allow; default: a create, or an update. */
  readonly action?: DeniedWrite["action"];
  /** Whether the function of a list gets one row that was sent without a list. */
  readonly isOneRow?: boolean;
  readonly rows?: number;
  readonly respond: (written: Written) => Response;
};

/** The text of a row that a person wrote and does not read: its id, and the id of the app. */
const ONLY_IDS = /^\{"id":"[^"]{36}","app_id":"[^"]{36}"\}$/;
const ONLY_IDS_BYTES = 93;

function isOnlyIds(row: Uint8Array | null): boolean {
  return row?.length === ONLY_IDS_BYTES && ONLY_IDS.test(new TextDecoder().decode(row));
}

/** Reads the headers and the body of a write, after the checks that come first. */
export async function readSent(
  deps: DataDeps,
  table: RecordedTable,
  context: KeyRequestContext,
): Promise<SentWrite> {
  const { request } = context;
  const key = readIdempotencyKey(request);
  const isStrict = prefers(request, "handling", "strict");
  return { table, key, isStrict, ...(await readBody(deps, context)) };
}

/** Writes, and responds. @throws {Problem} validation_failed; idempotency_mismatch; idempotency_full; and the errors of the function */
export async function write<R extends Read>(
  deps: DataDeps,
  context: KeyRequestContext,
  sent: SentWrite,
  wanted: Write<R>,
): Promise<Response> {
  try {
    return await writeSent(deps, context, sent, wanted);
  } catch (error) {
    if (error instanceof Problem && error.code === "validation_failed")
      error.found = error.details
        ?.slice(0, MAX_REJECTED_PATHS)
        .map(({ path }) => classify(findValue(sent.value, path)));
    throw withDenied(deps, context, { sent, error, action: wanted.action });
  }
}

/** The same error; if a rule for people denied the write, with every field of the body that it denies. */
function withDenied(
  { catalog }: DataDeps,
  { principal, request }: KeyRequestContext,
  {
    sent,
    error,
    action,
  }: { sent: SentWrite; error: unknown; action: DeniedWrite["action"] | undefined },
): unknown {
  const { person } = principal;
  const table = catalog.findFor(principal, sent.table.name)?.definition;
  const view = table?.served?.view;
  if (!(error instanceof Problem) || error.code !== "forbidden") return error;
  if (person === undefined || table === undefined || view === undefined) return error;
  const ofMethod = request.method === "POST" ? "create" : "update";
  const { message, cause, details: reported } = error;
  const details = listDenied(sent.value, {
    table,
    view,
    person: person.id,
    action: action ?? ofMethod,
    reported,
  });
  if (details.length === 0) return error;
  return new Problem("forbidden", { message, cause, details: details.slice(0, MAX_ISSUES) });
}

/** The value of a body at a JSON pointer; `undefined` if there is none. */
function findValue(body: unknown, path: string): unknown {
  return path
    .split("/")
    .slice(1)
    .reduce((part: unknown, name) => {
      if (Array.isArray(part)) return part[Number(name)];
      return isObject(part) && Object.hasOwn(part, name) ? part[name] : undefined;
    }, body);
}

async function writeSent<R extends Read>(
  deps: DataDeps,
  context: KeyRequestContext,
  { table: named, key, text, isStrict }: SentWrite,
  { read: readBy, reject, toCall, id, query, isOneRow, rows = 1, respond }: Write<R>,
): Promise<Response> {
  const readFor = async (table: RecordedTable) => {
    const current = await readValues(deps, context, { table, isStrict, read: readBy });
    const problem = reject?.(current.read);
    if (problem === undefined) return current;
    await proveKey(deps, context.principal, "data:write");
    throw problem;
  };
  const { table, read } = await readFor(named);
  const path = [DATA_PATH, table.name, id].filter((part) => part !== undefined).join("/");
  const target = query === undefined ? path : `${path}?${query}`;
  const claim = claimFor(deps, context, { key, path: target, body: text });
  const common = { bytes: deps.maxResponseBytes, claim };
  const found = await callFunction(deps, context, {
    ...{ table, isOneRow },
    ...toCall(read, common, table),
    renew: async (newer) => {
      const again = await readFor(newer);
      return toCall(again.read, common, again.table);
    },
  });
  const replay = findReplay(deps, context, { key, found, rows });
  const isShort = context.principal.person !== undefined && isOnlyIds(found);
  return respond({ path, body: found, isShort, ...replay, headers: replayHeaders(replay) });
}
