/** `rowhouse admin move-database`: apps with rules and browser access, and the keys of their people. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Database } from "../../src/db/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { clusterUrls, withDatabase } from "../support/cluster.ts";
import { signInAs } from "../support/people.ts";
import {
  type Member,
  openPersonWorld,
  type PersonWorld,
  PREVIEWS,
  path,
  rowOf,
  WIKI_ORIGIN,
} from "../support/person_app.ts";
import { getPersonKey } from "../support/person_keys.ts";
import { openTestService, type TestService, UNGUARDED } from "../support/service.ts";
import { moveDatabase } from "./move_database.ts";

const NEXT = `next_${crypto.randomUUID().slice(-12)}`;
const TABLES = ["teams", "team_members", "projects", "todos", "comments", "ledgers"];
const folder = mkdtempSync(join(tmpdir(), "rowhouse-move-"));
const root = () => clusterUrls()?.admin ?? "";
const toNext = (url: string) => Object.assign(new URL(url), { pathname: `/${NEXT}` }).href;

const inNext = <Result>(run: (admin: Database) => Promise<Result>) =>
  withDatabase(toNext(root()), run);

let world: PersonWorld;
let moved: TestService;
let before: string[];
beforeAll(async () => {
  world = await openPersonWorld();
  await writeRows();
  before = await readAll(world.service);
  const { admin } = world.service.service;
  const env = { ADMIN_DATABASE_URL: world.service.database.adminUrl };
  await moveDatabase(admin, NEXT, { folder, env });
  moved = await openTestService({
    ...{ toServingUrl: toNext, toAdminUrl: toNext },
    service: { ...UNGUARDED, previews: [...PREVIEWS] },
  });
}, 60_000);
afterAll(async () => {
  await moved?.close();
  await world?.close();
  await withDatabase(root(), (admin) =>
    admin.message(`drop database if exists ${NEXT} with (force)`),
  );
  rmSync(folder, { recursive: true, force: true });
});

const people = (): Member[] => {
  const { ada, bob, vera, lena, carl, grace } = world;
  return [ada, bob, vera, lena, carl, grace];
};

async function writeRows(): Promise<void> {
  const { ada, bob, lena, wiki, blog } = world;
  const team = rowOf(await world.post(wiki, "teams", { name: "Red" })).id;
  await world.post(wiki, "team_members", { person: bob.id, team });
  for (const by of [ada, bob, lena])
    for (const title of ["one", "two"])
      await world.post(by, "todos", { title, ...(by === lena ? { team, cost: "1.50" } : {}) });
  const approved = rowOf(await world.post(lena, "todos", { title: "old", status: "approved" }));
  await world.post(ada, "projects", { name: "House" });
  await world.post(wiki, "comments", { todo: approved.id, text: "Good", author: ada.id });
  await world.post(wiki, "ledgers", { amount: "3" });
  await world.post(blog, "teams", { name: "Of another app" });
}

/** What each person, and each app's server, gets of each table. */
async function readAll(service: TestService): Promise<string[]> {
  const found: string[] = [];
  for (const { key } of [...people(), world.wiki, world.blog])
    for (const table of TABLES) {
      const { status, text } = await service.call(undefined, path(table), { key });
      found.push(`${table} ${status} ${text.replace(/"requestId":"[^"]+"/, "")}`);
    }
  return found;
}

test("people and servers see the same rows with the same keys", async () => {
  expect(before.filter((text) => text.includes("200"))).not.toHaveLength(0);
  expect(before.filter((text) => text.includes("403"))).not.toHaveLength(0);
  expect(await readAll(moved)).toEqual(before);
});

test("rules and the functions of views arrive", async () => {
  const schemas = [];
  for (const service of [world.service, moved])
    schemas.push((await service.call(world.wiki, "/v1/data/schema")).text);
  expect(schemas[1]).toBe(schemas[0] ?? "");
  expect(schemas[0]).toContain('"rules"');
  const views = "select app_id::text, table_name, hash from rowhouse.views order by 1, 2, 3";
  const old = await world.service.service.admin.message(views);
  expect(old.length).toBeGreaterThan(5);
  await inNext(async (admin) => {
    expect(await admin.message(views)).toEqual(old);
    expect(await readDrift(admin)).toEqual([]);
  });
});

test("rules hold for writes", async () => {
  const { ada, bob } = world;
  const post = (by: Member, json: unknown) =>
    moved.call(undefined, path("todos"), { method: "POST", json, key: by.key });
  const own = rowOf(await post(ada, { title: "new" }));
  expect(own).toMatchObject({ owner: ada.id });
  expect(await post(ada, { title: "forged", owner: bob.id })).toMatchObject({ status: 403 });
  const change = { method: "PATCH", json: { title: "stolen" }, key: bob.key };
  expect(await moved.call(undefined, path("todos", `/${own.id}`), change)).toMatchObject({
    status: 404,
  });
});

test("the app's switch stays on, and sessions get new keys", async () => {
  const cookies = await signInAs(moved, world.ada);
  const { key } = await getPersonKey(moved, { cookies, app: world.wiki, origin: WIKI_ORIGIN });
  moved.secrets.add(key);
  const read = (by: string) => moved.call(undefined, path("projects"), { key: by });
  expect((await read(key)).text).toBe((await read(world.ada.key)).text);
});

test("a moved key ends with its session", async () => {
  const end = `delete from rowhouse.sessions where user_id = '${world.vera.id}'; select 1`;
  await inNext((admin) => admin.message(end));
  const { status } = await moved.call(undefined, path("todos"), { key: world.vera.key });
  expect(status).toBe(401);
});
