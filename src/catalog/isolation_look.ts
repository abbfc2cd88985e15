/**
 * A look at the isolation: of the database, and of every node where it is distributed. Of a node that is away nothing is
 * known; the others are judged all the same.
 *
 * @module
 */
import {
  ANCHOR,
  type Database,
  IS_DISTRIBUTED_SQL,
  type NodeMap,
  readRows,
  renderFaults,
} from "../db/mod.ts";
import { Problem } from "../problem.ts";

/** What a look has found. */
export type Isolation = {
  /** How old the result is. */
  ageMs: number;
  /** A digest of the functions of all tables, and the release that generated them; none while they are renewed. */
  bodies: string;
  release: string | null;
  /** What is not as it must be in the database as a whole. For operators only: it names tables of every app. */
  faults: readonly string[];
  /** The same of a node of a distributed database, by its name: it concerns the apps whose rows are there. */
  ofNodes: Readonly<Record<string, readonly string[]>>;
  /** Nodes that `rowhouse migrate` has not set up: they get no rows. */
  added: readonly string[];
  /** Nodes of a distributed database that did not answer: nothing is known of them, and nothing is served from them. */
  away: readonly string[];
};

/** How long a node may take: the verdict on the others does not wait for one that hangs. */
const NODE_PATIENCE_MS = 5000;

type CheckRow = {
  faults: string;
  bodies: string;
  release: string | null;
  age_s: number;
  is_distributed: boolean;
};

type Node = { host: string; port: number; ranges: [number, number][] };

/**
 * Checks the database, or uses a check of any process that is at most `maxAgeMs` old, and checks every node of a distributed
 * database. `map` gets where apps are, and which nodes hang. A node that hangs is asked by one statement at a time, again and
 * again, so that its apps are served as soon as it responds.
 */
export function makeIsolationLook(
  db: Database,
  map?: NodeMap,
): (options?: { maxAgeMs: number }) => Promise<Isolation> {
  const asked = new Map<string, Promise<readonly string[] | undefined>>();
  const ask = async (node: Node): Promise<readonly string[] | undefined> => {
    for (;;) {
      const askedAt = performance.now();
      const answer = await askNode(db, node);
      // What refuses at once is not silent: who calls it is told so, and is served a moment later.
      if (answer === undefined && performance.now() - askedAt >= NODE_PATIENCE_MS) continue;
      map?.tell(toName(node), undefined);
      return answer;
    }
  };
  const askOnce = async (node: Node): Promise<readonly string[] | undefined> => {
    const name = toName(node);
    const askedAt = performance.now();
    const answer = asked.get(name) ?? ask(node).finally(() => asked.delete(name));
    asked.set(name, answer);
    const found = await withinPatience(answer);
    if (found !== LATE) return found;
    map?.tell(name, askedAt);
    return undefined;
  };
  return async ({ maxAgeMs } = { maxAgeMs: 0 }) => {
    const [row] = await readRows<CheckRow>(
      db,
      `select faults::pg_catalog.text as faults, bodies, release, age_s, ${IS_DISTRIBUTED_SQL} as is_distributed
      from rowhouse.check_isolation($1)`,
      [maxAgeMs / 1000],
    );
    if (row === undefined) throw new Error("The isolation check returned no row");
    const { bodies, release } = row;
    const found = { ageMs: row.age_s * 1000, bodies, release };
    const faults = JSON.parse(row.faults) as string[];
    if (!row.is_distributed) return { ...found, faults, ofNodes: {}, added: [], away: [] };
    const nodes = await readRows<Node>(db, NODES);
    map?.place(nodes.map((node) => ({ name: toName(node), ranges: node.ranges })));
    const answers = await Promise.all(
      nodes.map(async (node) => ({ name: toName(node), found: await askOnce(node) })),
    );
    const added = await readRows<{ name: string }>(db, ADDED);
    return {
      ...found,
      faults,
      ofNodes: Object.fromEntries(
        answers.flatMap(({ name, found = [] }) => (found.length > 0 ? [[name, found]] : [])),
      ),
      added: added.map(({ name }) => name),
      away: answers.flatMap(({ name, found }) => (found === undefined ? [name] : [])),
    };
  };
}

/** All faults of a look, as operators read them. */
export function listFaults({ faults, ofNodes }: Isolation): string[] {
  const ofAll = Object.entries(ofNodes).flatMap(([node, found]) =>
    found.map((fault) => `Node ${node}: ${fault}`),
  );
  return [...faults, ...ofAll];
}

const ADDED = `select nodename || ':' || nodeport as name from pg_catalog.pg_dist_node
where noderole = 'primary' and isactive and groupid <> 0 and nodeid not in (select id from rowhouse.nodes)
order by groupid`;

/** Those with shards: one that has just been added gets its rights by `rowhouse migrate`, before any row. */
const NODES = `select nodename as host, nodeport as port, ranges
from pg_catalog.pg_dist_node as node, lateral (
  select pg_catalog.json_agg(pg_catalog.json_build_array(shardminvalue::pg_catalog.int4, shardmaxvalue::pg_catalog.int4)) as ranges
  from pg_catalog.pg_dist_placement join pg_catalog.pg_dist_shard using (shardid)
  where pg_dist_placement.groupid = node.groupid and logicalrelid = '${ANCHOR}'::pg_catalog.regclass) as shards
where noderole = 'primary' and isactive and groupid <> 0 and ranges is not null
order by groupid`;

function toName({ host, port }: Pick<Node, "host" | "port">): string {
  return `${host}:${port}`;
}

/** A node's faults; `undefined` of one that is away. */
async function askNode(db: Database, { host, port }: Node): Promise<readonly string[] | undefined> {
  try {
    const [row] = await readRows<{ success: boolean; result: string }>(
      db,
      `select success, result from pg_catalog.master_run_on_worker(
        array[$1::pg_catalog.text], array[$2::pg_catalog.int4], array[$3::pg_catalog.text], false)`,
      [host, port, renderFaults(ANCHOR)],
    );
    return row?.success === true ? (JSON.parse(row.result) as string[]) : undefined;
  } catch (error) {
    if (error instanceof Problem && error.code === "timeout") return undefined;
    throw error;
  }
}

const LATE = Symbol("no response in time");

async function withinPatience<Answer>(answer: Promise<Answer>): Promise<Answer | typeof LATE> {
  let timer: Timer | undefined;
  const patience = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), NODE_PATIENCE_MS);
  });
  try {
    return await Promise.race([answer, patience]);
  } finally {
    clearTimeout(timer);
  }
}
