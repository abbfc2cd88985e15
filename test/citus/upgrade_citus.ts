/**
 * A rolling upgrade of a cluster: processes of 0.1 and of the working tree serve it while `migrate` runs. No request fails, and no row is
 * lost. The tables of 0.1 get the policy of `rowhouse_reader` once its last process has ended.
 */
import { describe, expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { findUnread } from "../../src/tables/mod.ts";
import { addWorkers } from "../support/citus.ts";
import { withDatabase, withRoot } from "../support/cluster.ts";
import { runCommand } from "../support/command.ts";
import { callService, definitionOf, type TestApp } from "../support/service.ts";
import {
  type Addresses,
  createDatabase,
  DATABASE,
  finishDatabase,
  toAddresses,
  toOperator,
} from "../upgrade/database.ts";
import { OLDEST, unpackProgram } from "../upgrade/packed.ts";
import { replaceProgram, startServing } from "../upgrade/serving.ts";
import { CITUS_BIN, startCitus } from "./cluster.ts";
import { compareRecord, STORED_ROWS, type StoredRow, startLoad, TABLE } from "./failure_load.ts";

const SCHEMA = defineSchema({
  [TABLE]: { title: t.string().required(), count: t.number().required() },
});
const APPS = 4;
const CALLERS_PER_APP = 1;
const TIMEOUT_MS = 600_000;
const bin = process.env[CITUS_BIN];

describe.each([
  { mode: "through the coordinator", nodePool: "0" },
  { mode: "straight to the nodes", nodePool: "4" },
])(`an upgrade of ${OLDEST}, calls $mode`, ({ nodePool }) => {
  test.skipIf(bin === undefined)(
    "fails no request and loses no row",
    async () => {
      const cluster = await startCitus(bin ?? "");
      const { folder: program, remove } = await unpackProgram(OLDEST);
      try {
        const addresses = toAddresses(cluster.url, { preview: "filters" });
        await createDatabase(cluster.url);
        await addWorkers(cluster.url, DATABASE, withRoot);
        await run(addresses, program, ["migrate", "--citus", "--shards", "4"]);
        await finishDatabase(addresses, program);
        await upgrade(addresses, program, nodePool);
      } finally {
        remove();
        await cluster.stop();
      }
    },
    TIMEOUT_MS,
  );
});

async function upgrade(addresses: Addresses, program: string, nodePool: string): Promise<void> {
  const serving = await startServing({
    ...{ program, addresses, shape: "one", workers: 2 },
    settings: { CITUS_NODE_POOL: nodePool },
  });
  try {
    const apps = await makeApps(addresses, { program, url: serving.url });
    const findOne = (app: TestApp) =>
      callService({ url: serving.url }, app, `/v1/data/db/${TABLE}?count=eq.0&limit=1`);
    const load = startLoad(serving.url, apps, CALLERS_PER_APP);
    try {
      await Bun.sleep(2000);
      replaceProgram(program);
      await run(addresses, program, ["migrate"]);
      expect(await withDatabase(addresses.admin, findUnread)).toEqual([TABLE]);
      await Bun.sleep(2000);
      await serving.reload();
      // Conditions wait for the second migrate.
      for (const app of apps)
        expect(await findOne(app)).toMatchObject({
          status: 503,
          json: { message: expect.stringContaining("must run rowhouse migrate") },
        });
      await Bun.sleep(2000);
      await run(addresses, program, ["migrate"]);
      expect(await withDatabase(addresses.admin, findUnread)).toEqual([]);
      await Bun.sleep(12_000);
    } finally {
      await load.stop();
    }
    const { ends } = load.record;
    const failed = ends.filter(({ end }) => end !== "ok");
    const longest = Math.max(...ends.map(({ startedAt, endedAt }) => endedAt - startedAt));
    console.log(`${ends.length} calls, ${failed.length} failed, longest ${Math.round(longest)} ms`);
    expect(failed).toEqual([]);
    const rows = await withDatabase(addresses.admin, (admin) =>
      readRows<StoredRow>(admin, STORED_ROWS),
    );
    expect(compareRecord(load.record, rows)).toEqual({ wrong: [], lost: [], doubled: [] });
    for (const app of apps) expect((await findOne(app)).json).toMatchObject({ rows: [{}] });
  } finally {
    await serving.stop();
  }
  expect(serving.output()).not.toMatch(/"level":"error"/);
}

async function run(addresses: Addresses, program: string, argv: string[]): Promise<string> {
  const env = toOperator(addresses);
  const { code, out, err } = await runCommand(argv, { folder: program, program, env });
  if (code !== 0) throw new Error(`${argv.join(" ")}: ${out}${err}`);
  return out;
}

async function makeApps(
  addresses: Addresses,
  { program, url }: { program: string; url: string },
): Promise<TestApp[]> {
  const apps: TestApp[] = [];
  for (let n = 0; n < APPS; n++) {
    const slug = `app-${n}`;
    const admin = async (line: string) =>
      JSON.parse(await run(addresses, program, ["admin", ...line.split(" "), "--json"]));
    const { id } = await admin(`create-app ${slug}`);
    const { key } = await admin(
      `issue-key ${slug} --name server --scope data:read,data:write,schema:read,schema:push`,
    );
    const app = { id, slug, key } as TestApp;
    const json = { steps: [{ kind: "define", definition: definitionOf(SCHEMA) }] };
    const pushed = await callService({ url }, app, "/v1/data/schema", { method: "POST", json });
    expect(pushed).toMatchObject({ status: 200 });
    apps.push(app);
  }
  return apps;
}
