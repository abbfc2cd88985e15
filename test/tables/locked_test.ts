/** A table that a session has locked blocks only pushes that change this table. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { makeProject, runHere, schemaText } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileDone, whileLocked } from "../support/held_lock.ts";
import { freshName, postSchema } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());

test("pushes to a locked table soon end as busy, and do not delay other apps' pushes", async () => {
  const [held, free] = [freshName("held"), freshName("free")];
  const app = await service.makeApp(defineSchema({ [held]: { title: t.string() } }));
  const schema = defineSchema({ [free]: { title: t.string() } });
  const other = await service.makeApp(schema);

  await whileLocked(service.database.adminUrl, held, async () => {
    const wanted = defineSchema({ [held]: { title: t.string(), note: t.string() } });
    const pushes = [1, 2, 3, 4].map(() => postSchema(service, app, wanted));
    await eventually(async () => (await countLockWaits(service.service.admin)) > 0);
    const unchanged = await postSchema(service, other, schema);
    const grown = defineSchema({ [free]: { title: t.string(), note: t.string() } });
    const applied = await postSchema(service, other, grown);

    expect(unchanged).toMatchObject({ status: 200, json: { status: "unchanged" } });
    expect(applied).toMatchObject({ status: 200, json: { status: "applied" } });
    // The table is still locked.
    for (const response of await Promise.all(pushes))
      expect(response).toMatchObject({ status: 409, json: { error: "push_busy" } });
  });
  const schemaAfter = defineSchema({ [held]: { title: t.string(), note: t.string() } });
  expect((await postSchema(service, app, schemaAfter)).json).toMatchObject({ status: "applied" });
});

test("an app that keeps the administrative pool busy delays only itself", async () => {
  const name = freshName();
  const schema = defineSchema({ [name]: { title: t.string() } });
  const [busy, other] = [await service.makeApp(), await service.makeApp(schema)];
  // The lock remains until the other apps have their responses.
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
    const responses = await Promise.all([
      postSchema(service, other, schema),
      service.call(other, "/v1/data/schema"),
    ]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    const own = service.call(busy, "/v1/data/schema");
    await eventually(() => count() === "2 at work, 1 waiting", { describe: count });
    return { work, own };
  });

  expect((await own).status).toBe(200);
  await Promise.all(work);
});

test("a plan and a push without changes do not wait for a locked table", async () => {
  const name = freshName("held");
  const schema = defineSchema({ [name]: { title: t.string() } });
  const app = await service.makeApp(schema);

  await whileLocked(service.database.adminUrl, name, async () => {
    const unchanged = await postSchema(service, app, schema);
    const wanted = defineSchema({ [name]: { title: t.string().index() } });
    const planned = await postSchema(service, app, wanted, { dryRun: true });

    expect(unchanged.json).toMatchObject({ status: "unchanged" });
    expect(planned.json).toMatchObject({ status: "planned" });
  });
});

test("the isolation check does not wait for any table", async () => {
  const name = freshName("held");
  await service.makeApp(defineSchema({ [name]: { title: t.string() } }));

  await whileLocked(service.database.adminUrl, name, async () => {
    const result = await makeIsolationCheck(service.service.db)();
    expect(result).toMatchObject({ issues: [], ofNodes: {}, added: [], silent: [] });
  });
});

test("an operator's status does not wait for any table, and reports that the database was not compared", async () => {
  const name = freshName("held");
  const app = await service.makeApp(defineSchema({ [name]: { title: t.string().index() } }));
  const project = makeProject({ "schema/mod.ts": schemaText(`{ ${name}: {} }`) });
  const env = { ADMIN_DATABASE_URL: service.database.adminUrl };

  await whileLocked(service.database.adminUrl, name, async () => {
    const args = ["db", "status", "--app", app.slug, "--json"];
    const result = await runHere(args, { ...project, env });

    expect([result.code, result.err]).toEqual([0, expect.stringContaining("was not compared")]);
    expect(JSON.parse(result.out)).toMatchObject({ tables: [name], drift: null });
  }).finally(project.remove);
});
