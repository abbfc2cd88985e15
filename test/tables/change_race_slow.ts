/**
 * Two simultaneous explicit changes: the second change runs completely between two statements of the first, at each position. The
 * first then succeeds or is rejected with 409, and the database matches its record. A reduced run interrupts each pair at every
 * second position, from the first or the second in turn.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Database } from "../../src/db/mod.ts";
import { Problem } from "../../src/problem.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { type Change, readDrift } from "../../src/tables/mod.ts";
import { freshName } from "../support/push.ts";
import { applyChange } from "../support/push_steps.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { isFull } from "../support/tier.ts";

let service: TestService;
// A change and readDrift() check all tables of the database, and each run creates one.
beforeEach(async () => {
  service = await openTestService();
});
afterEach(() => service.close());

const log = () => undefined;
const OPTIONS = { dryRun: false };

/** The pool, with `run` before its nth call. */
function interrupt(admin: Database, nth: number, run: () => Promise<void>) {
  const calls = { count: 0 };
  const before = async () => {
    if (calls.count++ === nth) await run();
  };
  const interrupted: Database = {
    ...admin,
    query: async (...call) => {
      await before();
      return await admin.query(...call);
    },
    bytes: async (...call) => {
      await before();
      return await admin.bytes(...call);
    },
    message: async (...call) => {
      await before();
      return await admin.message(...call);
    },
  };
  return { admin: interrupted, calls };
}

const rename =
  (to: string) =>
  (table: string): Change => ({ ...{ kind: "rename_column", table, column: "a", to } });
const renameTable = (table: string): Change => ({ kind: "rename_table", table, to: `${table}x` });
const drop = (table: string): Change => ({ kind: "drop_column", table, column: "a" });
const dropTable = (table: string): Change => ({ kind: "drop_table", table });
const dropValue = (table: string): Change => ({
  ...{ kind: "drop_value", table, column: "state", value: "done" },
});
const retype =
  (kind: "number" | "string" | "decimal") =>
  (table: string): Change => ({ ...{ kind: "retype_column", table, column: "a", type: { kind } } });

type Made = (table: string) => Change;
const retypeToNumber = retype("number");
const PAIRS: { name: string; first: Made; second: Made }[] = [
  { name: "rename and rename", first: rename("aa"), second: rename("ab") },
  { name: "rename and drop", first: rename("aa"), second: drop },
  { name: "rename and drop of the table", first: rename("aa"), second: dropTable },
  { name: "drop and rename of the table", first: drop, second: renameTable },
  { name: "drop and retype", first: drop, second: retype("number") },
  { name: "drop of a value and the same", first: dropValue, second: dropValue },
  { name: "retype and the same", first: retypeToNumber, second: retypeToNumber },
  { name: "retype and its cancel", first: retype("number"), second: retype("string") },
  { name: "retype and another", first: retype("number"), second: retype("decimal") },
  { name: "retype and drop", first: retype("number"), second: drop },
  { name: "retype and rename", first: retype("number"), second: rename("aa") },
  { name: "retype and rename of the table", first: retype("number"), second: renameTable },
];

/** Returns the state of a change: its status, or the code of its rejection. */
async function readEnd(change: ReturnType<typeof applyChange>): Promise<string> {
  try {
    const { status, deferred } = await change;
    await deferred;
    return status;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    expect([error.status, error.message]).toEqual([409, expect.any(String)]);
    return error.code;
  }
}

async function runPair(app: TestApp, { first, second }: (typeof PAIRS)[number], nth: number) {
  const table = freshName();
  const schema = defineSchema({
    [table]: { a: t.string(), state: t.enum(["open", "done"]).default("open") },
  });
  await service.pushSchema(app, schema);
  await service.call(app, `/v1/data/db/${table}`, {
    method: "POST",
    json: [{ a: "1" }, { a: "2" }],
  });
  const ends: string[] = [];
  const { admin, calls } = interrupt(service.pushing, nth, async () => {
    const change = second(table);
    ends.push(
      await readEnd(
        applyChange({ admin: service.pushing, log }, { app, change, options: OPTIONS }),
      ),
    );
  });
  const change = first(table);
  ends.push(await readEnd(applyChange({ admin, log }, { app, change, options: OPTIONS })));
  return { ends, isAfter: calls.count <= nth };
}

/** Returns the number of rows of the app's table; `undefined` if it was dropped. */
async function countRows(app: TestApp): Promise<number | undefined> {
  const { json } = await service.call(app, "/v1/data/schema");
  const [table] = (json as { tables: { name: string }[] }).tables;
  if (table === undefined) return undefined;
  const list = await service.call(app, `/v1/data/db/${table.name}`);
  return (list.json as { rows: unknown[] }).rows.length;
}

const STEP = isFull() ? 1 : 2;

test.each(PAIRS.map((pair, index) => ({ ...pair, start: index % STEP })))(
  "$name",
  async ({ start, ...pair }) => {
    for (let nth = start, isAfter = false; !isAfter; nth += STEP) {
      const app = await service.makeApp();
      const run = await runPair(app, pair, nth);
      isAfter = run.isAfter;
      const isDone = expect.stringMatching(/^(applied|unchanged)$/);
      // The second of two equal requests has nothing to do, and is not rejected.
      const isSame = pair.second === pair.first;
      const ends = isSame ? run.ends.map(() => isDone) : expect.arrayContaining([isDone]);
      expect([nth, run.ends]).toEqual([nth, ends]);
      expect([nth, await readDrift(service.service.admin)]).toEqual([nth, []]);
      if (pair.second !== dropTable) expect([nth, await countRows(app)]).toEqual([nth, 2]);
    }
  },
);
