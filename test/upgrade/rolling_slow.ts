/**
 * An upgrade under load: each earlier version serves, the working tree migrates its database, and then replaces its workers one by
 * one. No request fails, and every acknowledged write is stored; the earlier processes also serve after all tables have got the policy
 * of `rowhouse_reader`. A full run does it with the newest version on every server and in every shape. With `TEST_ROWS=1000000`, the
 * table of the load is large.
 */
import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { findUnread } from "../../src/tables/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { PASSWORD } from "../support/people.ts";
import { definitionOf } from "../support/service.ts";
import { isFull } from "../support/tier.ts";
import { migrateAll } from "./database.ts";
import { readContents } from "./frozen.ts";
import { type Load, send, startLoad } from "./load.ts";
import { PREVIOUS, VERSIONS } from "./packed.ts";
import { replaceProgram, type Serving, type Shape, startServing } from "./serving.ts";
import { isInstalled, openStage, SERVERS, type Stage } from "./stage.ts";

const REQUESTS = isFull() ? 20_000 : 2_000;
const MORE_ROWS = Number(process.env["TEST_ROWS"] ?? 0);
const SLICE = 50_000;
const TIMEOUT_MS = 900_000;
const TABLE = "pages";
const SHAPES: readonly Shape[] = ["one", "split"];
const COMBINATIONS = SERVERS.flatMap((server) => SHAPES.map((shape) => ({ server, shape })))
  .flatMap((where) => VERSIONS.map((version) => ({ ...where, version })))
  .filter(({ server, shape, version }) => {
    const [isPlain, isNewest] = [server === "18" && shape === "split", version === PREVIOUS];
    return isInstalled[server] && (isPlain || (isFull() && isNewest));
  });

describe.each(COMBINATIONS)(
  "an upgrade of $version on $server, $shape",
  ({ version, server, shape }) => {
    test(
      "fails no request and loses no row",
      async () => {
        const stage = await openStage(version, server);
        try {
          await upgrade(stage, shape);
        } finally {
          await stage.close();
        }
      },
      TIMEOUT_MS,
    );
  },
);

async function upgrade(stage: Stage, shape: Shape): Promise<void> {
  const { program, addresses, frozen } = stage;
  const { keys, people, sessions } = frozen.world;
  if (MORE_ROWS > 0) await addRows(stage);
  const before = await readRows(stage);
  const serving = await startServing({ program, addresses, shape, workers: 2 });
  try {
    const load = await startLoad({
      ...{ url: serving.url, key: keys.wiki, table: TABLE },
      ...{ callers: 12, seed: 20_261_126, pauseMs: isFull() ? 0 : 40 },
      person: { email: people.password, password: PASSWORD, slug: "wiki" },
      administrator: sessions.administrator,
    });
    try {
      await reach(load, 0.2);
      replaceProgram(program);
      const pushing = startPushing(serving, keys.diverged);
      const startedAt = performance.now();
      await migrateAll(addresses, program);
      console.log(`migrate: ${Math.round(performance.now() - startedAt)} ms`);
      expect(await withDatabase(addresses.admin, findUnread)).toEqual([]);
      await reach(load, 0.4);
      await serving.reload();
      await reach(load, 1);
      const pushes = await pushing.stop();
      expect(pushes.failures).toEqual([]);
      expect(pushes.done).toBeGreaterThan(0);
    } finally {
      await load.stop();
    }
    const { failures, rows, deleted } = load;
    console.log(`${load.count()} requests, ${load.resets()} connections reset:`, load.counts);
    expect(failures).toEqual([]);
    const stored = await readRows(stage);
    expect([...rows].filter(([id, title]) => stored.get(id) !== title)).toEqual([]);
    expect([...deleted].filter((id) => stored.has(id))).toEqual([]);
    expect([...before].filter(([id, title]) => stored.get(id) !== title)).toEqual([]);
    expect([...stored.keys()].filter((id) => !rows.has(id) && !before.has(id))).toEqual([]);
  } finally {
    await serving.stop();
  }
  expect(serving.output()).not.toMatch(/"level":"error"/);
}

async function addRows({ addresses }: Stage): Promise<void> {
  await withDatabase(addresses.admin, async (admin) => {
    for (let first = 0; first < MORE_ROWS; first += SLICE)
      await admin.message(`insert into data.${TABLE} (app_id, id, title, slug, rank, price)
        select apps.id, gen_random_uuid(), 'Row ' || n, 'row-' || n, n % 100, n / 100.0
        from rowhouse.apps, generate_series(${first + 1}, ${first + SLICE}) as n where slug = 'wiki'`);
    await admin.message(`analyze data.${TABLE}`);
  });
}

/** Waits for a share of the requests. */
async function reach(load: Load, share: number): Promise<void> {
  while (load.count() < REQUESTS * share && load.failures.length < 20) await Bun.sleep(20);
}

/** The titles of the load's table, by id. */
async function readRows({ addresses }: Stage): Promise<Map<string, string>> {
  const only = { [`data.${TABLE}`]: { columns: ["id", "title"], rows: [] } };
  const contents = await withDatabase(addresses.admin, (admin) => readContents(admin, only));
  const rows = contents[`data.${TABLE}`]?.rows ?? [];
  return new Map(rows.map((row) => [row.slice(1, 37), row.slice(38, -1).replace(/^"|"$/g, "")]));
}

/** Pushes a schema that grows, again and again, until stopped: each push succeeds, or must wait for another. */
function startPushing({ url }: Serving, key: string) {
  const failures: string[] = [];
  let done = 0;
  let isRunning = true;
  const pushing = (async () => {
    const columns: Record<string, unknown> = { title: t.string(), note: t.string().index() };
    while (isRunning) {
      const schema = defineSchema({
        notes: { ...columns, [`added_${done}`]: t.string() } as never,
      });
      const steps = [{ kind: "define", definition: definitionOf(schema) }];
      const sent = { method: "POST", json: { steps } };
      const answer = await send({ url, key }, "/v1/data/schema", sent, () => undefined).catch(
        (error: unknown) => ({ status: 0, text: String(error) }),
      );
      if (answer.status === 200) columns[`added_${done++}`] = t.string();
      else if (!answer.text.includes('"push_busy"')) failures.push(answer.text);
      await Bun.sleep(200);
    }
  })();
  return {
    stop: async () => {
      isRunning = false;
      await pushing;
      return { done, failures };
    },
  };
}
