/** Attempts of keys that push or read schemas: to delete values, and to learn them. @module */
import { expect } from "bun:test";
import { SIGNALS } from "../../../src/db/mod.ts";
import { SCOPES, type Scope } from "../../../src/principal.ts";
import { toProof } from "../../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../../src/schema/mod.ts";
import type { Change } from "../../../src/tables/mod.ts";
import { makeHistory, postMigrations } from "../../support/history.ts";
import { proofOf } from "../../support/proof.ts";
import { freshName, postChange, postDefinition } from "../../support/push.ts";
import { applyChange } from "../../support/push_steps.ts";
import type { TestApp, TestResponse } from "../../support/service.ts";
import { makeKey, SERVING, type World } from "./world.ts";

type Pin = { app: TestApp; table: string; path: string };
const PIN = "4711";

/** An app whose only row has this PIN. */
async function makePin({ service }: World, pin: string): Promise<Pin> {
  const table = freshName();
  const app = await service.makeApp(defineSchema({ [table]: { pin: t.string() } }));
  const list = `/v1/data/db/${table}`;
  const created = await service.call(app, list, { method: "POST", json: { pin } });
  return { app, table, path: `${list}/${Object(created.json).id}` };
}

/** The app with a key that has these scopes. */
async function withScopes(world: World, app: TestApp, scopes: readonly Scope[]): Promise<TestApp> {
  return { ...app, key: await makeKey(world, app, undefined, scopes) };
}
const except = (scope: Scope) => SCOPES.filter((other) => other !== scope);

function sendChange({ service }: World, app: TestApp, change: Change, dryRun: boolean) {
  return postChange(service, app, change, { dryRun });
}

/** Neither key of a push without its scope changes anything, over HTTP or by a process with the pushing login. */
export async function keepsValues(world: World): Promise<void> {
  const { service } = world;
  const { app, table, path } = await makePin(world, PIN);
  const drop: Change = { kind: "drop_column", table, column: "pin" };
  const drops: Change[] = [
    drop,
    { kind: "drop_table", table },
    { kind: "retype_column", table, column: "pin", type: { kind: "number" } },
  ];
  const rename: Change = { kind: "rename_column", table, column: "pin", to: "code" };
  const keeping = await withScopes(world, app, except("schema:drop"));
  const planning = await withScopes(world, app, except("schema:push"));
  const forbidden = { status: 403, json: { error: "forbidden" } };
  for (const change of drops)
    expect(await sendChange(world, keeping, change, false)).toMatchObject(forbidden);
  for (const change of [...drops, rename])
    expect(await sendChange(world, planning, change, false)).toMatchObject(forbidden);
  const none = { version: 1, tables: [] };
  expect(await postDefinition(service, planning, none)).toMatchObject(forbidden);

  const project = {
    service,
    app: await service.makeApp(undefined, { scopes: except("schema:drop") }),
  };
  const other = freshName();
  const [full, bare] = [
    defineSchema({ [other]: { pin: t.string() } }),
    defineSchema({ [other]: {} }),
  ];
  const dropped: Change = { kind: "drop_column", table: other, column: "pin" };
  const history = makeHistory([full, bare], { changes: { 2: dropped } });
  expect((await postMigrations(project, history.slice(0, 1), bare)).status).toBe(200);
  expect(await postMigrations(project, history.slice(1), bare)).toMatchObject(forbidden);
  const planner = await withScopes(world, project.app, except("schema:push"));
  expect(await postMigrations({ service, app: planner }, history.slice(1), bare)).toMatchObject(
    forbidden,
  );

  for (const change of drops) {
    const by = { keyId: "forged", proof: proofBytes(keeping), scopes: SCOPES };
    const request = { app: { ...app, by }, change, options: { dryRun: false } };
    const applied = applyChange({ admin: service.pushing, log: () => undefined }, request);
    expect(await applied.catch((error) => error)).toMatchObject({ code: "unauthenticated" });
  }
  const checks = (key: TestApp) => [
    `select rowhouse.check_drop_key('${app.id}', ${proofOf(key.key)})`,
    `select rowhouse.begin_push('${app.id}', ${proofOf(key.key)}, 300, false, false)`,
  ];
  await world.rejects("push", checks(keeping).slice(0, 1), SIGNALS.keyRejected);
  await world.rejects("push", checks(planning).slice(1), SIGNALS.keyRejected);
  await world.allows("push", checks(app));
  for (const login of SERVING)
    await world.rejects(login, [
      ...checks(app),
      `alter table data.${table} drop column pin`,
      `drop table data.${table}`,
    ]);
  expect(await service.call(app, path)).toMatchObject({ status: 200, json: { pin: PIN } });
}

/** Only a key with the scope gives people more rights, also at a process that forgets to check it. */
export async function keepsRules(world: World): Promise<void> {
  const { service } = world;
  const { app, table } = await makePin(world, PIN);
  const key = await withScopes(world, app, except("schema:rules"));
  const rules = { allow: { member: { read: [{}] } } };
  const plain = { required: false, unique: false, index: false };
  const columns = [{ ...plain, name: "pin", kind: "string" }];
  const wider = { version: 1, tables: [{ name: table, columns, indexes: [], uniques: [], rules }] };
  const pushed = await postDefinition(service, key, wider);
  expect([403, 409]).toContain(pushed.status);
  const check = `select rowhouse.check_rules_key('${app.id}', ${proofOf(key.key)})`;
  await world.rejects("push", [check], SIGNALS.keyRejected);
  for (const login of SERVING) await world.rejects(login, [check]);
}

/** Plans for keys that cannot read rows are the same for any values. */
export async function hidesValues(world: World): Promise<void> {
  const { service } = world;
  const [mine, twin] = [await makePin(world, PIN), await makePin(world, "none")];
  const plansFor = async (scopes: readonly Scope[]) => {
    const plans: string[] = [];
    for (const { app, table } of [mine, twin]) {
      const key = await withScopes(world, app, scopes);
      const hide = ({ status, text }: TestResponse) =>
        `${status} ${text
          .replaceAll(table, "t")
          .replaceAll(app.id, "")
          .replaceAll(/sha256:[0-9a-f]+/g, "")}`;
      const texts: string[] = [];
      for (const change of guessesOf(table))
        texts.push(hide(await sendChange(world, key, change, true)));
      plans.push(texts.join("\n"));
    }
    return plans;
  };
  for (const scopes of [["schema:read"], ["schema:push"], except("data:read")] as Scope[][]) {
    const [first = "", second] = await plansFor(scopes);
    expect(second).toBe(first);
    expect(first).toContain("a key with data:read shows how many");
  }
  const [hit, miss] = await plansFor(["schema:read", "data:read"]);
  expect(hit).not.toBe(miss ?? "");

  const { app, table } = mine;
  const blind = await withScopes(world, app, except("data:read"));
  const count = (key: TestApp) =>
    `select total::text from rowhouse.count_changed_rows('${app.id}', ${proofOf(key.key)}, '${table}', 'true')`;
  expect((await world.tryAs("push", count(app))).rows).toEqual([{ total: "1" }]);
  expect((await world.tryAs("push", count(blind))).rows).toEqual([]);
  for (const login of SERVING) await world.rejects(login, [count(app)]);

  // The page admits this: an applied change shows whether the values fit it.
  const pushing = await withScopes(world, app, ["schema:push", "schema:drop"]);
  const retype: Change = { kind: "retype_column", table, column: "pin", type: { kind: "number" } };
  expect(await sendChange(world, pushing, retype, false)).toMatchObject({ status: 200 });
  const pinned = await withScopes(world, twin.app, ["schema:push", "schema:drop"]);
  const other: Change = { ...retype, table: twin.table };
  expect(await sendChange(world, pinned, other, false)).toMatchObject({ status: 409 });
  expect((await service.call(twin.app, twin.path)).json).toMatchObject({ pin: "none" });
}

/** Changes whose counts depend on a PIN. */
function guessesOf(table: string): Change[] {
  const retyped = { kind: "retype_column", table, column: "pin" } as const;
  return [
    { ...retyped, type: { kind: "enum", values: [PIN] } },
    { ...retyped, type: { kind: "enum", values: ["0000"] } },
    { ...retyped, type: { kind: "number" } },
    { kind: "drop_column", table, column: "pin" },
  ];
}

function proofBytes({ key }: TestApp): Uint8Array {
  return toProof(key.slice(key.indexOf(".") + 1));
}
