/** A table that a session holds locked stops pushes that change it, and nobody else. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { makeIsolationLook } from "../../src/catalog/mod.ts";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { readDrift } from "../../src/push/mod.ts";
import { makeProject, runHere, schemaText } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { whileDone, whileLocked } from "../support/held_lock.ts";
import { freshName, postSchema, readMigrations } from "../support/push.ts";
import {
  type Answer,
  openTestService,
  type TestApp,
  type TestService,
} from "../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

/** A lock is given up on long before a request's own limit. */
const QUICK_MS = 10_000;

async function time<Result>(task: Promise<Result>): Promise<{ result: Result; ms: number }> {
  const startedAt = performance.now();
  const result = await task;
  return { result, ms: performance.now() - startedAt };
}

test("a push to a locked table is busy soon, and other apps' pushes are not held up by several of them", async () => {
  const [held, free] = [freshName("held"), freshName("free")];
  const app = await service.makeApp(defineSchema({ [held]: { title: t.string() } }));
  const schema = defineSchema({ [free]: { title: t.string() } });
  const other = await service.makeApp(schema);

  await whileLocked(service.database.adminUrl, held, async () => {
    const wanted = defineSchema({ [held]: { title: t.string(), note: t.string() } });
    const pushes = [1, 2, 3, 4].map(() => time(postSchema(service, app, wanted)));
    await Bun.sleep(100);
    const unchanged = await time(postSchema(service, other, schema));
    const grown = defineSchema({ [free]: { title: t.string(), note: t.string() } });
    const applied = await time(postSchema(service, other, grown));

    expect(unchanged.result).toMatchObject({ status: 200, json: { status: "unchanged" } });
    expect(applied.result).toMatchObject({ status: 200, json: { status: "applied" } });
    expect(unchanged.ms).toBeLessThan(QUICK_MS / 2);
    for (const { result, ms } of await Promise.all(pushes)) {
      expect(result.status).toBe(409);
      expect(result.json).toMatchObject({ error: "push_busy" });
      expect(ms).toBeLessThan(QUICK_MS);
    }
  });
  const schemaAfter = defineSchema({ [held]: { title: t.string(), note: t.string() } });
  expect((await postSchema(service, app, schemaAfter)).json).toMatchObject({ status: "applied" });
});

test("an app that keeps the administrative pool busy waits for itself, and no other app for it", async () => {
  const name = freshName();
  const schema = defineSchema({ [name]: { title: t.string() } });
  const [busy, other] = [await service.makeApp(), await service.makeApp(schema)];
  // Held up until the others were answered, however long that takes.
  const hold = { text: "select pg_advisory_xact_lock(1)" };
  const count = () => {
    const { busy, waiting } = service.pushing.stats();
    return `${busy} at work, ${waiting} waiting`;
  };

  const { work, own } = await whileDone(service.database.adminUrl, hold, async () => {
    const work = Array.from({ length: 2 }, () =>
      service.pushing.query(hold.text, [], { retry: "safe", queue: busy.id }),
    );
    await eventually(() => count() === "2 at work, 0 waiting", { describe: count });
    const answers = await Promise.all([
      postSchema(service, other, schema),
      service.call(other, "/v1/data/schema"),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const own = service.call(busy, "/v1/data/schema");
    await eventually(() => count() === "2 at work, 1 waiting", { describe: count });
    return { work, own };
  });

  expect((await own).status).toBe(200);
  await Promise.all(work);
});

test("a plan and a push without changes read nothing that waits for a locked table", async () => {
  const name = freshName("held");
  const schema = defineSchema({ [name]: { title: t.string() } });
  const app = await service.makeApp(schema);

  await whileLocked(service.database.adminUrl, name, async () => {
    const unchanged = await time(postSchema(service, app, schema));
    const wanted = defineSchema({ [name]: { title: t.string().index() } });
    const planned = await time(postSchema(service, app, wanted, { dryRun: true }));

    expect(unchanged.result.json).toMatchObject({ status: "unchanged" });
    expect(planned.result.json).toMatchObject({ status: "planned" });
    expect(unchanged.ms + planned.ms).toBeLessThan(QUICK_MS);
  });
});

test("checking the isolation waits for no table", async () => {
  const name = freshName("held");
  await service.makeApp(defineSchema({ [name]: { title: t.string() } }));

  await whileLocked(service.database.adminUrl, name, async () => {
    const looked = await time(makeIsolationLook(service.service.db)());

    expect(looked.result).toMatchObject({ faults: [], ofNodes: {}, added: [], away: [] });
    expect(looked.ms).toBeLessThan(QUICK_MS);
  });
});

test("an operator's status waits for no table: it says that the database was not compared", async () => {
  const name = freshName("held");
  const app = await service.makeApp(defineSchema({ [name]: { title: t.string().index() } }));
  const project = makeProject({ "schema/mod.ts": schemaText(`{ ${name}: {} }`) });
  const env = { ADMIN_DATABASE_URL: service.database.adminUrl };

  await whileLocked(service.database.adminUrl, name, async () => {
    const words = ["db", "status", "--app", app.slug, "--json"];
    const { result, ms } = await time(runHere(words, { ...project, env }));

    expect([result.code, result.err]).toEqual([0, expect.stringContaining("was not compared")]);
    expect(JSON.parse(result.out)).toMatchObject({ tables: [name], drift: null });
    expect(ms).toBeLessThan(QUICK_MS);
  }).finally(project.remove);
});

/** Makes each `alter table` take long, so that a push that has a table locked meanwhile shows. */
const SLOW_ALTERS = `create function public.slow_alters() returns event_trigger language plpgsql as $$
begin perform pg_catalog.pg_sleep(0.1); end $$;
create event trigger slow_alters on ddl_command_start when tag in ('ALTER TABLE') execute function public.slow_alters()`;
const NO_SLOW_ALTERS = "drop event trigger slow_alters; drop function public.slow_alters()";

/** How long a push took, and the longest read of a table by another app meanwhile. */
async function pushAndRead(push: () => Promise<Answer>, reader: TestApp, name: string) {
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

test("a shared table is locked while it changes, not while tables are created beside it", async () => {
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
