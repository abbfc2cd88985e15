/** The limits of an app: the rate of its pushes and the size of its journal. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { dumpDatabase, freshName, postDefinition, postSchema } from "../support/push.ts";
import { pushDefinition } from "../support/push_steps.ts";
import { definitionOf, openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const PUSHES_PER_HOUR = 3;
const JOURNAL_BYTES = 20_000;
const service = await share(
  openTestService({
    service: { pushLimits: { pushesPerHour: PUSHES_PER_HOUR, journalBytes: JOURNAL_BYTES } },
  }),
);

/** Simulates that the last push of an app is older. */
async function passTime(app: TestApp, seconds: number): Promise<void> {
  await service.service.admin.query(
    "update rowhouse.push_allowances set counted_at = counted_at - make_interval(secs => $2) where app_id = $1",
    [app.id, seconds],
    { retry: "safe", queue: "test" },
  );
}

test("pushes, dry runs, unchanged and rejected pushes count once each, and the allowance refills", async () => {
  const [name, taken] = [freshName(), freshName()];
  const [app, other] = [await service.makeApp(), await service.makeApp()];
  await service.pushSchema(other, defineSchema({ [taken]: { title: t.number() } }));
  const schema = defineSchema({ [name]: { title: t.string() } });
  const statuses = [
    (await postSchema(service, app, schema, { dryRun: true })).status,
    (await postSchema(service, app, schema)).status,
    (await postSchema(service, app, defineSchema({ [taken]: { title: t.string() } }))).status,
  ];
  expect(statuses).toEqual([200, 200, 409]);
  const before = await dumpDatabase(service.service.admin);

  for (const dryRun of [false, true]) {
    const rejected = await postSchema(service, app, schema, { dryRun });
    expect(rejected).toMatchObject({ status: 429, json: { error: "rate_limited" } });
    const wait = Number(rejected.headers.get("retry-after"));
    expect(wait).toBeGreaterThan(1190 - 60);
    expect(wait).toBeLessThanOrEqual(1200);
  }
  expect(await dumpDatabase(service.service.admin)).toBe(before);
  // Each app has a separate limit, and a status request does not count.
  expect((await postSchema(service, other, defineSchema({}), { dryRun: true })).status).toBe(200);
  expect((await service.call(app, "/v1/data/schema")).status).toBe(200);

  await passTime(app, 1200);
  expect((await postSchema(service, app, schema)).json).toMatchObject({ status: "unchanged" });
  expect((await postSchema(service, app, schema)).status).toBe(429);
  await passTime(app, 100_000);
  const again: number[] = [];
  for (let n = 0; n <= PUSHES_PER_HOUR; n++)
    again.push((await postSchema(service, app, schema)).status);
  expect(again).toEqual([200, 200, 200, 429]);
});

test("simultaneous pushes are counted individually", async () => {
  const app = await service.makeApp();
  const schema = defineSchema({});
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => postSchema(service, app, schema, { dryRun: true })),
  );
  expect(responses.map(({ status }) => status).sort()).toEqual([
    ...Array.from({ length: PUSHES_PER_HOUR }, () => 200),
    ...Array.from({ length: 8 - PUSHES_PER_HOUR }, () => 429),
  ]);
});

test("a rejected body does not count", async () => {
  const app = await service.makeApp();
  const invalid = { version: 1, tables: [{}] };
  for (let n = 0; n <= PUSHES_PER_HOUR; n++) {
    const response = await postDefinition(service, app, invalid);
    expect(response.status).toBe(422);
  }
  expect((await postSchema(service, app, defineSchema({}))).status).toBe(200);
});

const wide = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`column_${n}`, t.string()]));

test("a journal grows to its limit, and a push or dry run above the limit is rejected", async () => {
  const name = freshName();
  const app = await service.makeApp();
  const small = defineSchema({ [name]: wide(2) });
  expect((await postSchema(service, app, small)).json).toMatchObject({ status: "applied" });
  const before = await dumpDatabase(service.service.admin);

  const large = defineSchema({ [name]: wide(150) });
  const rejected = await postSchema(service, app, large);
  const planned = await postSchema(service, app, large, { dryRun: true });

  for (const response of [rejected, planned]) {
    expect(response).toMatchObject({ status: 413, json: { error: "journal_full" } });
    expect(response.text).toContain(String(JOURNAL_BYTES));
  }
  expect(await dumpDatabase(service.service.admin)).toBe(before);
  // No limit applies to an operator, and a push without changes adds no migration.
  const { admin } = service.service;
  const request = { app, definition: definitionOf(large), options: { dryRun: false } };
  await pushDefinition({ admin, log: () => undefined }, request);
  await passTime(app, 3600);
  expect((await postSchema(service, app, large)).json).toMatchObject({ status: "unchanged" });
});

test("a journal counts its migrations as they are stored, compressed", async () => {
  const name = freshName();
  const app = await service.makeApp();
  for (const count of [80, 81, 82, 83]) {
    await passTime(app, 3600);
    const response = await postSchema(service, app, defineSchema({ [name]: wide(count) }));
    expect(response.json).toMatchObject({ status: "applied" });
  }
  const [stored] = await service.query<{ bytes: number }>(
    `select sum(octet_length(text))::int4 as bytes from rowhouse.migrations where app_id = '${app.id}'`,
  );
  expect(stored?.bytes).toBeGreaterThan(JOURNAL_BYTES);
});

test("a push beyond the last migration number is rejected", async () => {
  const name = freshName();
  const app = await service.makeApp(defineSchema({ [name]: {} }));
  await service.service.admin.message(
    `update rowhouse.migrations set seq = 9999 where app_id = '${app.id}'; select 1`,
  );
  const { admin } = service.service;
  const definition = definitionOf(defineSchema({ [name]: { title: t.string() } }));
  const request = { app, definition, options: { dryRun: false } };

  const error = await pushDefinition({ admin, log: () => undefined }, request).catch(
    (caught) => caught,
  );

  expect(error).toMatchObject({ code: "journal_full", status: 413 });
});
