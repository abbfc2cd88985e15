/**
 * The functions of views: what PostgreSQL enforces without any check of the process. `person_model_test.ts` compares what the rules
 * of each role allow; here is what no request of one person shows.
 */
import { describe, expect, test } from "bun:test";
import { toProof } from "../../src/records/apps/mod.ts";
import type { EndpointCall } from "../../src/tables/catalog/mod.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileDone } from "../support/held_lock.ts";
import { openPersonViews, ROW_ENDPOINTS, type TestCaller } from "../support/person_views.ts";
import { declareRules } from "../support/rules.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

const TABLES = declareRules({
  teams: { columns: { name: "string" } },
  members: {
    columns: {
      person: { kind: "uuid", required: true },
      team: { kind: "ref", table: "teams", required: true },
    },
    indexes: [["person", "team"]],
  },
  tickets: {
    columns: { person: "uuid", title: "string", isFree: "boolean" },
    rules: {
      allow: {
        member: {
          read: [{ person: "me" }, { isFree: true }],
          update: { from: { person: "me" }, to: true },
          delete: { person: "me" },
        },
      },
    },
  },
  todos: {
    columns: {
      title: { kind: "string", required: true },
      status: { kind: "enum", values: ["open", "done"], required: true, default: "open" },
      owner: { kind: "uuid", required: true },
      team: { kind: "ref", table: "teams" },
      cost: { kind: "decimal", default: "1.50" },
    },
    indexes: [
      ["owner", "id"],
      ["team", "id"],
    ],
    rules: {
      allow: {
        viewer: { read: { status: "done" } },
        clerk: { create: true },
        member: {
          read: [{ owner: "me" }, { team: { memberOf: "members" } }],
          ...{ create: true, update: { from: true, to: true }, delete: true },
        },
        lead: "everything",
      },
      owner: ["owner"],
      only: { cost: ["lead"] },
    },
  },
});

const service = await share(openTestService({ service: { ...UNGUARDED, previews: ["browser"] } }));
const app = await service.makeApp();
const views = await share(openPersonViews(service, { app, tables: TABLES }, ROW_ENDPOINTS));
const ada = await views.makeCaller("member");
const bob = await views.makeCaller("member");
const lead = await views.makeCaller("lead");
const clerk = await views.makeCaller("clerk");
const viewer = await views.makeCaller("viewer");

const BYTES = 8_388_608;
const proofBytes = (key: string) => toProof(key.slice(key.indexOf(".") + 1));
type Values = Readonly<Record<string, unknown>>;

const makeId = () => Bun.randomUUIDv7();
const claimOf = (key: string, body: string) => {
  const claim = new Uint8Array(65);
  claim[0] = 1;
  claim.set(Bun.CryptoHasher.hash("sha256", key), 1);
  claim.set(Bun.CryptoHasher.hash("sha256", body), 33);
  return claim;
};

const parse = (text: string | null) =>
  text === null ? null : (JSON.parse(text) as Record<string, unknown>);

async function create(person: TestCaller, body: Values, claim: Uint8Array) {
  const values = { id: makeId(), body: JSON.stringify(body), bytes: BYTES, claim };
  return parse(await person.call("todos", { endpoint: "create", values }));
}

async function list(person: TestCaller, { limit = 100, offset = 0, bytes = BYTES } = {}) {
  const values = { limit, offset, bytes, known: "", inline: null };
  const text = (await person.call("todos", { endpoint: "list", values })) ?? "";
  const page = JSON.parse(text.slice(text.indexOf("{"))) as {
    rows: { id: string; title: string }[];
    hasMore: boolean;
  };
  return { ...page, titles: page.rows.map(({ title }) => title) };
}

/** A row of an API key, which no rule concerns. */
async function seed(table: string, row: Values): Promise<string> {
  const { status, json } = await service.call(app, `/v1/data/db/${table}`, {
    method: "POST",
    json: row,
  });
  expect(status).toBe(201);
  return (json as { id: string }).id;
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    (value) => ({ value }),
    ({ code }: { code: string }) => ({ code }),
  );

describe("a function of a view", () => {
  test("rejects every proof but a live one of its app and its roles", async () => {
    const values = { id: makeId(), bytes: BYTES };
    expect(await ada.call("todos", { endpoint: "get", values })).toBeNull();
    const calls: readonly EndpointCall[] = [
      { endpoint: "get", values },
      { endpoint: "list", values: { limit: 1, offset: 0, bytes: BYTES, known: "", inline: null } },
      { endpoint: "create", values: { ...values, body: "{}", claim: null } },
      { endpoint: "create_many", values: { ids: [], bodies: "[]", bytes: BYTES, claim: null } },
      { endpoint: "create_group", values: { ids: [], bodies: "[]", bytes: BYTES, claims: null } },
      { endpoint: "update", values: { ...values, body: "{}", match: null, claim: null } },
      { endpoint: "delete", values: { id: values.id, match: null } },
    ];
    const dead = await views.makeCaller("member");
    await views.admin.unsafe("update rowhouse.proofs set expires_at = now() where person_id = $1", [
      dead.id,
    ]);
    // The functions of another role, as a confused process would call them.
    for (const proof of [viewer.proof, new Uint8Array(32), dead.proof, proofBytes(app.key)])
      for (const call of calls)
        expect(await failure(views.call({ role: "member", proof }, "todos", call))).toEqual({
          code: "RH401",
        });
  });

  test("an update waits for another one, and applies the rules to the new state", async () => {
    const waiting = async (set: string, write: (id: string) => Promise<unknown>) => {
      const id = await seed("tickets", { person: ada.id, title: "w" });
      const text = `update data.tickets set ${set} where id = '${id}'`;
      // The result is not awaited before the other update has ended.
      const { result } = await whileDone(service.database.adminUrl, { text }, async () => {
        const result = failure(write(id));
        await eventually(async () => (await countLockWaits(service.service.admin)) > 0);
        return { result };
      });
      return await result;
    };
    const x = { body: '{"title":"x"}', bytes: BYTES, match: null, claim: null };
    const patch = (id: string) => ada.call("tickets", { endpoint: "update", values: { id, ...x } });
    const drop = (id: string) =>
      ada.call("tickets", { endpoint: "delete", values: { id, match: null } });
    for (const write of [patch, drop]) {
      expect(await waiting(`person = '${bob.id}'`, write)).toEqual({ value: null });
      expect(await waiting(`person = '${bob.id}', "isFree" = true`, write)).toEqual({
        code: "23R01",
      });
      expect(await waiting(`title = 'other'`, write)).not.toHaveProperty("code");
    }
  });

  test("a row that a change hands over has only ids", async () => {
    const make = () => seed("tickets", { person: ada.id, title: "t" });
    const [id, ...ids] = [await make(), await make(), await make()];
    const common = { bytes: BYTES, claim: null };
    const one = { id, body: JSON.stringify({ person: bob.id }), match: null, ...common };
    expect(parse(await ada.call("tickets", { endpoint: "update", values: one }))).toEqual({
      ...{ id, app_id: app.id },
    });
    const values = { ids, bodies: JSON.stringify([{ person: bob.id }, { title: "u" }]), ...common };
    const written = parse(await ada.call("tickets", { endpoint: "update_many", values }));
    expect(written).toMatchObject({ rows: [{ id: ids[0] }, { id: ids[1], title: "u" }] });
    expect(JSON.stringify(written)).not.toContain(bob.id);
  });

  test("an update of several rows that a rule rejects names its row", async () => {
    const ids = [
      await seed("tickets", { person: ada.id }),
      await seed("tickets", { person: bob.id, isFree: true }),
    ];
    const values = { ids, bodies: '[{"title":"x"},{"title":"x"}]', bytes: BYTES, claim: null };
    await expect(ada.call("tickets", { endpoint: "update_many", values })).rejects.toMatchObject({
      code: "23R01",
      hint: "1",
    });
  });

  // Removed with the function's member "updates" when no process of 0.1 can run beside this release.
  test("the function of creates updates rows for a process of 0.1, if the role may", async () => {
    const bodies = '{"updates":[{"title":"x"}]}';
    const updateFormerly = (person: TestCaller, id: string) => {
      const values = { ids: [id], bodies, bytes: BYTES, claim: null };
      return person.call("todos", { endpoint: "create_many", values });
    };
    const id = await seed("todos", { title: "p", owner: lead.id });
    expect(parse(await updateFormerly(lead, id))).toMatchObject({ rows: [{ id, title: "x" }] });
    expect(await failure(updateFormerly(clerk, id))).toEqual({ code: "RH404" });
  });

  test("a replay belongs to the person, and shows what the person reads now", async () => {
    const claim = claimOf("k", "b");
    const first = await create(ada, { title: "k" }, claim);
    expect(first).toMatchObject({ title: "k" });
    const values = { id: makeId(), body: '{"title":"k"}', bytes: BYTES, claim };
    const again = () => ada.call("todos", { endpoint: "create", values });
    expect(await again()).toBe(`R${JSON.stringify(first)}`);
    expect((await create(bob, { title: "k" }, claim))?.["id"]).not.toBe(first?.["id"]);
    // Another role does not see a column of the response.
    const boss = await views.makeCaller("lead");
    const whole = await create(boss, { title: "k" }, claim);
    expect(whole).toHaveProperty("cost");
    await views.admin.unsafe("update rowhouse.proofs set role = 'member' where person_id = $1", [
      boss.id,
    ]);
    const asMember = { role: "member", proof: boss.proof };
    expect(await views.call(asMember, "todos", { endpoint: "create", values })).toBe(
      `I{"id":"${whole?.["id"]}"}`,
    );
    await service.call(app, `/v1/data/db/todos/${first?.["id"]}`, {
      method: "PATCH",
      json: { owner: bob.id },
    });
    expect(await again()).toBe(`I{"id":"${first?.["id"]}"}`);
    const changed = { ...values, claim: claimOf("k", "other") };
    expect(await ada.call("todos", { endpoint: "create", values: changed })).toBe("M");
  });
});

describe("a list", () => {
  test("ends before its size exceeds the limit", async () => {
    const reader = await views.makeCaller("member");
    const team = await seed("teams", { name: "large" });
    await seed("members", { person: reader.id, team });
    const title = "x".repeat(2000);
    for (let at = 0; at < 6; at++)
      await seed("todos", {
        title,
        ...(at % 2 === 0 ? { owner: reader.id } : { owner: bob.id, team }),
      });
    expect((await list(reader)).rows).toHaveLength(6);
    const short = await list(reader, { bytes: 5000 });
    expect([short.hasMore, short.rows.length]).toEqual([true, 3]);
    expect((await list(reader, { bytes: 5000, offset: 3 })).rows).toHaveLength(3);
    expect(await failure(list(reader, { bytes: 1000 }))).toEqual({ code: "RH413" });
    expect(await list(reader, { limit: 0 })).toMatchObject({ rows: [], hasMore: true });
    expect(await list(reader, { offset: 9999 })).toMatchObject({ rows: [], hasMore: false });
    // What skips more rows reads them all: docs/browser.md has the bound.
    expect(await failure(list(reader, { offset: 10_000 }))).toEqual({ code: "RH020" });
  });

  test("does not end where a rule removes many rows", async () => {
    const reader = await views.makeCaller("viewer");
    await views.admin.unsafe(
      `insert into data.todos (app_id, id, title, status, owner)
        select $1, ('f0000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'late' || n,
          case when n in (10, 15000) then 'done' else 'open' end::data.todos__status__enum, $2
        from generate_series(1, 20000) as n`,
      [app.id, bob.id],
    );
    const { titles } = await list(reader, { limit: 1000 });
    expect(titles.slice(-2)).toEqual(["late10", "late15000"]);
    const short = await list(reader, { limit: 1 });
    expect(short.rows).toHaveLength(1);
    // A walk along an index visits only rows of the person.
    expect((await list(ada, { limit: 1000 })).titles).not.toContain("late1");
    expect((await list(bob, { limit: 1000 })).rows).toHaveLength(1000);
    await views.admin.unsafe("delete from data.todos where app_id = $1 and title like 'late%'", [
      app.id,
    ]);
  });
});
