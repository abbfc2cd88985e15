/**
 * What keys of a schema cannot do: without `schema:drop` delete values, by a change or a migration, and without `data:read`
 * learn about values, from plans or errors. The database checks both.
 */
import { describe, expect, test } from "bun:test";
import { SIGNALS } from "../../src/db/mod.ts";
import { SCOPES, type Scope } from "../../src/principal.ts";
import { issueKey, toProof } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import type { Change } from "../../src/tables/mod.ts";
import { testDeps } from "../support/deps.ts";
import { makeHistory, postMigrations } from "../support/history.ts";
import { proofOf } from "../support/proof.ts";
import { dumpDatabase, freshName, postChange } from "../support/push.ts";
import { applyChange } from "../support/push_steps.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());

const dump = () => dumpDatabase(service.service.admin);

async function withScopes(app: TestApp, ...scopes: Scope[]): Promise<TestApp> {
  const options = { slug: app.slug, name: "test", scopes, expiresAt: undefined };
  const { text } = await issueKey(testDeps(service.service), options);
  service.secrets.add(text);
  return { ...app, key: text };
}

const post = (app: TestApp, change: Change, more: object = {}) =>
  postChange(service, app, change, more);

/** An app with one row. */
async function makeApp(pin = "1234", state = "open"): Promise<{ app: TestApp; table: string }> {
  const table = freshName();
  const app = await service.makeApp(
    defineSchema({
      [table]: {
        pin: t.string(),
        hours: t.number(),
        state: t.enum(["open", "done", "none"]).default("none"),
      },
    }),
  );
  await service.call(app, `/v1/data/db/${table}`, { method: "POST", json: { pin, state } });
  return { app, table };
}

type Made = { name: string; toChange: (table: string) => Change };
const DELETING: Made[] = [
  {
    name: "a drop of a column",
    toChange: (table) => ({ kind: "drop_column", table, column: "pin" }),
  },
  { name: "a drop of a table", toChange: (table) => ({ kind: "drop_table", table }) },
  {
    name: "a retype that changes values",
    toChange: (table) => ({
      ...{ kind: "retype_column", table, column: "pin", type: { kind: "number" } },
    }),
  },
];
const KEEPING: Made[] = [
  {
    name: "a rename",
    toChange: (table) => ({ kind: "rename_column", table, column: "pin", to: "code" }),
  },
  {
    name: "a drop of an unused value",
    toChange: (table) => ({ kind: "drop_value", table, column: "state", value: "done" }),
  },
  {
    name: "a retype that keeps values",
    toChange: (table) => ({
      ...{ kind: "retype_column", table, column: "hours", type: { kind: "string" } },
    }),
  },
];

describe("a key without schema:drop", () => {
  test.each(DELETING)("cannot make $name, and a plan says so", async ({ toChange }) => {
    const { app, table } = await makeApp();
    const pushing = await withScopes(app, "schema:push", "data:read", "data:write");
    const before = await dump();
    const plan = await post(pushing, toChange(table), { dryRun: true });
    expect(plan).toMatchObject({ status: 200, json: { status: "planned" } });
    expect(plan.text).toContain("SCOPE: this deletes values");
    const rejected = await post(pushing, toChange(table));
    expect(rejected).toMatchObject({ status: 403, json: { error: "forbidden" } });
    expect(rejected.text).toContain("lacks the scope schema:drop");
    expect(await dump()).toBe(before);

    const dropping = await withScopes(app, "schema:push", "schema:drop");
    const allowed = await post(dropping, toChange(table), { dryRun: true });
    expect(allowed.text).not.toContain("SCOPE");
    expect((await post(dropping, toChange(table))).json).toMatchObject({ status: "applied" });
  });

  test.each(KEEPING)("can make $name", async ({ toChange }) => {
    const { app, table } = await makeApp();
    const pushing = await withScopes(app, "schema:push");
    const plan = await post(pushing, toChange(table), { dryRun: true });
    expect(plan.text).not.toContain("SCOPE");
    expect((await post(pushing, toChange(table))).json).toMatchObject({ status: "applied" });
  });

  test("stops before a migration that deletes values", async () => {
    const table = freshName();
    const [before, after] = [{ title: t.string(), note: t.string() }, { title: t.string() }];
    const schemas = [before, after, { ...after, more: t.string() }].map((columns) =>
      defineSchema({ [table]: columns }),
    );
    const drop: Change = { kind: "drop_column", table, column: "note" };
    const history = makeHistory(schemas, { changes: { 2: drop } });
    const current = schemas.at(-1);
    const app = await service.makeApp(undefined, { scopes: ["schema:push"] });
    const send = (as: TestApp, texts: string[], more = {}) =>
      postMigrations({ service, app: as }, texts, current, more);

    const plan = await send(app, history, { dryRun: true });
    const { earlier } = Object(plan.json);
    expect(earlier.map(({ notes }: { notes: string[] }) => notes.join().includes("SCOPE"))).toEqual(
      [false, true, false],
    );
    expect((await send(app, history.slice(0, 1))).json).toMatchObject({ status: "applied" });
    const unchanged = await dump();
    const rejected = await send(app, history.slice(1, 2));
    expect(rejected.status).toBe(403);
    expect(rejected.text).toContain("Cannot apply 0002_step_2: this deletes values");
    expect(await dump()).toBe(unchanged);

    const dropping = await withScopes(app, "schema:push", "schema:drop");
    for (const text of history.slice(1))
      expect((await send(dropping, [text])).json).toMatchObject({ status: "applied" });
  });

  test("is rejected by the database, whatever scopes the process claims", async () => {
    const { app, table } = await makeApp();
    const { key } = await withScopes(app, "schema:push", "data:read");
    const proof = toProof(key.slice(key.indexOf(".") + 1));
    const by = { keyId: "forged", proof, scopes: SCOPES };
    const deps = { admin: service.pushing, log: () => undefined };
    const before = await dump();
    const change: Change = { kind: "drop_table", table };
    const options = { dryRun: false };
    const forged = applyChange(deps, { app: { ...app, by }, change, options });
    expect(await forged.catch((error) => error)).toMatchObject({ code: "unauthenticated" });
    expect(await dump()).toBe(before);
    const checked = service.pushing.query(
      `select rowhouse.check_drop_key($1, ${proofOf(key)})`,
      [app.id],
      { retry: "safe", queue: app.id },
    );
    expect(checked).rejects.toMatchObject({ signal: SIGNALS.keyRejected });
  });
});

/** Apps that differ in the values of their row. A plan changes nothing, so the plans share them. */
const PLANNED = [await makeApp("1234", "open"), await makeApp("secret", "done")];

/** Plans whose rows depend on values. */
const COUNTED: Made[] = [
  ...DELETING,
  {
    name: "a retype to guessed values",
    toChange: (table) => ({
      kind: "retype_column",
      ...{ table, column: "pin", type: { kind: "enum", values: ["1234", "5678"] } },
    }),
  },
  {
    name: "a drop of a used value",
    toChange: (table) => ({ kind: "drop_value", table, column: "state", value: "open" }),
  },
  ...KEEPING,
];

describe.each([
  { scopes: ["schema:read"] as const, isCounted: false },
  { scopes: ["schema:push"] as const, isCounted: false },
  { scopes: ["schema:push", "schema:drop", "data:write"] as const, isCounted: false },
  { scopes: ["schema:read", "data:read"] as const, isCounted: true },
])("a plan for a key with $scopes", ({ scopes, isCounted }) => {
  test.each(COUNTED)(
    `of $name ${isCounted ? "counts" : "does not depend on"} rows`,
    async ({ toChange }) => {
      const plans: string[] = [];
      for (const { app, table } of PLANNED) {
        const planned = await post(await withScopes(app, ...scopes), toChange(table), {
          dryRun: true,
        });
        plans.push(
          planned.text
            .replaceAll(table, "t")
            .replaceAll(app.id, "")
            .replace(/sha256:[0-9a-f]+/g, ""),
        );
        if (planned.status === 200)
          expect(Object(planned.json).rows).toEqual(
            isCounted ? { rows: 1, values: expect.any(Number) } : null,
          );
        if (!isCounted) expect(planned.text).toContain("a key with data:read shows how many");
      }
      if (!isCounted) expect(plans[0]).toBe(plans[1] ?? "");
    },
  );
});

test("the database counts only for a proof of a key that reads rows", async () => {
  const { app, table } = await makeApp();
  const count = async (as: TestApp) =>
    await service.pushing.query(
      `select total::text, affected::text from rowhouse.count_changed_rows($1, ${proofOf(as.key)}, $2, 'true')`,
      [app.id, table],
      { retry: "safe", queue: app.id },
    );
  const others = (await makeApp()).app;
  expect(await count(app)).toEqual([{ total: "1", affected: "1" }]);
  expect(await count(await withScopes(app, "schema:push", "schema:drop", "data:write"))).toEqual(
    [],
  );
  expect(await count(others)).toEqual([]);
});

test("the error of a retype says only that a value does not convert", async () => {
  const { app, table } = await makeApp("secret");
  const pushing = await withScopes(app, "schema:push", "schema:drop");
  const type = { kind: "number" } as const;
  const rejected = await post(pushing, { kind: "retype_column", table, column: "pin", type });
  expect(rejected).toMatchObject({
    status: 409,
    json: {
      message: `Cannot retype ${table}.pin to number: a row has a value that does not convert; change these values first; nothing was written`,
    },
  });
});
