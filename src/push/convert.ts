/**
 * `rowhouse admin convert-to-citus`: distributes a database with rows over the nodes of a Citus cluster, in one
 * transaction: the database is distributed completely or not changed. Requests wait for the end.
 *
 * @module
 */
import { endpointsOf, functionSignature } from "../catalog/mod.ts";
import {
  admitNodes,
  CitusError,
  type Conversion,
  checkLoginsLetIn,
  type Database,
  DIALECTS,
  findUnreachableNode,
  listDataNodes,
  OPERATOR,
  prepareNodes,
  readSqlState,
  renderConversion,
  SIGNALS,
  SignalError,
  setUpCluster,
  spreadLogins,
} from "../db/mod.ts";
import { type ConversionState, readConvertible } from "./conversion_state.ts";
import { renderDropUnserved, renderFunctions } from "./functions.ts";
import { FACTS_QUERY, FACTS_SETTINGS } from "./snapshot.ts";
import { orderTables } from "./table_order.ts";

export type ConversionPlan = {
  database: string;
  nodes: string[];
  tables: string[];
  /** Processes that used the database in the last minutes. */
  processes: number;
};

/** A table with the number of its rows and of apps with rows: equal before and after. */
export type ConvertedTable = { name: string; rows: string; apps: number };

/** The site of all functions afterwards. */
const SITE = { dialect: "citus", previews: [] } as const;

/** How long to retry while others hold tables, and the max duration of the conversion: 12 hours. */
const PATIENCE_MS = 60_000;
const TRY_AGAIN_MS = 500;
const LIMIT_MS = 43_200_000;
/** Retryable errors: locks of others, and a state that has changed since it was read. */
const PASSING = new Set<string>(["55P03", "40P01", "40001", SIGNALS.catalogMoved]);
const OUT_OF_MEMORY = "53200";

/** @throws {CitusError} with every blocker */
export async function planConversion(admin: Database): Promise<ConversionPlan> {
  const { database, processes, recorded } = await withPatience(() => readConvertible(admin));
  const tables = recorded.tables.map(({ name }) => name).sort();
  return { database, nodes: await listDataNodes(admin), processes, tables };
}

/**
 * Converts a database. Notices of the connection report the transaction's progress; `report` receives the rest.
 *
 * @throws {CitusError} a blocker or a PostgreSQL error: the database is then unchanged
 */
export async function convertToCitus(
  admin: Database,
  { shards }: { shards: number },
  report: (line: string) => void,
): Promise<ConvertedTable[]> {
  await prepareNodes(admin);
  await spreadLogins(admin);
  await checkLoginsLetIn(admin);
  report("set up roles and rights on every node");
  const converted = await withPatience(async () => {
    const text = renderConversion(toConversion(await readConvertible(admin), shards));
    return await admin.message<ConvertedTable>(text, { timeoutMs: LIMIT_MS });
  });
  await setUpCluster(admin).catch(reportUnfinished);
  await admitNodes(admin);
  return converted;
}

function toConversion(
  { recorded, references, digest }: ConversionState,
  shards: number,
): Conversion {
  const names = recorded.tables.map(({ name }) => name);
  return {
    shards,
    ...orderTables(names, references),
    functions: recorded.sets.flatMap((set) => [
      ...renderDropUnserved(set, SITE).map(DIALECTS.citus.toStatement),
      ...renderFunctions(set, SITE),
    ]),
    signatures: recorded.sets.flatMap((set) =>
      endpointsOf(SITE).map((endpoint) => functionSignature(set, endpoint)),
    ),
    checked: { settings: FACTS_SETTINGS, query: FACTS_QUERY, digest },
    actor: OPERATOR,
  };
}

async function withPatience<Result>(run: () => Promise<Result>): Promise<Result> {
  for (const startedAt = performance.now(); ; await Bun.sleep(TRY_AGAIN_MS)) {
    try {
      return await run();
    } catch (error) {
      if (!PASSING.has(stateOf(error))) throw toRejection(error);
      if (performance.now() - startedAt > PATIENCE_MS)
        throw new CitusError([
          "Requests or pushes keep the tables locked: stop all serving processes, and try again. Nothing was changed",
        ]);
    }
  }
}

function stateOf(error: unknown): string {
  return (error instanceof SignalError ? error.signal : readSqlState(error)) ?? "";
}

/** PostgreSQL has rolled back everything. Its message is not repeated: it may quote rows. */
function toRejection(error: unknown): unknown {
  const state = stateOf(error);
  if (state === SIGNALS.rowsDiffer)
    return new CitusError(["The row counts of the nodes do not match. Nothing was changed"]);
  const isRejection = /^[0-9A-Z]{5}$/.test(state) && !/^(?:08|57P|40003)/.test(state);
  if (!isRejection || findUnreachableNode(error) !== undefined) return error;
  const remedy =
    state === OUT_OF_MEMORY
      ? "raise max_locks_per_transaction on every node"
      : "see the log of the coordinator";
  return new CitusError([
    `The step after the last line above failed with SQLSTATE ${state}: ${remedy}. Nothing was changed`,
  ]);
}

function reportUnfinished(error: unknown): never {
  const reason = error instanceof CitusError ? `\n${error.message}` : "";
  throw new CitusError([
    `All rows are distributed, but the setup of the nodes did not finish: run rowhouse migrate${reason}`,
  ]);
}
