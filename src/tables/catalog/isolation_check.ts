/**
 * Checks the isolation of the database and of every node, if it has several. The state of an unavailable node is unknown;
 * the check still covers the other nodes.
 *
 * @module
 */
import {
  ANCHOR,
  type Database,
  DIALECT_SQL,
  DIALECTS,
  type DialectName,
  type NodeMap,
  readRows,
} from "../../db/mod.ts";
import { Problem } from "../../problem.ts";

export type Isolation = {
  ageMs: number;
  /** A digest of all tables' functions, and the release that generated them; absent during a renewal. */
  bodies: string;
  release: string | null;
  /** Issues of the whole database. For operators only: they name tables of every app. */
  issues: readonly string[];
  /** Issues by node, if the database has several: they affect the apps with rows on that node. */
  ofNodes: Readonly<Record<string, readonly string[]>>;
  /** Nodes that `rowhouse migrate` has not set up. They get no rows. */
  added: readonly string[];
  /** Nodes that did not respond: their state is unknown, and they serve no requests. */
  silent: readonly string[];
};

/** Timeout per node: the check of the other nodes does not wait for a node that hangs. */
const NODE_PATIENCE_MS = 5000;

type CheckRow = {
  issues: string;
  bodies: string;
  release: string | null;
  age_s: number;
  dialect: DialectName;
};

type Node = { host: string; port: number; ranges: [number, number][]; is_synced: boolean };

/** A node's issues, and PostgreSQL's identifier of its server; null without the right to read it. */
type NodeState = { issues: readonly string[]; system: string | null };

/**
 * Checks the database, or uses any process's check of max age `maxAgeMs`, and checks every node of a clustered
 * database. `map` receives the nodes of apps, and the nodes that hang. A node that hangs gets one statement at a time,
 * repeatedly, so that its apps are served as soon as it responds.
 */
export function makeIsolationCheck(
  db: Database,
  map?: NodeMap,
): (options?: { maxAgeMs: number }) => Promise<Isolation> {
  const asked = new Map<string, Promise<readonly string[] | undefined>>();
  const ask = async (node: Node): Promise<readonly string[] | undefined> => {
    for (;;) {
      const askedAt = performance.now();
      const response = await askNode(db, node);
      // Only a node that times out is silent. If a node rejects connections, callers get an error and can retry.
      if (response === undefined && performance.now() - askedAt >= NODE_PATIENCE_MS) continue;
      map?.setSilence(toName(node), undefined);
      // Without an identifier, calls for the node go through the coordinator.
      const system = response?.system ?? undefined;
      if (system !== undefined && node.is_synced)
        map?.admit(toName(node), { host: node.host, port: node.port, system });
      return response?.issues;
    }
  };
  const askOnce = async (node: Node): Promise<readonly string[] | undefined> => {
    const name = toName(node);
    const askedAt = performance.now();
    const response = asked.get(name) ?? ask(node).finally(() => asked.delete(name));
    asked.set(name, response);
    const found = await withinPatience(response);
    if (found !== TIMED_OUT) return found;
    map?.setSilence(name, askedAt);
    return undefined;
  };
  return async ({ maxAgeMs } = { maxAgeMs: 0 }) => {
    const row = await readCheck(db, maxAgeMs);
    const { bodies, release } = row;
    const found = { ageMs: row.age_s * 1000, bodies, release };
    const issues = JSON.parse(row.issues) as string[];
    if (!DIALECTS[row.dialect].hasNodes)
      return { ...found, issues, ofNodes: {}, added: [], silent: [] };
    const nodes = await readRows<Node>(db, NODES);
    map?.update(nodes.map((node) => ({ name: toName(node), ranges: node.ranges })));
    const responses = await Promise.all(
      nodes.map(async (node) => ({ name: toName(node), found: await askOnce(node) })),
    );
    const added = await readRows<{ name: string }>(db, ADDED);
    return {
      ...found,
      issues,
      ofNodes: Object.fromEntries(
        responses.flatMap(({ name, found = [] }) => (found.length > 0 ? [[name, found]] : [])),
      ),
      added: added.map(({ name }) => name),
      silent: responses.flatMap(({ name, found }) => (found === undefined ? [name] : [])),
    };
  };
}

/** After a change of many functions, each statement reads some of their bodies. */
async function readCheck(db: Database, maxAgeMs: number): Promise<CheckRow> {
  for (;;) {
    const [row] = await readRows<CheckRow>(
      db,
      `select issues::pg_catalog.text as issues, bodies, release, age_s, ${DIALECT_SQL} as dialect
      from rowhouse.check_isolation($1)`,
      [maxAgeMs / 1000],
    );
    if (row === undefined) throw new Error("The isolation check returned no row");
    if (row.age_s !== Infinity) return row;
  }
}

/** All issues of a check, as text for operators. */
export function listIssues({ issues, ofNodes }: Isolation): string[] {
  const ofAll = Object.entries(ofNodes).flatMap(([node, found]) =>
    found.map((issue) => `Node ${node}: ${issue}`),
  );
  return [...issues, ...ofAll];
}

const ADDED = `select nodename || ':' || nodeport as name from pg_catalog.pg_dist_node
where noderole = 'primary' and isactive and groupid <> 0 and nodeid not in (select id from rowhouse.nodes)
order by groupid`;

/** Nodes with shards. `rowhouse migrate` grants the rights on a new node before the node gets rows. */
const NODES = `select nodename as host, nodeport as port, ranges, metadatasynced as is_synced
from pg_catalog.pg_dist_node as node, lateral (
  select pg_catalog.json_agg(pg_catalog.json_build_array(shardminvalue::pg_catalog.int4, shardmaxvalue::pg_catalog.int4)) as ranges
  from pg_catalog.pg_dist_placement join pg_catalog.pg_dist_shard using (shardid)
  where pg_dist_placement.groupid = node.groupid and logicalrelid = '${ANCHOR}'::pg_catalog.regclass) as shards
where noderole = 'primary' and isactive and groupid <> 0 and ranges is not null
order by groupid`;

function toName({ host, port }: Pick<Node, "host" | "port">): string {
  return `${host}:${port}`;
}

/**
 * PostgreSQL looks for a function, and checks the right to execute it, before it evaluates a CASE, so nested queries call them: a login
 * without the right still gets the issues, and a node without the function has one.
 */
const STATE = `select pg_catalog.json_build_object('issues', (case
    when pg_catalog.to_regprocedure('rowhouse.find_node_issues()') is null then '["Run rowhouse migrate: it has not set up this node"]'
    else pg_catalog.convert_from(pg_catalog.decode(pg_catalog.substring(pg_catalog.query_to_xml(
      'select pg_catalog.encode(pg_catalog.convert_to(rowhouse.find_node_issues()::pg_catalog.text, ''UTF8''), ''hex'')', false, true, '')::pg_catalog.text,
      '>([0-9a-f]+)<'), 'hex'), 'UTF8') end)::pg_catalog.json,
  'system', case when pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'execute') then
    pg_catalog.substring(pg_catalog.query_to_xml(
      'select system_identifier from pg_catalog.pg_control_system()', false, true, '')::pg_catalog.text, '>([0-9]+)<') end)`;

/** `undefined` for an unavailable node. */
async function askNode(db: Database, { host, port }: Node): Promise<NodeState | undefined> {
  try {
    const [row] = await readRows<{ success: boolean; result: string }>(
      db,
      `select success, result from pg_catalog.master_run_on_worker(
        array[$1::pg_catalog.text], array[$2::pg_catalog.int4], array[$3::pg_catalog.text], false)`,
      [host, port, STATE],
    );
    return row?.success === true ? (JSON.parse(row.result) as NodeState) : undefined;
  } catch (error) {
    if (error instanceof Problem && error.code === "timeout") return undefined;
    throw error;
  }
}

const TIMED_OUT = Symbol("no response in time");

async function withinPatience<Result>(
  response: Promise<Result>,
): Promise<Result | typeof TIMED_OUT> {
  let timer: Timer | undefined;
  const patience = new Promise<typeof TIMED_OUT>((resolve) => {
    timer = setTimeout(() => resolve(TIMED_OUT), NODE_PATIENCE_MS);
  });
  try {
    return await Promise.race([response, patience]);
  } finally {
    clearTimeout(timer);
  }
}
