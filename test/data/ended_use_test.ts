/** The end of an app's use of a table, as the functions of processes that have not read it see it. */
import { afterAll, expect, test } from "bun:test";
import postgres from "postgres";
import { call, openDatabase } from "../../src/db/mod.ts";
import { APP_SCOPES } from "../../src/principal.ts";
import {
  beginEndRegistration,
  endRegistration,
  issueKey,
  setAppSwitch,
} from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { testDeps } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { functionOf } from "../support/functions.ts";
import { proofOf } from "../support/proof.ts";
import { freshName, postSchema } from "../support/push.ts";
import { openTestService, type TestApp } from "../support/service.ts";

const service = await openTestService();
const rows = openDatabase({
  ...{ url: service.database.rowsUrl, connections: 1, prepare: true, name: "test" },
});
const serving = postgres(service.database.servingUrl, { max: 1, prepare: false });
afterAll(async () => {
  await Promise.all([rows.close(), serving.end()]);
  await service.close();
});

const deps = () => testDeps(service.service);
const UNDEFINED_TABLE = "42P01";

async function makeUse() {
  const table = freshName();
  const schema = defineSchema({ [table]: { title: t.string() } });
  // The owner keeps the table and its functions.
  const owner = await service.makeApp(schema);
  const app = await service.makeApp(schema);
  const store = (key: string, to = app) =>
    `select api."${functionOf(schema, table, "create")}"('${to.id}', ${proofOf(key)}, '${Bun.randomUUIDv7()}', '{"title":"x"}', 1000, null)`;
  return { table, schema, owner, app, store };
}

const codeOf = (text: string) =>
  serving.unsafe(text).then(
    () => "stored",
    (error: unknown) => (error instanceof postgres.PostgresError ? error.code : String(error)),
  );
const count = ({ id }: TestApp, table: string) =>
  call(rows, "count_rows", { wanted_table: table, app: id });

test("no key of the app stores a row, until the app pushes the table again", async () => {
  const { table, schema, owner, app, store } = await makeUse();
  expect(await codeOf(store(app.key))).toBe("stored");
  const { job } = await beginEndRegistration(deps(), {
    ...{ table, slug: app.slug, expected: [table] },
  });
  expect(await codeOf(store(app.key))).toBe(UNDEFINED_TABLE);
  await call(service.service.admin, "cancel_rows_job", { job: job ?? "" });
  expect(await codeOf(store(app.key))).toBe("stored");

  await endRegistration({ ...deps(), rows }, { table, slug: app.slug, expected: [table] });
  const options = { slug: app.slug, name: "new", scopes: [...APP_SCOPES], expiresAt: undefined };
  const { text: issued } = await issueKey(deps(), options);
  service.secrets.add(issued);
  for (const key of [app.key, issued]) expect(await codeOf(store(key))).toBe(UNDEFINED_TABLE);
  await setAppSwitch(deps(), app.slug, ["disabled", true]);
  expect(await codeOf(store(app.key))).toBe("RH401");
  await setAppSwitch(deps(), app.slug, ["disabled", false]);
  expect(await codeOf(store(app.key))).toBe(UNDEFINED_TABLE);
  expect(await count(app, table)).toBe(0);
  expect(await codeOf(store(owner.key, owner))).toBe("stored");

  await postSchema(service, app, schema);
  for (const key of [app.key, issued]) expect(await codeOf(store(key))).toBe("stored");
});

test("a row that is stored during the end is deleted before the end is reported", async () => {
  const { table, app, store } = await makeUse();
  await serving.unsafe("begin");
  await serving.unsafe(store(app.key));
  const { job } = await beginEndRegistration(deps(), {
    ...{ table, slug: app.slug, expected: [table] },
  });
  const step = () => call(rows, "run_rows_job", { job: job ?? "", max_rows: 100 });
  expect([await step(), await step()]).toEqual([null, null]);
  expect(await call(service.service.admin, "end_rows_job", { job: job ?? "" })).toBe(null);
  await serving.unsafe("commit");
  expect(await count(app, table)).toBe(1);
  // Statements of the service that began before the job can still run.
  const steps: boolean[] = [];
  await eventually(async () => {
    const isEmptied = await step();
    if (isEmptied !== null) steps.push(isEmptied);
    return isEmptied === true;
  });
  expect(steps).toEqual([false, true]);
  expect(await count(app, table)).toBe(0);
  expect(await call(service.service.admin, "end_rows_job", { job: job ?? "" })).toEqual([
    { name: table, rows: 1 },
  ]);
});
