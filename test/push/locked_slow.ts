/** Requests that go on while a push changes the tables they read, or others: compared with how long the push takes. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { readDrift } from "../../src/push/mod.ts";
import { freshName, postSchema, readMigrations } from "../support/push.ts";
import {
  openTestService,
  type TestApp,
  type TestResponse,
  type TestService,
} from "../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

async function time<Result>(task: Promise<Result>): Promise<{ result: Result; ms: number }> {
  const startedAt = performance.now();
  const result = await task;
  return { result, ms: performance.now() - startedAt };
}

/** Makes each `alter table` take long, so that a push that has a table locked meanwhile shows. */
const SLOW_ALTERS = `create function public.slow_alters() returns event_trigger language plpgsql as $$
begin perform pg_catalog.pg_sleep(0.1); end $$;
create event trigger slow_alters on ddl_command_start when tag in ('ALTER TABLE') execute function public.slow_alters()`;
const NO_SLOW_ALTERS = "drop event trigger slow_alters; drop function public.slow_alters()";

/** How long a push took, and the longest read of a table by another app meanwhile. */
async function pushAndRead(push: () => Promise<TestResponse>, reader: TestApp, name: string) {
  const waits: number[] = [];
  let isOver = false;
  const read = async () => {
    while (!isOver) {
      const { result, ms } = await time(service.call(reader, `/v1/data/db/${name}`));
      expect(result.status).toBe(200);
      waits.push(ms);
    }
  };
  await service.service.admin.message(SLOW_ALTERS);
  const reading = read();
  const { result, ms } = await time(push()).finally(async () => {
    isOver = true;
    await reading;
    await service.service.admin.message(NO_SLOW_ALTERS);
  });
  expect(result.json).toMatchObject({ status: "applied" });
  return { pushMs: ms, longestMs: Math.max(...waits) };
}

test("a table that a push only refers to can be read all the while", async () => {
  const [shared, fresh] = [freshName(), freshName()];
  const target = { title: t.string() };
  const owner = await service.makeApp(defineSchema({ [shared]: target }));
  const app = await service.makeApp();
  const references = { a: t.ref(shared), b: t.ref(shared), c: t.ref(shared), d: t.ref(shared) };
  const schema = defineSchema({ [shared]: target, [fresh]: { ...references, e: t.ref(shared) } });

  const { pushMs, longestMs } = await pushAndRead(
    () => postSchema(service, app, schema),
    owner,
    shared,
  );

  expect(longestMs).toBeLessThan(pushMs / 3);
});

test("a shared table is locked while it changes, not while other tables are created", async () => {
  const [shared, prefix] = [freshName(), freshName()];
  const target = { title: t.string() };
  const owner = await service.makeApp(defineSchema({ [shared]: target }));
  const reader = await service.makeApp(defineSchema({ [shared]: target }));
  const created = Object.fromEntries(
    Array.from({ length: 10 }, (_, n) => [
      `${prefix}_${n}`,
      { title: t.string().unique(), note: t.string().index(), next: t.ref(`${prefix}_${9 - n}`) },
    ]),
  );
  const schema = defineSchema({ [shared]: { ...target, note: t.string() }, ...created });

  const { pushMs, longestMs } = await pushAndRead(
    () => postSchema(service, owner, schema),
    reader,
    shared,
  );

  expect(longestMs).toBeLessThan(pushMs / 3);
  // The migration holds the statements in the order in which they ran.
  const [, migration] = await readMigrations(service, owner);
  const kinds = migration?.sql.match(/^create table|^alter table \S+ add column/gm) ?? [];
  expect(kinds.length).toBe(11);
  expect(kinds.at(-1)).toStartWith("alter table");
  expect(await readDrift(service.service.admin)).toEqual([]);
});
