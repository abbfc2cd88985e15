/** Isolation on a cluster: an issue on a node stops the apps with rows on this node, and no other apps. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { makeNodeMap, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { eventually } from "../support/eventually.ts";
import { functionOf, signatureOf } from "../support/functions.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await openTestService({ service: { checkIntervalMs: 50 } });
  await service.makeApp(schema);
});
afterAll(() => service.close());

type Node = { name: string; host: string; port: number };

async function findNode(): Promise<Node> {
  const [node] = await service.service.admin.query<Node>(
    `select nodename || ':' || nodeport as name, nodename as host, nodeport as port from pg_dist_node
    where groupid <> 0 order by groupid limit 1`,
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  if (node === undefined) throw new Error("The cluster has no worker");
  return node;
}

/** Runs a statement on a node as superuser, and returns its value. */
async function runOn({ host, port }: Node, statement: string): Promise<string> {
  const [row] = await service.service.admin.query<{ success: boolean; result: string }>(
    "select success, result from master_run_on_worker(array[$1::text], array[$2::int4], array[$3::text], false)",
    [host, port, statement],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  if (row?.success !== true) throw new Error(row?.result ?? "no response");
  return row.result;
}

/** Changes a node, without propagation to other nodes. */
async function changeOn(node: Node, statement: string): Promise<void> {
  await runOn(
    node,
    `do $block$ begin
      perform set_config('citus.enable_ddl_propagation', 'off', true);
      perform set_config('citus.enable_manual_changes_to_shards', 'on', true);
      ${statement};
    end $block$`,
  );
}

const readShard = `select relname from pg_class where relnamespace = 'data'::regnamespace and relname ~ '^todos_[0-9]+$' order by 1 limit 1`;
const SIGNATURE = signatureOf(schema, "todos", "get");

/** Changes of one worker that break the isolation. SHARD is a table on the worker. */
const BREAKS = [
  {
    name: "disabled row security on one shard",
    change: "alter table data.SHARD disable row level security",
    repair: "alter table data.SHARD enable row level security",
    issue: "Table data.SHARD must have row security enabled and forced",
  },
  {
    name: "rows of a shard granted to public",
    change: "grant select on data.SHARD to public",
    repair: "revoke select on data.SHARD from public",
    issue: "Relation data.SHARD must be granted only to rowhouse_tenant, and only for rows",
  },
  {
    name: "another policy on one shard",
    change: "alter policy tenant on data.SHARD using (true)",
    repair: `alter policy tenant on data.SHARD using
      (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid)`,
    issue:
      "Table data.SHARD must have only the tenant policy, and one by which rowhouse_reader reads",
  },
  {
    name: "a foreign trigger on one shard",
    change:
      "create trigger spy before delete on data.SHARD for each row execute function pg_catalog.suppress_redundant_updates_trigger()",
    repair: "drop trigger spy on data.SHARD",
    issue: "Table data.SHARD must have no triggers but listeners, and no rules",
  },
  {
    name: "a function that public can execute on one node",
    change: `grant execute on function api.${SIGNATURE} to public`,
    repair: `revoke execute on function api.${SIGNATURE} from public`,
    issue: `Function api.${functionOf(schema, "todos", "get")} must be granted to the serving roles only`,
  },
  {
    name: "a tenant with the right to log in to one node",
    change: "alter role rowhouse_tenant login",
    repair: "alter role rowhouse_tenant nologin",
    issue: "Role rowhouse_tenant must exist, without SUPERUSER, BYPASSRLS and LOGIN",
  },
];

/** Creates apps until one is on this node and one is on another node. */
async function makeApps(node: Node): Promise<{ here: TestApp; elsewhere: TestApp }> {
  let here: TestApp | undefined;
  let elsewhere: TestApp | undefined;
  while (here === undefined || elsewhere === undefined) {
    const app = await service.makeApp(schema);
    const [placement] = await service.service.admin.query<{ name: string }>(
      `select nodename || ':' || nodeport as name from pg_dist_placement natural join pg_dist_node
      where shardid = get_shard_id_for_distribution_column('data.todos', $1::text::uuid)`,
      [app.id],
      { retry: "safe", queue: SERVICE_QUEUE },
    );
    if (placement?.name === node.name) here = app;
    else elsewhere = app;
  }
  return { here, elsewhere };
}

test.each(BREAKS)(
  "$name stops the node's apps until it is repaired",
  async ({ change, repair, issue }) => {
    const node = await findNode();
    const { here: app, elsewhere } = await makeApps(node);
    const shard = await runOn(node, readShard);
    const statement = (text: string) => text.replaceAll("SHARD", shard);
    const list = async () => (await service.call(app, "/v1/data/db/todos")).status;
    const check = makeIsolationCheck(service.service.db);
    expect(await list()).toBe(200);
    await changeOn(node, statement(change));
    expect(await check()).toMatchObject({
      issues: [],
      ofNodes: { [node.name]: [statement(issue)] },
      added: [],
      silent: [],
    });
    await eventually(async () => (await list()) === 503);
    expect((await service.call(elsewhere, "/v1/data/db/todos")).status).toBe(200);
    expect((await service.call(undefined, "/ready")).status).toBe(200);
    await changeOn(node, statement(repair));
    expect(await check()).toMatchObject({ issues: [], ofNodes: {}, added: [], silent: [] });
    await eventually(async () => (await list()) === 200);
  },
);

test("a node whose identifier the login cannot read is checked, and gets no direct calls", async () => {
  const node = await findNode();
  const { here, elsewhere } = await makeApps(node);
  const map = makeNodeMap();
  const right = "execute on function pg_catalog.pg_control_system()";
  await changeOn(node, `revoke ${right} from public`);

  const state = await makeIsolationCheck(service.service.db, map)();

  await changeOn(node, `grant ${right} to public`);
  expect(state).toMatchObject({ issues: [], ofNodes: {}, silent: [] });
  expect(map.findEntry(here.id)).toBeUndefined();
  expect(map.findEntry(elsewhere.id)).toMatchObject({ system: expect.stringMatching(/^\d+$/) });
});
