/**
 * Pools of connections to the nodes of a database with several: an app's calls go straight to the node with its rows. Each
 * pool is opened with the first call for its node, and closed when the node has left the cluster.
 *
 * @module
 */
import { Acquirer, type AcquirerOptions, type PoolStats } from "./acquire.ts";
import { isDriverPatched, openConnection } from "./connection.ts";
import type { NodeEntry, Nodes } from "./nodes.ts";
import { addStats, type PipelineOptions } from "./pipeline.ts";
import { openPipelines, type Pipelines } from "./pipelines.ts";

export type Pool = {
  readonly acquirer: Acquirer;
  readonly pipelines: Pipelines;
  readonly stats: () => PoolStats;
  readonly countChanges: (changes: number) => void;
  readonly close: (timeoutS: number) => Promise<void>;
};

export type PoolOptions = AcquirerOptions & PipelineOptions;

/** Opening a pool does not connect. */
export function openPool(options: PoolOptions): Pool {
  // Without prepared statements, the pooler can be a PgBouncer before 1.21. If its client leaves between the results of two
  // statements, as a killed worker does, it gives the session to another client, which then gets the second result.
  const isPipelined = options.prepare && isDriverPatched();
  const pipelines = openPipelines({ ...options, isPipelined, name: `${options.name} pipeline` });
  const connections = options.connections - pipelines.connections;
  const acquirer = new Acquirer({ ...options, connections, isPipelined });
  return {
    acquirer,
    pipelines,
    stats: () => addStats(acquirer.stats(), pipelines.stats()),
    countChanges: (changes) => {
      acquirer.countChanges(changes);
      pipelines.countChanges(changes);
    },
    close: async (timeoutS) => {
      await Promise.all([acquirer.close(timeoutS), pipelines.close(timeoutS)]);
    },
  };
}

type NodePools = {
  /** The pool of the node that serves this queue; `undefined` if calls go through the coordinator. */
  readonly find: (queue: string) => Pool | undefined;
  readonly stats: () => PoolStats[];
  readonly countChanges: (changes: number) => void;
  readonly close: (timeoutS: number) => Promise<void>;
};

export type NodePoolsOptions = Omit<PoolOptions, "onUnreachable" | "onThere"> & {
  nodes: Nodes;
  /** Called once when the process can no longer connect to a node: its calls go through the coordinator. */
  onNodeUnavailable?: ((node: string, cause: unknown) => void) | undefined;
};

/** Above the time limit of a statement. */
const CLOSE_S = 60;
/** How often an unreachable node is tried again. Until then its calls go through the coordinator, without a wait. */
const RETRY_MS = 1000;

type NodePool = {
  pool: Pool;
  /** Whether calls may wait for a connection to the node. */
  isReachable: (queue: string) => boolean;
};

/** `connections` is the max per node; `url` is the coordinator's. */
export function openNodePools(options: NodePoolsOptions): NodePools {
  const pools = new Map<NodeEntry, NodePool>();
  let seen: ReadonlySet<NodeEntry> = new Set();
  const closeRemoved = (): void => {
    const entries = options.nodes.entries();
    if (entries === seen) return;
    seen = entries;
    for (const [entry, { pool }] of pools)
      if (!entries.has(entry)) {
        pools.delete(entry);
        void pool.close(CLOSE_S);
      }
  };
  return {
    find: (queue) => {
      closeRemoved();
      const entry = options.nodes.findEntry(queue);
      if (entry === undefined) return undefined;
      const nodePool = pools.get(entry) ?? openNodePool(options, entry);
      pools.set(entry, nodePool);
      return nodePool.isReachable(queue) ? nodePool.pool : undefined;
    },
    stats: () => [...pools.values()].map(({ pool }) => pool.stats()),
    countChanges: (changes) => {
      for (const { pool } of pools.values()) pool.countChanges(changes);
    },
    close: async (timeoutS) => {
      await Promise.all([...pools.values()].map(({ pool }) => pool.close(timeoutS)));
    },
  };
}

function openNodePool(
  { nodes, onNodeUnavailable, ...options }: NodePoolsOptions,
  entry: NodeEntry,
): NodePool {
  const { host, port, system } = entry;
  let isReported = false;
  let retryAt: number | undefined;
  const pool = openPool({
    ...options,
    url: toNodeUrl(options.url, entry),
    system,
    // All apps in this pool have the same node, so a share per node would only waste connections.
    nodes: { ...nodes, find: () => undefined },
    onUnreachable: (cause) => {
      if (!isReported) onNodeUnavailable?.(`${host}:${port}`, cause);
      isReported = true;
      // Exclusive connections can still work if the node rejects only the connections for pipelining.
      if (pool.stats().open === 0) retryAt = performance.now() + RETRY_MS;
    },
    onThere: () => {
      isReported = false;
      retryAt = undefined;
    },
  });
  const retry = async (queue: string): Promise<void> => {
    const connection = await pool.acquirer.acquire(queue);
    pool.acquirer.release({ queue }, connection, false);
  };
  return {
    pool,
    isReachable: (queue) => {
      if (retryAt === undefined) return true;
      if (performance.now() >= retryAt) {
        retryAt = performance.now() + RETRY_MS;
        // The pool reports the result.
        retry(queue).catch(() => undefined);
      }
      return false;
    },
  };
}

/** Why this process cannot connect to a node; `undefined` if it can. `url` is the coordinator's. */
export async function findNodeFailure(url: string, entry: NodeEntry): Promise<unknown> {
  const { system } = entry;
  try {
    const name = "rowhouse doctor";
    (await openConnection({ url: toNodeUrl(url, entry), system, prepare: false, name })).end();
    return undefined;
  } catch (error) {
    return error;
  }
}

function toNodeUrl(coordinatorUrl: string, { host, port }: NodeEntry): string {
  const url = new URL(coordinatorUrl);
  url.hostname = host.includes(":") ? `[${host}]` : host;
  url.port = String(port);
  return url.href;
}
