/**
 * Nodes fail under load: killed and started, frozen, restarted. Apps are moved. No caller gets a wrong response, acknowledged
 * writes happen exactly once, and only callers of the failing node's apps wait or are rejected.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { EXECUTION_LIMIT_MS, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { Problem } from "../../src/problem.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { withDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import {
  compareRecord,
  type Load,
  type LoadRecord,
  STORED_ROWS,
  type StoredRow,
  startLoad,
  TABLE,
} from "./failure_load.ts";
import { findWorkers, freeze, kill, type Node, restart, thaw } from "./node_control.ts";

const COLUMNS = { title: t.string().required(), count: t.number().required() };
const SCHEMA = defineSchema({ [TABLE]: COLUMNS });
const CONNECTIONS = 10;
const CALLERS_PER_APP = 3;
/** Apps on the failing node, and on the others. Together they can use all connections of the pool. */
const APPS_EACH = 4;
/** The node resumes just after the calls that it delayed were canceled. The node does not know about the cancellation. */
const FROZEN_MS = EXECUTION_LIMIT_MS + 600;

const found = await withDatabase(citusUrl() ?? "", findWorkers);
const rejection = "rejection" in found ? `not run: ${found.rejection}` : undefined;
const testFailure = test.skipIf(rejection !== undefined);
const named = (name: string) => (rejection === undefined ? name : `${name} (${rejection})`);

let service: TestService;
let node: Node;
let its: TestApp[];
let others: TestApp[];
let totals: { calls: number; acknowledged: number; wrong: number; lost: number; doubled: number };

describe.each([
  { mode: "through the coordinator", nodeConnections: 0 },
  { mode: "straight to the nodes", nodeConnections: CONNECTIONS },
])("calls $mode:", ({ mode, nodeConnections }) => {
  beforeAll(async () => {
    if ("rejection" in found) return;
    totals = { calls: 0, acknowledged: 0, wrong: 0, lost: 0, doubled: 0 };
    service = await openTestService({ connections: CONNECTIONS, service: { nodeConnections } });
    ({ node, its, others } = await spreadApps(found.nodes));
  }, 120_000);
  afterAll(async () => {
    if ("rejection" in found) return;
    await service.close();
    const { calls, acknowledged, wrong, lost, doubled } = totals;
    console.log(
      `${mode}: ${calls} calls, ${acknowledged} rows acknowledged: ${wrong} wrong responses, ${lost} acknowledged writes lost, ${doubled} rows doubled`,
    );
  });

  testFailure(
    named("a killed node rejects only its own apps until it is started"),
    async () => {
      await runUnderLoad("killed", its, async () => {
        const { start } = kill(node);
        try {
          await Bun.sleep(3000);
          await expectPushRejected();
        } finally {
          await start();
        }
      });
    },
    180_000,
  );

  testFailure(
    named("a restarted node rejects only its own apps"),
    async () => {
      await runUnderLoad("restarted", its, () => restart(node));
    },
    180_000,
  );

  testFailure(
    named("a node frozen for longer than a call's time limit rejects only its own apps"),
    async () => {
      await runUnderLoad("frozen", its, async () => {
        freeze(node);
        try {
          await Bun.sleep(FROZEN_MS / 2);
          const rest = Bun.sleep(FROZEN_MS / 2).then(() => "the push waits");
          expect(await Promise.race([rest, expectPushRejected()])).toBeUndefined();
          await rest;
        } finally {
          thaw(node);
        }
      });
    },
    240_000,
  );

  testFailure(
    named("moves of apps to one node and back reject no app"),
    async () => {
      await runUnderLoad("moved", [], async () => {
        const [there] = its;
        for (const app of others.slice(0, 2)) await move(app, node.name);
        expect(await findNode(others[0] as TestApp)).toBe(await findNode(there as TestApp));
        await ask("select rebalance_table_shards(shard_transfer_mode := 'block_writes')");
      });
    },
    180_000,
  );
});

/** Creates apps until a node has enough of them, and the other nodes together too. */
async function spreadApps(nodes: readonly Node[]) {
  const byNode = new Map<string, TestApp[]>();
  for (let count = 0; count < 40; count++) {
    const app = await service.makeApp(SCHEMA);
    const name = await findNode(app);
    byNode.set(name, [...(byNode.get(name) ?? []), app]);
    const failing = nodes.find(({ name }) => (byNode.get(name)?.length ?? 0) >= APPS_EACH);
    const rest = [...byNode].flatMap(([name, apps]) => (name === failing?.name ? [] : apps));
    if (failing !== undefined && rest.length >= APPS_EACH) {
      const own = byNode.get(failing.name) ?? [];
      return { node: failing, its: own.slice(0, APPS_EACH), others: rest.slice(0, APPS_EACH) };
    }
  }
  throw new Error("No node has enough apps");
}

async function ask<Row>(text: string, values: (string | number)[] = []): Promise<Row[]> {
  const options = { retry: "unsafe", queue: SERVICE_QUEUE } as const;
  return await service.service.admin.query<Row>(text, values, options);
}

async function findNode(app: TestApp): Promise<string> {
  const [row] = await ask<{ name: string }>(
    `select nodename || ':' || nodeport as name from citus_shards where table_name = 'data.${TABLE}'::regclass
      and shardid = get_shard_id_for_distribution_column('data.${TABLE}', $1::text::uuid)`,
    [app.id],
  );
  return row?.name ?? "";
}

async function move(app: TestApp, to: string): Promise<void> {
  await ask(
    `select citus_move_shard_placement(shardid, nodename, nodeport, split_part($2, ':', 1), split_part($2, ':', 2)::int4, 'block_writes')
    from citus_shards where table_name = 'data.${TABLE}'::regclass and nodename || ':' || nodeport <> $2
      and shardid = get_shard_id_for_distribution_column('data.${TABLE}', $1::text::uuid)`,
    [app.id, to],
  );
}

async function expectPushRejected(): Promise<void> {
  const [app] = others;
  if (app === undefined) throw new Error("There is no app");
  const schema = defineSchema({ [TABLE]: { ...COLUMNS, more: t.string() } });
  const error = await service.pushSchema(app, schema).catch((rejected: unknown) => rejected);
  expect(error).toBeInstanceOf(Problem);
  expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining(node.name) });
}

/** Applies load before, during and after `fail`, and then checks the record. Callers of the apps `slow` can be rejected. */
async function runUnderLoad(name: string, slow: readonly TestApp[], fail: () => Promise<void>) {
  const apps = [...its, ...others];
  const load = startLoad(service.url, apps, CALLERS_PER_APP);
  try {
    await Bun.sleep(2000);
    await fail();
    await eventually(async () => (await Promise.all(apps.map(isServed))).every(Boolean));
    await Bun.sleep(2000);
  } finally {
    await load.stop();
  }
  const slowIds = new Set(slow.map(({ id }) => id));
  const isSlow = ({ app }: { app: string }) => slowIds.has(app);
  const { ends } = load.record;
  const [slowEnds, fastEnds] = [ends.filter(isSlow), ends.filter((end) => !isSlow(end))];
  if (slow.length > 0) console.log(`${name}: apps of the node: ${summarize(slowEnds)}`);
  console.log(`${name}: ${slow.length > 0 ? "other" : "all"} apps: ${summarize(fastEnds)}`);
  checkRecord(load, await readRows());
  expect([...new Set(fastEnds.map(({ end }) => end))]).toEqual(["ok"]);
  const allowed = ["ok", "unavailable", "unknown_outcome", "timeout", "overloaded", "rate_limited"];
  expect(slowEnds.filter(({ end }) => !allowed.includes(end))).toEqual([]);
}

async function isServed(app: TestApp): Promise<boolean> {
  return (await service.call(app, `/v1/data/db/${TABLE}?limit=1`)).status === 200;
}

function summarize(ends: LoadRecord["ends"]): string {
  const counts = new Map<string, number>();
  for (const { end } of ends) if (end !== "ok") counts.set(end, (counts.get(end) ?? 0) + 1);
  const errors = [...counts].map(([end, count]) => `${count} ${end}`);
  const waits = ends.map(({ startedAt, endedAt }) => endedAt - startedAt);
  const longest = waits.reduce((longestMs, ms) => Math.max(longestMs, ms), 0);
  return `${ends.length} calls, ${errors.length === 0 ? "0 errors" : errors.join(", ")}, longest wait ${(longest / 1000).toFixed(2)} s`;
}

function checkRecord({ record }: Load, rows: readonly StoredRow[]): void {
  const { wrong, lost, doubled } = compareRecord(record, rows);
  totals.calls += record.ends.length;
  totals.acknowledged += record.done.size;
  totals.wrong += wrong.length;
  totals.lost += lost.length;
  totals.doubled += doubled.length;
  expect({ wrong, lost, doubled }).toEqual({ wrong: [], lost: [], doubled: [] });
}

const readRows = () => ask<StoredRow>(STORED_ROWS);
