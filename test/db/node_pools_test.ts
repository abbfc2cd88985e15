/**
 * Calls that are sent directly to a node of a distributed database. Here, the node is the coordinator itself or a closed
 * port.
 */
import { afterEach, expect, test } from "bun:test";
import { makeNodeMap } from "../../src/db/citus/nodes.ts";
import { type Database, openDatabase, readRows, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { clusterUrls, withDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";

const url = clusterUrls()?.admin ?? "";
const { hostname: host, port } = new URL(url);
const APP = crypto.randomUUID();
const EVERYWHERE = { name: "node", ranges: [[-(2 ** 31), 2 ** 31 - 1] as const] };
const CLOSED_PORT = 1;

const system = await withDatabase(url, async (admin) => {
  const [row] = await readRows<{ system: string }>(
    admin,
    "select system_identifier::text as system from pg_control_system()",
  );
  return row?.system ?? "";
});

let db: Database;
let unavailable: string[];
afterEach(() => db.close());

function open(entry: { host?: string; port?: number; system?: string } = {}) {
  const nodes = makeNodeMap();
  nodes.update([EVERYWHERE]);
  nodes.admit("node", { host, port: Number(port), system, ...entry });
  unavailable = [];
  db = openDatabase({
    ...{ url, nodes, connections: 1, nodeConnections: 1, prepare: true, name: "rowhouse test" },
    onNodeUnavailable: (node) => unavailable.push(node),
  });
  return nodes;
}

/** Returns the server process that runs a call. Each connection has a different process. */
async function findProcess(call: { queue: string; isOfApp?: boolean }): Promise<number> {
  const [row] = await db.query<{ pid: number }>("select pg_backend_pid() as pid", [], {
    retry: "safe",
    ...call,
  });
  return row?.pid ?? 0;
}

test("only calls of an app's functions are sent directly to the app's node", async () => {
  open();
  const coordinator = await findProcess({ queue: SERVICE_QUEUE });

  const node = await findProcess({ queue: APP, isOfApp: true });

  expect(node).not.toBe(coordinator);
  expect(await findProcess({ queue: APP, isOfApp: true })).toBe(node);
  expect(await findProcess({ queue: APP })).toBe(coordinator);
  expect(db.stats()).toMatchObject({ open: 2, busy: 0 });
});

test.each([
  { name: "does not listen", entry: { port: CLOSED_PORT } },
  { name: "is a different server", entry: { system: "1" } },
])("calls go through the coordinator if the node $name", async ({ entry }) => {
  open(entry);
  const coordinator = await findProcess({ queue: SERVICE_QUEUE });

  const processes = [
    await findProcess({ queue: APP, isOfApp: true }),
    await findProcess({ queue: APP, isOfApp: true }),
  ];

  expect(processes).toEqual([coordinator, coordinator]);
  expect(unavailable).toEqual([`${host}:${entry.port ?? port}`]);
});

test("no call waits for an unreachable node, and calls return to a recovered node", async () => {
  await using proxy = await openPostgresProxy();
  const node = new URL(proxy.toUrl(url));
  proxy.freeze();
  open({ host: node.hostname, port: Number(node.port) });
  const coordinator = await findProcess({ queue: SERVICE_QUEUE });
  const first = [1, 2, 3].map(() => findProcess({ queue: APP, isOfApp: true }));
  // The limits of the wait and of the connection attempt expire together.
  await Bun.sleep(2900);
  Bun.sleepSync(300);
  expect(await Promise.all(first)).toEqual([coordinator, coordinator, coordinator]);
  const attempts = proxy.connections();

  await eventually(async () => {
    expect(await findProcess({ queue: APP, isOfApp: true })).toBe(coordinator);
    return proxy.connections() > attempts;
  });
  // The connection attempt continues.
  expect(db.stats()).toMatchObject({ open: 1, connecting: 1 });

  await proxy.heal();
  await eventually(async () => (await findProcess({ queue: APP, isOfApp: true })) !== coordinator);
  expect(unavailable).toEqual([node.host]);
});

test("connections to a node that has left the cluster are closed", async () => {
  const nodes = open();
  const coordinator = await findProcess({ queue: SERVICE_QUEUE });
  await findProcess({ queue: APP, isOfApp: true });

  nodes.update([]);

  expect(await findProcess({ queue: APP, isOfApp: true })).toBe(coordinator);
  await eventually(() => db.stats().open === 1);
});
