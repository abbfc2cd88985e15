/**
 * The functions of the oldest version that the working tree no longer generates: until the second step of the upgrade they stay as they
 * were, a process of that version calls them, and the guard finds every other body. They go with their set, and with the second step.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { FORMER_ENDPOINTS, readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { makeCheckBodies, readDrift } from "../../src/tables/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { ROOT, runCommand } from "../support/command.ts";
import { definitionOf } from "../support/service.ts";
import { migrate, migrateAll, toOperator } from "./database.ts";
import { send } from "./load.ts";
import { OLDEST } from "./packed.ts";
import { type Serving, startServing } from "./serving.ts";
import { openStage, type Stage } from "./stage.ts";
import { openPersonKey } from "./world.ts";

const DB = "/v1/data/db";
const FORMER = `proname ~ '__[0-9a-f]{16}_(${Object.keys(FORMER_ENDPOINTS).join("|")})$'`;

/** Requests of which each calls former functions. */
const READS = [
  `${DB}/pages?title=neq.Home&order=rank.asc`,
  `${DB}/pages?parent.title=eq.Home`,
  `${DB}/pages?select=title,kinds(id,of_integer)&title=eq.Home`,
  `${DB}/pages/groups?by=rank&sum=price`,
] as const;
const OF_PERSON = [`${DB}/cards?title=neq.none`, `${DB}/cards/groups?by=author`] as const;

let stage: Stage;
const open: Serving[] = [];
beforeAll(async () => {
  stage = await openStage(OLDEST, "18");
  await migrateAll(stage.addresses, ROOT);
}, 120_000);
afterAll(async () => {
  for (const serving of open) await serving.stop();
  await stage.close();
});

async function start(program: string): Promise<Serving> {
  const serving = await startServing({
    ...{ addresses: stage.addresses, program, shape: "one", workers: 1 },
  });
  open.push(serving);
  return serving;
}

const read = <Value>(text: string) =>
  withDatabase(stage.addresses.admin, async (admin) => {
    const rows = await readRows<{ value: Value }>(admin, text);
    return rows.map(({ value }) => value);
  });

/** The former functions with their bodies. */
const readFormer = (table = "") =>
  read<string>(
    `select proname || md5(prosrc) as value from pg_proc where ${FORMER} and starts_with(proname, '${table}') order by 1`,
  );

/** Every issue of the guard, of the drift, and of the bodies of functions. */
const listIssues = () =>
  withDatabase(stage.addresses.admin, async (admin) => {
    const { issues } = await makeIsolationCheck(admin)();
    const drift = (await readDrift(admin)).map(({ thing }) => thing);
    return [...issues, ...(await makeCheckBodies(admin)("")), ...drift];
  });

test("an earlier process lists with conditions, in groups, with related rows, writes by condition, and upserts", async () => {
  const { keys, sessions } = stage.frozen.world;
  const [earlier, ours] = [await start(stage.program), await start(ROOT)];
  const ask = (serving: Serving, path: string, sent = {}, key: string = keys.wiki) =>
    send({ url: serving.url, key }, path, sent, () => undefined);
  // A list has a cursor for both, though only this release asks for it.
  for (const path of [...READS, `${DB}/pages?limit=1`]) {
    const [want, found] = [await ask(ours, path), await ask(earlier, path)];
    expect([path, found.status, found.text]).toEqual([path, 200, want.text]);
  }
  for (const serving of [earlier, ours]) {
    const key = await openPersonKey(serving, sessions.live);
    for (const path of OF_PERSON)
      expect([path, (await ask(serving, path, {}, key)).status]).toEqual([path, 200]);
  }
  const json = { title: "first" };
  expect(await ask(earlier, `${DB}/pages`, { method: "POST", json })).toMatchObject({
    status: 201,
  });
  const changed = { method: "PATCH", json: { title: "second" } };
  expect(await ask(earlier, `${DB}/pages?title=eq.first`, changed)).toMatchObject({
    ...{ status: 200, text: '{"count":1}' },
  });
  expect(await ask(earlier, `${DB}/pages?title=eq.second`, { method: "DELETE" })).toMatchObject({
    ...{ status: 200, text: '{"count":1}' },
  });
  const upsert = async (serving: Serving, title: string) => {
    const sent = { method: "POST", json: { slug: "upserted", title } };
    return (await ask(serving, `${DB}/pages?onConflict=slug`, sent)).status;
  };
  expect([
    await upsert(earlier, "made"),
    await upsert(ours, "changed"),
    await upsert(earlier, "again"),
  ]).toEqual([201, 200, 200]);
  await earlier.stop();
  await ours.stop();
}, 120_000);

test("a second run changes nothing", async () => {
  const before = await readFormer();
  expect(before.length).toBeGreaterThan(10);
  expect(await listIssues()).toEqual([]);
  expect(await migrate(stage.addresses)).toMatchObject({
    code: 0,
    out: expect.stringContaining("Nothing to do"),
  });
  expect(await readFormer()).toEqual(before);
});

test("an earlier process can be started again after a push, and the second step removes them", async () => {
  const { keys } = stage.frozen.world;
  const ours = await start(ROOT);
  const definition = definitionOf(defineSchema({ added: { title: t.string() } }));
  const json = { steps: [{ kind: "define", definition }] };
  const pushed = await send({ url: ours.url, key: keys.diverged }, "/v1/data/schema", {
    ...{ method: "POST", json },
  });
  expect(pushed).toMatchObject({ status: 200 });
  expect(await readFormer("added__")).toEqual([]);
  const earlier = await start(stage.program);
  const ask = async (key: string, path: string) =>
    (await send({ url: earlier.url, key }, path, {}, () => undefined)).status;
  expect([
    await ask(keys.wiki, "/ready"),
    await ask(keys.wiki, READS[0]),
    await ask(keys.diverged, `${DB}/added`),
    await ask(keys.diverged, `${DB}/added?title=neq.none`),
  ]).toEqual([200, 200, 200, 503]);
  await earlier.stop();
  await withDatabase(stage.addresses.admin, (admin) =>
    admin.message(
      "update rowhouse.processes set seen_at = seen_at - interval '1 hour' where version like '0.1.%'; select 1",
    ),
  );
  const { folder, addresses } = stage;
  expect(
    await runCommand(["migrate", "--contract", "--yes"], { folder, env: toOperator(addresses) }),
  ).toMatchObject({ code: 0 });
  expect(await readFormer()).toEqual([]);
  expect(await listIssues()).toEqual([]);
  const found = await send({ url: ours.url, key: keys.wiki }, READS[0], {}, () => undefined);
  expect(found).toMatchObject({ status: 200 });
}, 120_000);
