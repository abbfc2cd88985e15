/**
 * The first request after an operator's action gets the response that every later request gets: the process has not read
 * the change yet.
 */

import { expect, test } from "bun:test";
import { openDatabase } from "../../src/db/mod.ts";
import { runAction } from "../../src/records/actions/mod.ts";
import {
  deleteApp,
  dropTable,
  endRegistration,
  findAppContents,
  renameApp,
  revokeKey,
  setAppSwitch,
} from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { testDeps } from "../support/deps.ts";
import { freshName } from "../support/push.ts";
import { applyChange } from "../support/push_steps.ts";
import { type Call, openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

/** A table of another app, which costs a third of a new one. */
const used = freshName("used");
const declare = (table: string) => defineSchema({ [table]: { title: t.string() } });
const service = await share(openTestService());
await service.makeApp(declare(used));
const rows = await share(
  openDatabase({
    ...{ url: service.database.rowsUrl, connections: 1, prepare: true, name: "test" },
  }),
);

type World = { app: TestApp; table: string; id: string };
type Ask = Call & { path: (world: World) => string };

const toList = ({ table }: World) => `/v1/data/db/${table}`;
const toRow = ({ table, id }: World) => `/v1/data/db/${table}/${id}`;
const ROWS: Readonly<Record<string, Ask>> = {
  list: { path: toList },
  get: { path: toRow },
  create: { path: toList, method: "POST", json: { title: "x" } },
  batch: { path: toList, method: "POST", json: [{ title: "x" }] },
  "invalid create": { path: toList, method: "POST", json: { title: 1 } },
  "keyed create": {
    ...{ path: toList, method: "POST", json: { title: "x" } },
    headers: { "idempotency-key": "first" },
  },
  update: { path: toRow, method: "PATCH", json: { title: "y" } },
  "empty update": { path: toRow, method: "PATCH", json: {} },
  delete: { path: toRow, method: "DELETE" },
};
const OTHERS: Readonly<Record<string, Ask>> = {
  schema: { path: () => "/v1/data/schema" },
  plan: {
    ...{ path: () => "/v1/data/schema", method: "POST" },
    json: { steps: [{ kind: "define", definition: { version: 1, tables: [] } }], dryRun: true },
  },
  openapi: { path: () => "/v1/openapi.json" },
  "a page of the reference": { path: ({ table }) => `/docs/tables/${table}` },
};

const deps = () => testDeps(service.service);
const rowsDeps = () => ({ ...deps(), rows });
const end = ({ app, table }: World) =>
  endRegistration(rowsDeps(), { table, slug: app.slug, expected: [table] });
const change = async ({ app }: World, change: Parameters<typeof applyChange>[1]["change"]) =>
  await applyChange(
    { admin: service.pushing, log: () => undefined },
    { app, change, journal: undefined, options: { dryRun: false } },
  );

type Act = (world: World) => Promise<unknown>;
/** Actions after which the key opens nothing. */
const ENDS: Readonly<Record<string, Act>> = {
  "deleting the app": async ({ app }) => {
    await findAppContents(rowsDeps(), app.slug);
    await deleteApp(rowsDeps(), app.slug);
  },
  "disabling the app": ({ app }) => setAppSwitch(deps(), app.slug, ["disabled", true]),
  "revoking the key": ({ app }) => revokeKey(deps(), app.key.slice(3, 19)),
};
/** Actions after which the app no longer has the table. */
const REMOVALS: Readonly<Record<string, Act>> = {
  "ending the table's use": end,
  "dropping the table": async (world) => {
    await end(world);
    await dropTable(deps(), { table: world.table, expected: [world.table] });
  },
  "dropping the table by a change": (world) =>
    change(world, { kind: "drop_table", table: world.table }),
  "renaming the table": (world) =>
    change(world, { kind: "rename_table", table: world.table, to: `${world.table}x` }),
};
/** Actions that no request notices. */
const UNSEEN: Readonly<Record<string, Act>> = {
  "renaming the app": ({ app }) =>
    renameApp(deps(), { slug: app.slug, newSlug: `new-${app.slug}`.slice(0, 40) }),
  "transferring the table": async ({ table }) => {
    const next = await service.makeApp(declare(table));
    await runAction(deps(), "transfer_table", { wanted_table: table, new_slug: next.slug });
  },
};

/** An app with a table, its own by default, and one row, after requests that fill every cache of the process. */
async function makeWorld(table = freshName("t")): Promise<World> {
  const app = await service.makeApp(declare(table));
  const created = await service.call(app, `/v1/data/db/${table}`, {
    method: "POST",
    json: { title: "a" },
  });
  const world = { app, table, id: (created.json as { id: string }).id };
  for (const ask of [toList(world), toRow(world), "/v1/openapi.json"]) await service.call(app, ask);
  return world;
}

async function send(world: World, { path, ...call }: Ask) {
  const { status, json } = await service.call(world.app, path(world), call);
  const { error } = (json ?? {}) as { error?: string };
  return { status, error };
}

/**
 * The first action with all requests, the others with one of each kind: an action decides what a process has not read, and a request
 * how it notices.
 */
function pair(acts: Readonly<Record<string, Act>>, asks: Readonly<Record<string, Ask>>) {
  const few = ["list", "get", "create", "update"];
  return Object.entries(acts).flatMap(([action, act], n) =>
    Object.entries(asks)
      .filter(([name]) => n === 0 || few.includes(name))
      .map(([name, ask]) => ({ action, act, name, ask })),
  );
}

test.each(pair(ENDS, { ...ROWS, ...OTHERS }))(
  "after $action, the first request is a 401: $name",
  async ({ act, ask }) => {
    const world = await makeWorld(used);
    await act(world);
    const unauthenticated = { status: 401, error: "unauthenticated" };
    expect(await send(world, ask)).toEqual(unauthenticated);
    expect(await send(world, ask)).toEqual(unauthenticated);
  },
);

test.each(pair(REMOVALS, ROWS))(
  "after $action, the first request is a 404: $name",
  async ({ act, ask }) => {
    const world = await makeWorld();
    await act(world);
    expect(await send(world, ask)).toEqual({ status: 404, error: "unknown_table" });
  },
);

test.each(pair(UNSEEN, ROWS))(
  "after $action, the first request is as before: $name",
  async ({ act, ask }) => {
    const [world, untouched] = [await makeWorld(), await makeWorld(used)];
    await act(world);
    const [changed, usual] = [await send(world, ask), await send(untouched, ask)];
    expect(changed).toEqual(usual);
    expect(usual.status).toBeLessThan(500);
  },
);
