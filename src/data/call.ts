/** Calls of tables' functions: one statement, which is all of a request's work. @module */
import {
  callText,
  type Endpoint,
  type EndpointCall,
  RETRY,
  type RecordedTable,
  toParameters,
} from "../catalog/mod.ts";
import { readSqlState, ViolationError } from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import type { KeyRequestContext } from "../http/mod.ts";
import { NO_SUCH_FUNCTION, toCallError } from "./call_error.ts";
import type { DataDeps } from "./deps.ts";
import { isKnown, toProblem } from "./violation.ts";

type TableCall = EndpointCall & { readonly table: RecordedTable };

/** What the table's function returns for this app, as UTF-8: one statement, which is all of a request's work. */
export async function callFunction(
  deps: DataDeps,
  context: KeyRequestContext,
  call: TableCall,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const { table, endpoint } = call;
  const { appId, proof } = context.principal;
  const { meter } = context;
  // A write that is known by its key happens once, however often it is sent.
  const isKeyed = "claim" in call.values && call.values.claim !== null;
  const retry = isKeyed ? "safe" : RETRY[endpoint];
  const isOwn = call.endpoint === "get" ? makeIsRow(appId, call.values.id) : undefined;
  const options = { retry, caller: context.request, queue: appId, meter, isOwn };
  const parameters = toParameters({ app: appId, proof }, call);
  try {
    return await deps.db.bytes(textsOf(table)[endpoint], parameters, options);
  } catch (error) {
    if (readSqlState(error) === NO_SUCH_FUNCTION) {
      const newer = await findNewer(deps, appId, table);
      if (newer !== undefined) return await callFunction(deps, context, { ...call, table: newer });
    }
    if (!(error instanceof ViolationError)) throw toCallError(error, deps, call);
    const { violation } = error;
    // Another process has just pushed a constraint that this one does not know yet.
    if (!isKnown(table, violation)) await deps.catalog.refresh();
    const current = deps.catalog.find(appId, table.name) ?? table;
    throw toProblem(violation, { table: current, isDelete: endpoint === "delete" });
  }
}

/** Whether what a get was answered is this row of this app: every row begins with both ids. */
function makeIsRow(app: string, id: string): (row: Uint8Array<ArrayBuffer>) => boolean {
  const start = `{"id":"${id}","app_id":"${app}"`;
  return (row) =>
    Buffer.from(row.buffer, row.byteOffset, row.byteLength).toString("latin1", 0, start.length) ===
    start;
}

/**
 * The table, if the app is now served other columns: then the functions that are gone are not the ones to call, and the
 * body that was read is still right, because an app only gains columns.
 */
async function findNewer(
  { catalog }: DataDeps,
  appId: string,
  { name, definition }: RecordedTable,
): Promise<RecordedTable | undefined> {
  await catalog.refresh();
  const current = catalog.find(appId, name);
  return current?.definition === definition ? undefined : current;
}

/** No row has it: ids are made by the service. */
const NO_ROW = "00000000-0000-0000-0000-000000000000";

/**
 * Asks the database about the key of a write that is refused without it: by the write's own function, of no row.
 *
 * @throws {Problem} unauthenticated — the key is not proven
 */
export async function checkProof(
  deps: DataDeps,
  context: KeyRequestContext,
  table: RecordedTable,
): Promise<void> {
  const values = { id: NO_ROW, body: "{}", bytes: deps.maxResponseBytes, match: null, claim: null };
  await callFunction(deps, context, { table, endpoint: "update", values });
}

type Texts = Readonly<Record<Endpoint, string>>;

/** Made once per definition, because every request needs it. */
const texts = new WeakMap<TableDefinition, Texts>();

function textsOf({ definition }: RecordedTable): Texts {
  const found = texts.get(definition);
  if (found !== undefined) return found;
  const of = (endpoint: Endpoint) => callText(definition, endpoint);
  const made: Texts = {
    list: of("list"),
    get: of("get"),
    create: of("create"),
    create_many: of("create_many"),
    update: of("update"),
    delete: of("delete"),
  };
  texts.set(definition, made);
  return made;
}
