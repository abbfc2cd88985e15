/** A node added to a cluster blocks no request, and gets rows only after `migrate` and a move. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openDatabase, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { makeProject, runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const PATH = "/v1/data/db/grown";

let service: TestService;
let app: TestApp;
beforeAll(async () => {
  service = await openTestService({ service: { checkIntervalMs: 50 } });
  app = await service.makeApp(defineSchema({ grown: { title: t.string() } }));
});
afterAll(() => service.close());

type Node = { host: string; port: number };

async function ask<Row>(text: string, values: (string | number)[] = []): Promise<Row[]> {
  return await service.service.admin.query<Row>(text, values, {
    retry: "unsafe",
    queue: SERVICE_QUEUE,
  });
}

/** Removes the last node from the cluster, and creates its database again, empty. */
async function renewNode(): Promise<Node> {
  const [node] = await ask<Node>(
    "select nodename as host, nodeport as port from pg_dist_node where groupid <> 0 order by groupid desc limit 1",
  );
  if (node === undefined) throw new Error("The cluster has no worker");
  await ask("select citus_drain_node($1, $2, 'block_writes')", [node.host, node.port]);
  await ask("call citus_cleanup_orphaned_resources()");
  await ask("select citus_remove_node($1, $2)", [node.host, node.port]);
  const { name } = service.database;
  await runAt(node, "postgres", `drop database ${name} with (force)`);
  await runAt(node, "postgres", `create database ${name}`);
  await runAt(node, name, "create extension citus");
  return node;
}

async function runAt({ host, port }: Node, database: string, text: string): Promise<void> {
  const url = new URL(service.database.adminUrl);
  [url.hostname, url.port, url.pathname] = [host, String(port), `/${database}`];
  const root = openDatabase({ url: url.href, connections: 1, prepare: false, name: "test" });
  await root.message(text);
  await root.close();
}

test("a new node blocks no request, and an app can move to it after migrate", async () => {
  await service.call(app, PATH, { method: "POST", json: { title: "first" } });
  const project = makeProject();
  const env = { ADMIN_DATABASE_URL: service.database.adminUrl };
  const check = makeIsolationCheck(service.service.db);
  const { host, port } = await renewNode();

  const name = `${host}:${port}`;
  await ask("select citus_add_node($1, $2)", [host, port]);
  expect(await check()).toMatchObject({ issues: [], ofNodes: {}, added: [name], silent: [] });
  // The rebalance runs before and after the service disables shards on the node.
  const mayHaveRows = async () => {
    const [node] = await ask<{ may: boolean }>(
      "select shouldhaveshards as may from pg_dist_node where nodeport = $1",
      [port],
    );
    return node?.may;
  };
  await ask("select rebalance_table_shards(shard_transfer_mode := 'block_writes')");
  await eventually(async () => (await mayHaveRows()) === false);
  await ask("select rebalance_table_shards(shard_transfer_mode := 'block_writes')");
  const [placed] = await ask<{ count: number }>(
    "select count(*)::int4 as count from citus_shards where nodeport = $1 and table_name = 'data.grown'::regclass",
    [port],
  );
  expect(placed?.count).toBe(0);
  expect((await service.call(app, PATH)).status).toBe(200);
  const command = ["admin", "move-app", app.slug, "--to", `${host}:${port}`];
  const early = await runCommand([...command, "--json"], { ...project, env });
  expect([early.code, JSON.parse(early.out).details]).toEqual([
    1,
    [
      {
        path: "/to",
        message: expect.stringMatching(
          /^is not set up for rows: run rowhouse migrate first \(.*temporary tables.*execute functions.*functions created there/,
        ),
      },
    ],
  ]);

  expect(await runCommand(["migrate"], { ...project, env })).toMatchObject({ code: 0 });
  expect(await mayHaveRows()).toBe(true);
  expect(await runCommand(command, { ...project, env })).toMatchObject({ code: 0 });
  expect(await check()).toMatchObject({ issues: [], ofNodes: {}, added: [], silent: [] });
  expect(await service.call(app, PATH)).toMatchObject({
    status: 200,
    json: { rows: [{ title: "first" }] },
  });
  project.remove();
});
