/**
 * A `migrate` that is killed at random moments while an earlier version serves: its process by SIGKILL, or its session by an
 * administrator. Running it again completes it, with the same result, and the server answers all the time.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Database } from "../../src/db/mod.ts";
import { readRows } from "../../src/db/mod.ts";
import { type CatalogDump, dumpCatalog } from "../support/catalog_dump.ts";
import { withDatabase } from "../support/cluster.ts";
import { ROOT, startCommand } from "../support/command.ts";
import { PASSWORD } from "../support/people.ts";
import { makeRandom } from "../support/random.ts";
import { copyDatabase, endSessions } from "../support/template.ts";
import { countRuns, isFull } from "../support/tier.ts";
import { DATABASE, migrateAll, toOperator } from "./database.ts";
import { readContents } from "./frozen.ts";
import { startLoad } from "./load.ts";
import { OLDEST } from "./packed.ts";
import { startServing } from "./serving.ts";
import { openStage, type Stage } from "./stage.ts";

const KILLS = countRuns(20);
const MAX_ATTEMPTS = 5 * KILLS + 10;
const SEED = isFull() ? Date.now() : 20_261_126;
/** About the time of a whole run, on an idle machine. */
const MAX_DELAY_MS = 1500;
const ORIGINAL = "original";
/** Tables to which neither `migrate` nor the load writes. */
const LEFT_ALONE = ["rowhouse.api_keys", "rowhouse.migrations", "data.kinds", "data.orders"];

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(OLDEST, "18");
  await onCluster((root) => copyDatabase(root, { template: DATABASE, name: ORIGINAL }));
}, 300_000);
afterAll(() => stage.close());

test("is completed by running it again", async () => {
  const random = makeRandom(SEED);
  const run = { kills: 0, attempts: 0 };
  let wanted: CatalogDump | undefined;
  while (run.kills < KILLS && run.attempts < MAX_ATTEMPTS) {
    const dump = await upgrade(run, random);
    wanted ??= dump;
    expect(dump).toEqual(wanted);
  }
  console.log(`seed ${SEED}: ${run.kills} of ${run.attempts} runs were killed`);
  expect(run.kills).toBeGreaterThanOrEqual(KILLS);
}, 900_000);

type Run = { kills: number; attempts: number };

/** Upgrades a database under load, and kills each `migrate` until one is complete before it is killed. */
async function upgrade(run: Run, random: (below: number) => number): Promise<CatalogDump> {
  const { addresses, program, frozen } = stage;
  const { keys, people, sessions } = frozen.world;
  await onCluster(async (root) => {
    await endSessions(root, DATABASE);
    await root.message(`drop database ${DATABASE}`);
    await copyDatabase(root, { template: ORIGINAL, name: DATABASE });
  });
  const serving = await startServing({ program, addresses, shape: "one", workers: 1 });
  try {
    const load = await startLoad({
      ...{ url: serving.url, key: keys.wiki, table: "pages", callers: 3 },
      ...{ seed: SEED + run.attempts, pauseMs: 50 },
      person: { email: people.password, password: PASSWORD, slug: "wiki" },
      administrator: sessions.administrator,
    });
    try {
      const before = await withDatabase(addresses.admin, (admin) => readContents(admin));
      while (run.kills < KILLS && (await isKilled(run, random))) run.kills++;
      await migrateAll(addresses, ROOT);
      const after = await withDatabase(addresses.admin, (admin) => readContents(admin, before));
      for (const table of LEFT_ALONE) {
        expect(before[table]?.rows.length).toBeGreaterThan(0);
        expect([table, after[table]]).toEqual([table, before[table]]);
      }
    } finally {
      await load.stop();
    }
    expect(load.failures).toEqual([]);
    return await withDatabase(addresses.admin, dumpCatalog);
  } finally {
    await serving.stop();
  }
}

/** Starts `migrate`, and kills it at a random moment of its work. Returns whether it was not complete. */
async function isKilled(run: Run, random: (below: number) => number): Promise<boolean> {
  const { folder, addresses } = stage;
  const running = startCommand(["migrate"], { folder, env: toOperator(addresses) });
  let hasEnded = false;
  void running.ended.then(() => {
    hasEnded = true;
  });
  const killsProcess = run.attempts++ % 2 === 0;
  await withDatabase(addresses.admin, async (admin) => {
    while (!hasEnded && (await findSession(admin)) === undefined) await Bun.sleep(5);
    await Bun.sleep(random(MAX_DELAY_MS));
    const session = await findSession(admin);
    if (killsProcess) await running.kill("SIGKILL");
    else if (session !== undefined) await admin.message(`select pg_terminate_backend(${session})`);
  });
  return (await running.ended) !== 0;
}

/** The session of a command. */
async function findSession(admin: Database): Promise<number | undefined> {
  const [row] = await readRows<{ pid: number }>(
    admin,
    "select pid from pg_stat_activity where datname = $1 and application_name = 'rowhouse command'",
    [DATABASE],
  );
  return row?.pid;
}

async function onCluster<Result>(use: (root: Database) => Promise<Result>): Promise<Result> {
  const url = Object.assign(new URL(stage.addresses.admin), { pathname: "/postgres" });
  return await withDatabase(url.href, use);
}
