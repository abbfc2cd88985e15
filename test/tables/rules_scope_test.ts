/** A key needs the scope `schema:rules` for rules that give people more rights on existing rows; the database checks it. */
import { describe, expect, test } from "bun:test";
import { readRows, SIGNALS, SignalError } from "../../src/db/mod.ts";
import type { Scope } from "../../src/principal.ts";
import { issueKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { testDeps } from "../support/deps.ts";
import { makeHistory, postMigrations } from "../support/history.ts";
import { freshName, postChange, postSchema, readDeclared } from "../support/push.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ service: { previews: ["browser"] } }));

const admin = () => service.service.admin;

async function withScopes(app: TestApp, ...scopes: Scope[]): Promise<TestApp> {
  const options = { slug: app.slug, name: "test", scopes, expiresAt: undefined };
  const { text } = await issueKey(testDeps(service.service), options);
  service.secrets.add(text);
  return { ...app, key: text };
}

const readAudit = async ({ slug }: TestApp) =>
  await readRows<{ actor: string; details: object }>(
    admin(),
    "select actor, details from rowhouse.audit where app = $1 and action = 'widen_rules' order by id",
    [slug],
  );

const OWN = { read: { owner: "me" } } as const;
const WRITES = { ...OWN, create: true, update: { owner: "me" } } as const;
const plain = { title: t.string(), owner: t.uuid().index(), pay: t.number() };
const model = () => t.model(plain);
const secret = () => t.model({ ...plain, pay: t.number().only("lead") });

/** The second rules give more than the first. */
const PAIRS = [
  {
    name: "a weaker condition",
    less: model().allow("member", OWN),
    more: model().allow("member", { read: true }),
    right: "member reads more rows",
  },
  {
    name: "another alternative",
    less: model().allow("member", OWN),
    more: model().allow("member", { read: [{ owner: "me" }, { title: "public" }] }),
    right: "member reads more rows",
  },
  {
    name: "another value",
    less: model().allow("member", { read: { title: ["a", "b"] } }),
    more: model().allow("member", { read: { title: ["a", "b", "c"] } }),
    right: "member reads more rows",
  },
  {
    name: "another role",
    less: model().allow("member", OWN),
    more: model().allow(["guest", "member"], OWN),
    right: "guest reads more rows",
  },
  {
    name: "first rules",
    less: model(),
    more: model().allow("member", OWN),
    right: "member reads more rows",
  },
  {
    name: "another action",
    less: model().allow("member", OWN),
    more: model().allow("member", { ...OWN, delete: { owner: "me" } }),
    right: "member deletes more rows",
  },
  {
    name: "a column that was hidden",
    less: secret().allow("member", WRITES).allow("lead", OWN),
    more: model().allow("member", WRITES).allow("lead", OWN),
    right: "member reads pay; member sets pay",
  },
  {
    name: "a column that was filled by the service",
    less: t.model({ ...plain, owner: t.uuid().owner() }).allow("member", WRITES),
    more: model().allow("member", WRITES),
    right: "member sets owner",
  },
];

describe("a key without schema:rules", () => {
  test.each(PAIRS)("cannot push $name, and a plan says so", async ({ less, more, right }) => {
    const table = freshName();
    const app = await service.makeApp(defineSchema({ [table]: less }));
    const pushing = await withScopes(app, "schema:push", "schema:drop", "data:read", "data:write");
    const wider = defineSchema({ [table]: more });
    const plan = await postSchema(service, pushing, wider, { dryRun: true });
    expect(plan).toMatchObject({ status: 200, json: { status: "planned" } });
    expect(Object(plan.json).notes).toContain(
      `WIDENED: the rules of ${table} give people more: ${right}`,
    );
    expect(plan.text).toContain("SCOPE: this gives people more rights");
    const before = await readDeclared(admin(), app);
    const rejected = await postSchema(service, pushing, wider);
    expect(rejected).toMatchObject({ status: 403, json: { error: "forbidden" } });
    expect(rejected.text).toContain(`${table}: ${right}`);
    expect(rejected.text).toContain(`issue-key ${app.slug} --scope schema:push,schema:rules`);
    expect(await readDeclared(admin(), app)).toEqual(before);
    expect(await readAudit(app)).toEqual([]);

    const widening = await withScopes(app, "schema:push", "schema:rules");
    const allowed = await postSchema(service, widening, wider, { dryRun: true });
    expect(allowed.text).toContain("WIDENED");
    expect(allowed.text).not.toContain("SCOPE");
    expect((await postSchema(service, widening, wider)).json).toMatchObject({ status: "applied" });
    const [rules] = await readDeclared(admin(), app);
    expect(await readAudit(app)).toEqual([
      {
        actor: expect.stringMatching(/^key [a-z0-9]{16}$/),
        details: { table, before: before[0]?.rules ?? null, after: Object(rules).rules },
      },
    ]);
  });

  test.each(PAIRS.filter(({ name }) => name !== "first rules"))(
    "can take away $name, and add what is new",
    async ({ less, more }) => {
      const [table, added] = [freshName(), freshName()];
      const app = await service.makeApp(defineSchema({ [table]: more }));
      const pushing = await withScopes(app, "schema:push");
      const pushed = await postSchema(
        service,
        pushing,
        defineSchema({ [table]: less, [added]: model().allow("other", { read: true }) }),
      );
      expect(pushed.json).toMatchObject({ status: "applied" });
      expect(pushed.text).not.toContain("WIDENED");
      expect(await readAudit(app)).toEqual([]);
    },
  );

  // A migration is the sender's text: its change and its definition need not fit together.
  test.each([
    { kind: "drop_column", column: "title" },
    { kind: "rename_column", column: "title", to: "was" },
    { kind: "drop_table" },
  ] as const)("cannot widen by a migration with the change $kind", async (part) => {
    const table = freshName();
    const make = (initial: string) =>
      defineSchema({
        [table]: t
          .model({ title: t.string().default(initial), pay: t.number() })
          .allow("member", { read: { title: "open" } }),
      });
    const app = await service.makeApp();
    const first = makeHistory([make("closed")]);
    const widening = await withScopes(app, "schema:push", "schema:rules", "data:write");
    expect((await postMigrations({ service, app: widening }, first, make("closed"))).status).toBe(
      200,
    );
    await service.call(widening, `/v1/data/db/${table}`, { method: "POST", json: { pay: 1 } });
    const change = { ...part, table };
    const both = makeHistory([make("closed"), make("open")], { changes: { 2: change } });
    const pushing = await withScopes(app, "schema:push", "schema:drop", "data:read");
    const sent = await postMigrations({ service, app: pushing }, both.slice(1), make("open"));
    expect(sent.json).toMatchObject({
      error: part.kind === "rename_column" ? "forbidden" : "incompatible_schema",
    });
    const { json } = await service.call(pushing, `/v1/data/db/${table}`);
    expect(json).toMatchObject({ rows: [{ title: "closed" }] });
  });

  test("cannot widen a shared table by a migration that changes the table of its owner", async () => {
    const table = freshName();
    const shape = { title: t.string(), note: t.string() };
    await service.makeApp(defineSchema({ [table]: t.model(shape) }));
    for (const part of [
      { kind: "drop_table" },
      { kind: "rename_column", column: "title", to: "note" },
    ] as const) {
      const less = defineSchema({
        [table]: t.model(shape).allow("member", { read: { title: "open" } }),
      });
      const more = defineSchema({
        [table]: t.model(shape).allow("member", { read: { note: "open" } }),
      });
      const app = await service.makeApp();
      const widening = await withScopes(app, "schema:push", "schema:rules");
      const texts = makeHistory([less, more], { changes: { 2: { ...part, table } } });
      expect(
        (await postMigrations({ service, app: widening }, texts.slice(0, 1), less)).status,
      ).toBe(200);
      const pushing = await withScopes(app, "schema:push", "schema:drop");
      const { status } = await postMigrations({ service, app: pushing }, texts.slice(1), more);
      expect([part.kind, status]).toEqual([part.kind, part.kind === "drop_table" ? 409 : 403]);
    }
  });

  test("can add a column, and rename what rules name", async () => {
    const [table, teams, members] = [freshName(), freshName(), freshName()];
    const make = (more: object) =>
      defineSchema({
        [teams]: { name: t.string() },
        [members]: { person: t.uuid(), team: t.ref(teams) },
        [table]: t
          .model({ owner: t.uuid(), pay: t.number().only("lead"), team: t.ref(teams), ...more })
          .allow("member", { read: [{ owner: "me" }, { team: { memberOf: members } }] })
          .allow("lead", { read: true }),
      });
    const app = await service.makeApp(make({}));
    const pushing = await withScopes(app, "schema:push");
    expect((await postSchema(service, pushing, make({ note: t.string() }))).status).toBe(200);
    for (const change of [
      { kind: "rename_column", table, column: "pay", to: "salary" },
      { kind: "rename_column", table: members, column: "person", to: "who" },
      { kind: "rename_table", table: members, to: freshName() },
      { kind: "rename_table", table, to: freshName() },
    ])
      expect((await postChange(service, pushing, change)).json).toMatchObject({
        status: "applied",
      });
    expect(await readAudit(app)).toEqual([]);
  });
});

test("the database rejects changed rules of a process that does not say what they widen", async () => {
  const table = freshName();
  const app = await service.makeApp(defineSchema({ [table]: model().allow("member", OWN) }));
  const pushing = await withScopes(app, "schema:push");
  const widening = await withScopes(app, "schema:push", "schema:rules");
  const [declared] = await readDeclared(admin(), app);
  const record = (key: string | null, rules: unknown, more: object = {}) =>
    readRows(admin(), "select rowhouse.log_widened($1, $2::text::jsonb, $3::text::jsonb)", [
      app.id,
      JSON.stringify({ keyId: key?.slice(3, 19) ?? null, ...more }),
      JSON.stringify([{ definition: { ...declared, rules } }]),
    ]);
  const all = { allow: { member: { read: [{}] } } };
  const rejected: unknown = await record(pushing.key, all).catch((error) => error);
  expect(rejected).toBeInstanceOf(SignalError);
  expect(Object(rejected).signal).toBe(SIGNALS.pushBusy);
  await record(pushing.key, Object(declared).rules);
  await record(pushing.key, all, { widened: [] });
  expect(await readAudit(app)).toEqual([]);
  await record(widening.key, all);
  await record(null, all);
  expect((await readAudit(app)).map(({ actor }) => actor.slice(0, 4))).toEqual(["key ", "oper"]);
});
