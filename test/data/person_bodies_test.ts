/** The functions of views: what PostgreSQL enforces without any check of the process. */
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
  teams: {
    columns: { name: { kind: "string", required: true } },
    rules: {
      allow: {
        member: { read: { name: ["open", "shared"] } },
        lead: "everything",
        viewer: { read: true },
      },
    },
  },
  members: {
    columns: {
      person: { kind: "uuid", required: true },
      team: { kind: "ref", table: "teams", required: true },
    },
    indexes: [["person", "team"]],
    rules: {
      allow: {
        lead: "everything",
        member: { read: { person: "me" }, create: { team: { memberOf: "members" } } },
      },
    },
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
        editor: { read: { person: "me" }, update: { from: true, to: true }, delete: true },
      },
    },
  },
  nodes: {
    columns: { parent: { kind: "ref", table: "folders" }, title: "string" },
    rules: { allow: { member: { read: { parent: { readable: true } }, create: true } } },
  },
  folders: {
    columns: { owner: "uuid" },
    rules: { allow: { member: { read: { owner: "me" }, create: true } }, owner: ["owner"] },
  },
  todos: {
    columns: {
      title: { kind: "string", required: true },
      status: {
        kind: "enum",
        values: ["open", "done", "approved"],
        required: true,
        default: "open",
      },
      owner: { kind: "uuid", required: true },
      team: { kind: "ref", table: "teams" },
      cost: { kind: "decimal", default: "1.50" },
      approved_by: "string",
      code: { kind: "string", unique: true },
      changed: { kind: "timestamp", default: "now", onUpdate: "now" },
    },
    indexes: [
      ["owner", "id"],
      ["team", "id"],
    ],
    rules: {
      allow: {
        viewer: { read: { status: ["done", "approved"] } },
        clerk: { create: true },
        member: {
          read: [{ owner: "me" }, { team: { memberOf: "members" } }],
          create: { status: "open" },
          update: { from: { owner: "me", status: "open" }, to: { status: ["open", "done"] } },
          delete: { owner: "me", status: "open" },
        },
        lead: "everything",
      },
      owner: ["owner"],
      only: { cost: ["lead"] },
      setBy: { approved_by: ["lead"] },
    },
  },
});

const service = await share(openTestService({ service: { ...UNGUARDED, previews: ["browser"] } }));
const app = await service.makeApp();
const views = await share(
  openPersonViews(service, { app, tables: TABLES, hasFilters: false }, ROW_ENDPOINTS),
);
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

async function create(
  person: TestCaller,
  body: Values,
  table = "todos",
  claim: Uint8Array | null = null,
) {
  const values = { id: makeId(), body: JSON.stringify(body), bytes: BYTES, claim };
  return parse(await person.call(table, { endpoint: "create", values }));
}

async function createMany(person: TestCaller, rows: readonly Values[], table = "todos") {
  const ids = rows.map(makeId).sort();
  const values = { ids, bodies: JSON.stringify(rows), bytes: BYTES, claim: null };
  const text = await person.call(table, { endpoint: "create_many", values });
  return (parse(text) as { rows: Values[] }).rows;
}

async function updateMany(person: TestCaller, rows: readonly (Values & { id: string })[]) {
  const ids = rows.map(({ id }) => id);
  const bodies = JSON.stringify(rows.map(({ id: _, ...row }) => row));
  const values = { ids, bodies, bytes: BYTES, claim: null };
  return await person.call("todos", { endpoint: "update_many", values });
}

async function createGroup(person: TestCaller, rows: readonly Values[], table = "todos") {
  const ids = rows.map(makeId).sort();
  const values = { ids, bodies: JSON.stringify(rows), bytes: BYTES, claims: null };
  const text = await person.call(table, { endpoint: "create_group", values });
  return (text ?? "").split("\n").map((line) => {
    const rest = line.slice(36);
    return rest.startsWith("E") ? JSON.parse(rest.slice(1)).code : JSON.parse(rest);
  });
}

async function get(person: TestCaller, id: unknown, table = "todos") {
  const values = { id: String(id), bytes: BYTES };
  return parse(await person.call(table, { endpoint: "get", values }));
}

async function update(
  person: TestCaller,
  id: unknown,
  body: Values,
  match: string | null = null,
  table = "todos",
) {
  const values = { id: String(id), body: JSON.stringify(body), bytes: BYTES, match, claim: null };
  const found = await person.call(table, { endpoint: "update", values });
  return found === "412" ? found : parse(found);
}

async function remove(person: TestCaller, id: unknown, match: string | null = null) {
  const call: EndpointCall = { endpoint: "delete", values: { id: String(id), match } };
  return await person.call("todos", call);
}

type ListOptions = { limit?: number; offset?: number; table?: string };
async function list(
  person: TestCaller,
  { limit = 100, offset = 0, table = "todos" }: ListOptions = {},
) {
  const values = { limit, offset, bytes: BYTES, known: "", inline: null };
  const text = (await person.call(table, { endpoint: "list", values })) ?? "";
  const page = JSON.parse(text.slice(text.indexOf("{"))) as {
    rows: { id: string; title: string }[];
    hasMore: boolean;
  };
  return { ...page, tag: text.slice(0, 32), titles: page.rows.map(({ title }) => title) };
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
    ({ code, column_name, constraint_name, hint }: Record<string, string>) => {
      return {
        code,
        ...(column_name ? { column: column_name } : {}),
        ...(constraint_name ? { constraint: constraint_name } : {}),
        ...(hint ? { row: hint } : {}),
      };
    },
  );

const RULE = { code: "23R01" };

describe("a function of a view", () => {
  test("rejects every proof but a live one of its app and its roles", async () => {
    const values = { id: makeId(), bytes: BYTES };
    const call = (person: TestCaller) => failure(person.call("todos", { endpoint: "get", values }));
    expect(await call(ada)).toEqual({ value: null });
    const calls: readonly EndpointCall[] = [
      { endpoint: "get", values },
      { endpoint: "list", values: { limit: 1, offset: 0, bytes: BYTES, known: "", inline: null } },
      { endpoint: "create", values: { ...values, body: "{}", claim: null } },
      { endpoint: "create_many", values: { ids: [], bodies: "[]", bytes: BYTES, claim: null } },
      { endpoint: "create_group", values: { ids: [], bodies: "[]", bytes: BYTES, claims: null } },
      { endpoint: "update", values: { ...values, body: "{}", match: null, claim: null } },
      { endpoint: "delete", values: { id: values.id, match: null } },
    ];
    // The functions of another role, as a confused process would call them.
    const swapped = { role: "member", proof: viewer.proof };
    const rejected = { code: "RH401" };
    for (const call of calls)
      expect(await failure(views.call(swapped, "todos", call))).toEqual(rejected);
    const forged = { role: "member", proof: new Uint8Array(32) };
    for (const call of calls)
      expect(await failure(views.call(forged, "todos", call))).toEqual(rejected);
    const dead = await views.makeCaller("member");
    await views.admin.unsafe("update rowhouse.proofs set expires_at = now() where person_id = $1", [
      dead.id,
    ]);
    expect(await call(dead)).toEqual(rejected);
    const key = { role: "member", proof: proofBytes(app.key) };
    for (const call of calls)
      expect(await failure(views.call(key, "todos", call))).toEqual(rejected);
  });

  test("shows rows and columns of the rule only", async () => {
    const id = await seed("todos", { title: "a", owner: ada.id, cost: "2.50", approved_by: "x" });
    const row = await get(ada, id);
    expect(row).toMatchObject({ id, title: "a", approved_by: "x" });
    expect(row).not.toHaveProperty("cost");
    expect(await get(bob, id)).toBeNull();
    expect(await get(viewer, id)).toBeNull();
    expect(await get(lead, id)).toMatchObject({ cost: "2.50" });
  });

  test("fills the owner, and rejects other owners and protected columns", async () => {
    expect(await create(ada, { title: "mine" })).toMatchObject({ owner: ada.id, status: "open" });
    expect(await create(ada, { title: "mine", owner: ada.id })).toMatchObject({ owner: ada.id });
    for (const [column, value] of [
      ["owner", bob.id],
      ["owner", null],
      ["cost", "9"],
      ["cost", null],
      ["approved_by", "ada"],
    ] as const)
      expect(await failure(create(ada, { title: "x", [column]: value }))).toEqual({
        ...RULE,
        column,
      });
    expect(await failure(create(ada, { title: "x", status: "done" }))).toEqual(RULE);
    expect(await create(lead, { title: "x", status: "done", cost: "7" })).toMatchObject({
      owner: lead.id,
      cost: "7",
    });
  });

  test("returns only ids to a role that does not read", async () => {
    const created = await create(clerk, { title: "blind" });
    expect(Object.keys(created ?? {})).toEqual(["id", "app_id"]);
    expect(await get(lead, created?.["id"])).toMatchObject({ owner: clerk.id, cost: "1.50" });
    const [one] = await createMany(clerk, [{ title: "blind" }]);
    expect(Object.keys(one ?? {})).toEqual(["id", "app_id"]);
    const [group] = await createGroup(clerk, [{ title: "blind" }]);
    expect(Object.keys(group)).toEqual(["id", "app_id"]);
  });

  test("a reference to an invisible row is one to a missing row", async () => {
    const [open, secret] = [
      await seed("teams", { name: "open" }),
      await seed("teams", { name: "s" }),
    ];
    expect(await create(ada, { title: "t", team: open })).toMatchObject({ team: open });
    const missing = { code: "23503", constraint: "todos__team__fkey" };
    for (const team of [secret, makeId()]) {
      expect(await failure(create(ada, { title: "t", team }))).toEqual(missing);
      expect(await failure(createMany(ada, [{ title: "t" }, { title: "t", team }]))).toEqual({
        ...missing,
        row: "1",
      });
      expect(await createGroup(ada, [{ title: "t", team }, { title: "t" }])).toMatchObject([
        "23503",
        { owner: ada.id },
      ]);
      const mine = await create(ada, { title: "t" });
      expect(await failure(update(ada, mine?.["id"], { team }))).toEqual(missing);
      expect(await failure(updateMany(ada, [{ id: String(mine?.["id"]), team }]))).toEqual({
        ...missing,
        row: "0",
      });
    }
  });

  test("a row cannot be the membership that allows it", async () => {
    const team = await seed("teams", { name: "open" });
    const rows = [{ person: ada.id, team }];
    expect(await failure(create(ada, rows[0] ?? {}, "members"))).toEqual(RULE);
    expect(await failure(createMany(ada, rows, "members"))).toEqual({ ...RULE, row: "0" });
    expect(await createGroup(ada, rows, "members")).toEqual(["23R01"]);
    await seed("members", { person: ada.id, team });
    expect(await create(ada, { person: bob.id, team }, "members")).not.toHaveProperty("person");
  });

  test("an update needs the rules for reading, before and after", async () => {
    const mine = (await create(ada, { title: "u" }))?.["id"];
    expect(await update(ada, mine, { title: "v" })).toMatchObject({ title: "v" });
    expect(await update(bob, mine, { title: "w" })).toBeNull();
    expect(await update(bob, mine, { title: "w" }, "00")).toBeNull();
    expect(await update(ada, makeId(), { title: "w" })).toBeNull();
    expect(await failure(update(ada, mine, { status: "approved" }))).toEqual(RULE);
    expect(await failure(update(ada, mine, { owner: ada.id }))).toEqual({
      ...RULE,
      column: "owner",
    });
    expect(await failure(update(ada, mine, { cost: "1" }))).toEqual({ ...RULE, column: "cost" });
    expect(await get(ada, mine)).toMatchObject({ title: "v", status: "open" });
    expect(await update(ada, mine, { title: "w" }, "00")).toBe("412");
    expect(await update(ada, mine, { status: "done" })).toMatchObject({ status: "done" });
    for (const match of [null, "00"])
      expect(await failure(update(ada, mine, { title: "w" }, match))).toEqual(RULE);
    const row = await get(lead, mine);
    expect(row).toMatchObject({ title: "v", status: "done", cost: "1.50" });
    expect(row?.["changed"]).not.toBeNull();
  });

  test("a rule for changes allows no change of a row that the person does not read", async () => {
    const editor = await views.makeCaller("editor");
    const id = await seed("tickets", { person: ada.id, title: "t" });
    expect(await update(editor, id, { title: "x" }, null, "tickets")).toBeNull();
    const values = { ids: [id], bodies: '[{"title":"x"}]', bytes: BYTES, claim: null };
    expect(await editor.call("tickets", { endpoint: "update_many", values })).toStartWith("N");
    const call: EndpointCall = { endpoint: "delete", values: { id, match: null } };
    expect(await editor.call("tickets", call)).toBeNull();
    expect(await get(ada, id, "tickets")).toMatchObject({ title: "t" });
  });

  test("a membership is one of the person", async () => {
    const team = await seed("teams", { name: "private" });
    await seed("members", { person: bob.id, team });
    const id = await seed("todos", { title: "p", owner: lead.id, team });
    expect(await get(bob, id)).toMatchObject({ id });
    expect(await get(ada, id)).toBeNull();
  });

  test("a row that a change hands over has only ids", async () => {
    const make = () => seed("tickets", { person: ada.id, title: "t" });
    const id = await make();
    expect(await update(ada, id, { person: bob.id }, null, "tickets")).toEqual({
      id,
      app_id: app.id,
    });
    expect(await get(ada, id, "tickets")).toBeNull();
    expect(await get(bob, id, "tickets")).toMatchObject({ title: "t" });
    const ids = [await make(), await make()];
    const updates = ids.map((_, at) => (at === 0 ? { person: bob.id } : { title: "u" }));
    const values = { ids, bodies: JSON.stringify(updates), bytes: BYTES, claim: null };
    const written = parse(await ada.call("tickets", { endpoint: "update_many", values }));
    expect(written).toMatchObject({ rows: [{ id: ids[0] }, { id: ids[1], title: "u" }] });
    expect(JSON.stringify(written)).not.toContain(bob.id);
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
    const patch = (id: string) => update(ada, id, { title: "x" }, null, "tickets");
    const drop = (id: string) =>
      ada.call("tickets", { endpoint: "delete", values: { id, match: null } });
    for (const write of [patch, drop]) {
      expect(await waiting(`person = '${bob.id}'`, write)).toEqual({ value: null });
      expect(await waiting(`person = '${bob.id}', "isFree" = true`, write)).toEqual(RULE);
      expect(await waiting(`title = 'other'`, write)).not.toHaveProperty("code");
    }
  });

  test("a row is readable with the row that it refers to", async () => {
    const [mine, foreign] = [await create(ada, {}, "folders"), await create(bob, {}, "folders")];
    const node = await create(ada, { title: "n", parent: mine?.["id"] }, "nodes");
    expect(node).toMatchObject({ title: "n" });
    expect(await get(ada, node?.["id"], "nodes")).toMatchObject({ title: "n" });
    expect(await get(bob, node?.["id"], "nodes")).toBeNull();
    expect((await list(bob, { table: "nodes" })).rows).toEqual([]);
    expect((await list(ada, { table: "nodes" })).titles).toEqual(["n"]);
    expect(await failure(create(ada, { parent: foreign?.["id"] }, "nodes"))).toMatchObject({
      code: "23503",
    });
    expect(Object.keys((await create(ada, { title: "free" }, "nodes")) ?? {})).toHaveLength(2);
  });

  test("a delete needs its rule", async () => {
    const mine = (await create(ada, { title: "d" }))?.["id"];
    expect(await remove(bob, mine)).toBeNull();
    expect(await remove(bob, mine, "00")).toBeNull();
    expect(await remove(ada, mine, "00")).toBe("412");
    await update(ada, mine, { status: "done" });
    for (const match of [null, "00"]) expect(await failure(remove(ada, mine, match))).toEqual(RULE);
    expect(await remove(lead, mine)).toBe("");
    expect(await remove(ada, mine)).toBeNull();
    const next = (await create(ada, { title: "d" }))?.["id"];
    expect(await remove(ada, next)).toBe("");
  });

  test("a batch reports its row, and writes nothing", async () => {
    const title = makeId();
    expect(
      await failure(createMany(ada, [{ title }, { title, status: "done" }, { title, cost: "1" }])),
    ).toEqual({ ...RULE, row: "1" });
    expect(await failure(createMany(ada, [{ title }, { title, cost: "1" }]))).toEqual({
      ...RULE,
      row: "1",
      column: "cost",
    });
    expect((await list(lead, { limit: 1000 })).titles).not.toContain(title);
    const rows = await createMany(ada, [{ title }, { title, owner: ada.id }]);
    expect(rows).toMatchObject([{ owner: ada.id }, { owner: ada.id }]);
    expect(rows[0]).not.toHaveProperty("cost");
  });

  test("a group reports each row", async () => {
    const results = await createGroup(ada, [
      { title: "g" },
      { title: "g", status: "done" },
      { title: "g", owner: bob.id },
      { title: "g", code: "g" },
      { title: "g", code: "g" },
    ]);
    expect(results).toMatchObject([{ owner: ada.id }, "23R01", "23R01", { code: "g" }, "23505"]);
  });

  test("an update of several rows reports its row, and writes nothing", async () => {
    const [one = "", two = "", done = ""] = (
      await createMany(ada, [{ title: "1" }, { title: "2" }, { title: "3" }])
    ).map(({ id }) => String(id));
    const foreign = String((await create(bob, { title: "4" }))?.["id"]);
    await update(ada, done, { status: "done" });
    const many = (...rows: (Values & { id: string })[]) => failure(updateMany(ada, rows));
    const x = { title: "x" };
    expect(await many({ id: one, ...x }, { id: done, ...x })).toEqual({ ...RULE, row: "1" });
    expect(await many({ id: one, ...x }, { id: two, status: "approved" })).toEqual({
      ...RULE,
      row: "1",
    });
    expect(await many({ id: one, ...x }, { id: two, cost: "1" })).toEqual({
      ...RULE,
      row: "1",
      column: "cost",
    });
    for (const id of [foreign, makeId()])
      expect(await many({ id: one, ...x }, { id: done, ...x }, { id, ...x })).toEqual({
        value: 'N{"missing" : [2], "unmatched" : []}',
      });
    expect(await get(ada, one)).toMatchObject({ title: "1" });
    const written = parse(
      await updateMany(ada, [
        { id: two, ...x },
        { id: one, status: "done" },
      ]),
    );
    expect(written).toMatchObject({
      rows: [
        { id: two, ...x },
        { id: one, status: "done" },
      ],
    });
  });

  // Removed with the function's member "updates" when no process of 0.1 can run beside this release.
  test("the function of creates updates rows for a process of 0.1, if the role may", async () => {
    const updateFormerly = (person: TestCaller, id: string) => {
      const values = {
        ids: [id],
        bodies: '{"updates":[{"title":"x"}]}',
        bytes: BYTES,
        claim: null,
      };
      return person.call("todos", { endpoint: "create_many", values });
    };
    const id = await seed("todos", { title: "p", owner: lead.id });
    expect(parse(await updateFormerly(lead, id))).toMatchObject({ rows: [{ id, title: "x" }] });
    expect(await failure(updateFormerly(clerk, id))).toEqual({ code: "RH404" });
  });

  test("a replay belongs to the person, and shows what the person reads now", async () => {
    const claim = claimOf("k", "b");
    const first = await create(ada, { title: "k" }, "todos", claim);
    expect(first).toMatchObject({ title: "k" });
    const values = { id: makeId(), body: '{"title":"k"}', bytes: BYTES, claim };
    const again = () => ada.call("todos", { endpoint: "create", values });
    expect(await again()).toBe(`R${JSON.stringify(first)}`);
    expect((await create(bob, { title: "k" }, "todos", claim))?.["id"]).not.toBe(first?.["id"]);
    // Another role does not see a column of the response.
    const boss = await views.makeCaller("lead");
    const whole = await create(boss, { title: "k" }, "todos", claim);
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
    expect(
      await failure(
        ada.call("todos", {
          endpoint: "create",
          values: { ...values, claim: claimOf("k", "other") },
        }),
      ),
    ).toEqual({ value: "M" });
  });
});

describe("a list", () => {
  test("merges the ways to rows in the order of ids, each row once", async () => {
    const reader = await views.makeCaller("member");
    const [one, two] = [await seed("teams", { name: "1" }), await seed("teams", { name: "2" })];
    for (const team of [one, one, two]) await seed("members", { person: reader.id, team });
    const expected: string[] = [];
    for (let at = 0; at < 12; at++) {
      const title = `m${at}`;
      const owner = at % 3 === 0 ? reader.id : bob.id;
      const team = at % 2 === 0 ? (at % 4 === 0 ? one : two) : null;
      await seed("todos", { title, owner, team });
      if (owner === reader.id || team !== null) expected.push(title);
    }
    expect((await list(reader)).titles).toEqual(expected);
    const pages: string[] = [];
    for (let offset = 0; ; offset += 3) {
      const page = await list(reader, { limit: 3, offset });
      pages.push(...page.titles);
      if (!page.hasMore) break;
    }
    expect(pages).toEqual(expected);
    expect((await list(reader, { limit: 0 })).hasMore).toBe(true);
    expect(await list(reader, { offset: 9999 })).toMatchObject({ rows: [], hasMore: false });
    // What skips more rows reads them all: docs/browser.md has the bound.
    await expect(list(reader, { offset: 10_000 })).rejects.toMatchObject({ code: "RH020" });
    expect((await list(bob, { limit: 1000 })).titles).not.toContain("m0");
  });

  test("has tags of its person", async () => {
    const [one, two] = [await views.makeCaller("member"), await views.makeCaller("member")];
    const [first, second] = [await list(one), await list(two)];
    expect(first.rows).toEqual([]);
    expect(first.tag).not.toBe(second.tag);
    expect((await list(one)).tag).toBe(first.tag);
  });

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
    const page = async (bytes: number, offset = 0) => {
      const values = { limit: 100, offset, bytes, known: "", inline: null };
      const text = (await reader.call("todos", { endpoint: "list", values })) ?? "";
      return JSON.parse(text.slice(text.indexOf("{"))) as { rows: unknown[]; hasMore: boolean };
    };
    expect((await page(BYTES)).rows).toHaveLength(6);
    const short = await page(5000);
    expect(short.hasMore).toBe(true);
    expect(short.rows).toHaveLength(3);
    expect((await page(5000, 3)).rows).toHaveLength(3);
    expect(await failure(page(1000))).toEqual({ code: "RH413" });
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
