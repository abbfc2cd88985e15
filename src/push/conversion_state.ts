/** The state of a database before its distribution over nodes, and the blockers. @module */
import {
  CitusError,
  countShards,
  type Database,
  findClusterIssues,
  isRestored,
  type Reference,
} from "../db/mod.ts";
import { PROCESS_SILENT_S } from "../std/limits.ts";
import { findDrift, RECORDED_SQL, type RecordedState } from "./drift.ts";
import { FACTS_QUERY, FACTS_SETTINGS, readFacts } from "./snapshot.ts";

export type ConversionState = {
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

/** @throws {CitusError} with every error of the cluster and of the tables */
export async function readConvertible(admin: Database): Promise<ConversionState> {
  if (await isRestored(admin))
    throw new CitusError([
      "The database was restored from a dump of a distributed database: run rowhouse migrate first",
    ]);
  const shards = await countShards(admin);
  if (shards !== undefined)
    throw new CitusError([
      `The database is already distributed over ${shards} shards; after adding nodes, run rowhouse migrate`,
    ]);
  const cluster = await findClusterIssues(admin);
  const state = await readState(admin);
  const issues = [...cluster, ...findIssues(state)];
  if (issues.length > 0) throw new CitusError(issues);
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
