/**
 * A retype that runs twice at once, as after an interruption, while people write: every acknowledged write is in its row
 * afterwards. A reduced run has fewer rows and writes.
 */
import { expect, test } from "bun:test";
import { Problem } from "../../src/problem.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import type { Change } from "../../src/tables/mod.ts";
import { freshName } from "../support/push.ts";
import { applyChange } from "../support/push_steps.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";
import { isFull } from "../support/tier.ts";

const service = await share(openTestService());

const REPETITIONS = 6;
const WRITERS = 3;
const [ROWS, WRITES] = isFull() ? [21_000, 8000] : [3000, 1200];
/** Few, so that a row is written again between two statements of a retype. */
const WRITTEN_ROWS = 300;
const KINDS = ["string", "number"] as const;

type Kind = (typeof KINDS)[number];

async function createRows(app: TestApp, table: string): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < ROWS) {
    const json = Array.from({ length: 1000 }, () => ({ v: 0 }));
    const created = await service.call(app, `/v1/data/db/${table}`, { method: "POST", json });
    expect(created.status).toBe(201);
    ids.push(...(created.json as { rows: { id: string }[] }).rows.map(({ id }) => id));
  }
  return ids;
}

/** One run of a retype. An interrupted command runs it again. */
async function runUntilDone(app: TestApp, change: Change): Promise<void> {
  for (;;) {
    try {
      const deps = { admin: service.pushing, log: () => undefined };
      const { deferred } = await applyChange(deps, { app, change, options: { dryRun: false } });
      return await deferred;
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "push_busy") throw error;
      await Bun.sleep(5);
    }
  }
}

test("no acknowledged write is lost while a retype runs twice at once", async () => {
  const table = freshName();
  const app = await service.makeApp(defineSchema({ [table]: { v: t.number() } }));
  const ids = await createRows(app, table);
  const acknowledged = new Map<string, string>();
  let count = 0;
  let isRunning = false;
  let kind: Kind = "number";

  /** Rewrites its own rows, so that the last acknowledged value of a row is known. */
  async function write(writer: number, until: () => boolean): Promise<void> {
    for (let n = 0; !until(); n++) {
      const id = ids[((n % (WRITTEN_ROWS / WRITERS)) * WRITERS + writer) * 7] ?? "";
      const number = ++count;
      for (const as of [kind, ...KINDS]) {
        const json = { v: as === "string" ? String(number) : number };
        const path = `/v1/data/db/${table}/${id}`;
        const { status } = await service.call(app, path, { method: "PATCH", json });
        if (status === 200) acknowledged.set(id, String(number));
        // The column has the other type meanwhile.
        if (status !== 422) {
          expect(status).toBe(200);
          break;
        }
      }
    }
  }

  let writes = 0;
  for (let repetition = 0; repetition < REPETITIONS; repetition++) {
    const to = KINDS[repetition % 2] ?? "string";
    const change: Change = { kind: "retype_column", table, column: "v", type: { kind: to } };
    const goal = ((repetition + 1) * WRITES) / REPETITIONS;
    isRunning = true;
    const isOver = () => !isRunning && count >= goal;
    const writers = Array.from({ length: WRITERS }, (_, writer) => write(writer, isOver));
    const second = Bun.sleep(repetition * 15).then(() => runUntilDone(app, change));
    await Promise.all([runUntilDone(app, change), second]);
    isRunning = false;
    kind = to;
    await Promise.all(writers);
    writes = count;
    const stored = await service.service.admin.message<{ id: string; v: string }>(
      `select id::text, v::text from data."${table}"`,
    );
    const values = new Map(stored.map(({ id, v }) => [id, v]));
    const lost = [...acknowledged].filter(([id, value]) => values.get(id) !== value);
    expect([repetition, lost]).toEqual([repetition, []]);
    expect(values.size).toBe(ROWS);
  }
  expect(writes).toBeGreaterThanOrEqual(WRITES);
  console.log(`${writes} writes to ${acknowledged.size} of ${ROWS} rows`);
});
