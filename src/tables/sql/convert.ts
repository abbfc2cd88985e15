/**
 * `rowhouse admin convert-to-citus`: distributes a database with rows over the nodes of a Citus cluster, in one
 * transaction: the database is distributed completely or not changed. Requests wait for the end.
 *
 * @module
 */

import {
  admitNodes,
  ClusterError,
  type Conversion,
  checkLoginsLetIn,
  countShards,
  type Database,
  DIALECTS,
  findClusterIssues,
  findUnreachableNode,
  isRestored,
  listDataNodes,
  OPERATOR,
  prepareNodes,
  type Reference,
  readSqlState,
  renderConversion,
  SIGNALS,
  SignalError,
  setUpCluster,
  spreadLogins,
} from "../../db/mod.ts";
import { PROCESS_SILENT_S } from "../../std/limits.ts";
import { functionSignature, functionsOfSet, listViewSets, serveSet } from "../catalog/mod.ts";
import { findDrift, RECORDED_SQL, type RecordedState } from "../verify/drift.ts";
import { FACTS_QUERY, FACTS_SETTINGS, readFacts } from "../verify/snapshot.ts";
import { renderDropUnserved, renderFunctions } from "./functions/functions.ts";

// The order for distributing tables: each after its reference targets. Pure.

/** All tables, parents first, and the references that close a cycle, which have no such order. */
export function orderTables(
  names: readonly string[],
  references: readonly Reference[],
): { tables: string[]; circular: Reference[] } {
  const left = new Set([...names].sort());
  const tables: string[] = [];
  const circular: Reference[] = [];
  const waitsFor = (name: string) =>
    references.filter(({ child, parent }) => child === name && parent !== name && left.has(parent));
  for (let next = first(left); next !== undefined; next = first(left)) {
    const name =
      [...left].find((table) => waitsFor(table).length === 0) ?? findInCircle(next, waitsFor);
    circular.push(...waitsFor(name));
    tables.push(name);
    left.delete(name);
  }
  return { tables, circular };
}

/** A table of a cycle: the first table met twice while following references. */
function findInCircle(start: string, waitsFor: (name: string) => Reference[]): string {
  const met = new Set<string>();
  let name = start;
  while (!met.has(name)) {
    met.add(name);
    name = waitsFor(name)[0]?.parent ?? name;
  }
  return name;
}

function first(names: ReadonlySet<string>): string | undefined {
  return names.values().next().value;
}

export type ConversionPlan = {
  database: string;
  nodes: string[];
  tables: string[];
  /** Processes that used the database in the last minutes. */
  processes: number;
};

/** A table with the number of its rows and of apps with rows: equal before and after. */
type ConvertedTable = { name: string; rows: string; apps: number };

/** The site of all functions afterwards. */
const SITE = { dialect: "citus" } as const;

/** How long to retry while others hold tables, and the max duration of the conversion: 12 hours. */
const PATIENCE_MS = 60_000;
const TRY_AGAIN_MS = 500;
const LIMIT_MS = 43_200_000;
/** Retryable errors: locks of others, and a state that has changed since it was read. */
const PASSING = new Set<string>(["55P03", "40P01", "40001", SIGNALS.catalogMoved]);
const OUT_OF_MEMORY = "53200";

/** @throws {ClusterError} with every blocker */
export async function planConversion(admin: Database): Promise<ConversionPlan> {
  const { database, processes, recorded } = await withPatience(() => readConvertible(admin));
  const tables = recorded.tables.map(({ name }) => name).sort();
  return { database, nodes: await listDataNodes(admin), processes, tables };
}

/**
 * Converts a database. Notices of the connection report the transaction's progress; `report` receives the rest.
 *
 * @throws {ClusterError} a blocker or a PostgreSQL error: the database is then unchanged
 */
export async function convertDatabase(
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
  const views = [...listViewSets(recorded.uses ?? []).values()].flat();
  const served = [...recorded.sets, ...views].flatMap((set) =>
    recorded.tables.filter(({ name }) => name === set.name).map((table) => serveSet(set, table)),
  );
  return {
    shards,
    ...orderTables(names, references),
    functions: served.flatMap((set) => [
      ...renderDropUnserved(set, SITE).map(DIALECTS.citus.toStatement),
      ...renderFunctions(set, SITE),
    ]),
    signatures: served.flatMap((set) =>
      functionsOfSet(set, SITE).map((name) => functionSignature(set, name)),
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
        throw new ClusterError([
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
    return new ClusterError(["The row counts of the nodes do not match. Nothing was changed"]);
  const isRejection = /^[0-9A-Z]{5}$/.test(state) && !/^(?:08|57P|40003)/.test(state);
  if (!isRejection || findUnreachableNode(error) !== undefined) return error;
  const remedy =
    state === OUT_OF_MEMORY
      ? "raise max_locks_per_transaction on every node"
      : "see the log of the coordinator";
  return new ClusterError([
    `The step after the last line above failed with SQLSTATE ${state}: ${remedy}. Nothing was changed`,
  ]);
}

function reportUnfinished(error: unknown): never {
  const reason = error instanceof ClusterError ? `\n${error.message}` : "";
  throw new ClusterError([
    `All rows are distributed, but the setup of the nodes did not finish: run rowhouse migrate${reason}`,
  ]);
}

/** The state of a database before its distribution over nodes. */
type ConversionState = {
  database: string;
  /** Processes that used the database in the last minutes. */
  processes: number;
  facts: string;
  digest: string;
  recorded: RecordedState;
  references: Reference[];
  /** Invalid indexes: their build failed or is running. */
  unbuilt: string[];
};

/** @throws {ClusterError} with every error of the cluster and of the tables */
async function readConvertible(admin: Database): Promise<ConversionState> {
  if (await isRestored(admin))
    throw new ClusterError([
      "The database was restored from a dump of a distributed database: run rowhouse migrate first",
    ]);
  const shards = await countShards(admin);
  if (shards !== undefined)
    throw new ClusterError([
      `The database is already distributed over ${shards} shards; after adding nodes, run rowhouse migrate`,
    ]);
  const cluster = await findClusterIssues(admin);
  const state = await readState(admin);
  const issues = [...cluster, ...findIssues(state)];
  if (issues.length > 0) throw new ClusterError(issues);
  return state;
}

const STATE = `${FACTS_SETTINGS}
with facts_found (text) as materialized (select (${FACTS_QUERY}))
select json_build_object(
  'database', current_database(),
  'processes', (select count(*) from rowhouse.processes where ended_at is null and seen_at > now() - interval '${PROCESS_SILENT_S} seconds'),
  'facts', text, 'digest', md5(text),
  'recorded', (${RECORDED_SQL}),
  'references', (select coalesce(json_agg(json_build_object('name', conname, 'child', child.relname, 'parent', parent.relname,
      'definition', pg_get_constraintdef(pg_constraint.oid)) order by conname), '[]')
    from pg_constraint join pg_class as child on child.oid = conrelid join pg_class as parent on parent.oid = confrelid
    where contype = 'f' and child.relnamespace = 'data'::regnamespace),
  'unbuilt', (select coalesce(json_agg(relname order by relname), '[]') from pg_index join pg_class on pg_class.oid = indexrelid
    where relnamespace = 'data'::regnamespace and not indisvalid))::text as state
from facts_found`;

async function readState(admin: Database): Promise<ConversionState> {
  const [row] = await admin.message<{ state: string }>(STATE);
  if (row === undefined) throw new Error("The query of the database returned no row");
  return JSON.parse(row.state) as ConversionState;
}

/** The copy of rows runs as a superuser, with any triggers that others added: reject unknown objects. */
function findIssues({ recorded, facts, unbuilt }: ConversionState): string[] {
  const cleared = recorded.tables.flatMap(({ name, columns }) =>
    columns
      .filter(({ onDelete }) => onDelete === "set null")
      .map((column) => `${name}.${column.name}`),
  );
  const drift = findDrift(recorded, readFacts(facts)).filter(
    // Functions are created again, whatever their state.
    ({ thing }) => !thing.startsWith("function "),
  );
  return [
    ...drift.map(
      ({ thing, wanted, found }) => `Drift of ${thing}: expected ${wanted}, found ${found}`,
    ),
    ...cleared.map(
      (column) =>
        `Citus does not support the reference ${column} with onDelete "set null": drop the column with rowhouse db drop`,
    ),
    ...unbuilt.map(
      (name) =>
        `The build of index ${name} has not finished: wait for it, or drop it and push again`,
    ),
  ];
}
