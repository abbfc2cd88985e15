/** Imports in the Console: a line for each, and an undo that never overwrites what someone changed since. */
import { beforeEach, expect, spyOn, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { toSessionToken } from "../../src/identity/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { ROOT } from "../support/command.ts";
import { expectPage } from "../support/page_text.ts";
import {
  makePerson,
  readHidden,
  signInAs,
  submitForm,
  toCookieHeader,
  visit,
} from "../support/people.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const SCHEMA = defineSchema({
  todos: {
    title: t.string().required(),
    tag: t.string().unique(),
    rank: t.integer(),
    above: t.ref("todos"),
    under: t.ref("todos", { onDelete: "cascade" }),
  },
  notes: { todo: t.ref("todos", { onDelete: "cascade" }) },
});
const TODOS = "/v1/data/db/todos";
/** Added to the clock at each look at it: the calls of one part then last longer than a request. */
let stepMs = 0;
let ahead = 0;
/** Whether an undo fails after its first part. */
let isBroken = false;
/** What someone else does between the plan of an undo and its first delete. */
let onDelete: string | undefined;
const now = () => {
  const { stack = "" } = new Error();
  if (onDelete !== undefined && /created_rows/.test(stack) && !/queryRows/.test(stack)) {
    const sql = onDelete;
    onDelete = undefined;
    // The process waits: no other part of it runs meanwhile.
    const script = `import postgres from "postgres";
      await postgres(process.argv[1]).unsafe(process.argv[2]); process.exit()`;
    const argv = [process.execPath, "-e", script, service.database.superuserUrl, sql];
    const { success, stderr } = Bun.spawnSync(argv, { cwd: ROOT });
    if (!success) throw new Error(stderr.toString());
  }
  if (isBroken && /at undoImport/.test(stack)) throw new Error("Planted");
  ahead += stepMs;
  return Date.now() + ahead;
};
const service = await share(
  openTestService({ service: { previews: ["filters", "history"], now } }),
);
const jar = await signInAs(
  service,
  await makePerson(service, { name: "Ada", consoleRole: "admin" }),
);
let app: TestApp;
let table: string;
beforeEach(async () => {
  app = await service.makeApp(SCHEMA);
  await setAppSwitch(service.service, app.slug, ["history", true]);
  table = `/console/apps/${app.slug}/tables/todos`;
});

type Row = Record<string, unknown> & { id: string };

/** Sends as the script of the page does. */
async function send(path: string, method: string, json: unknown, headers = {}): Promise<Row[]> {
  const cookie = toCookieHeader(jar);
  const token = toSessionToken(new Request(service.url, { headers: { cookie } }));
  const response = await fetch(`${service.url}/console/apps/${app.slug}/data/${path}`, {
    method,
    headers: {
      ...{ cookie, origin: service.url, "form-token": token, "content-type": "application/json" },
      ...headers,
    },
    body: JSON.stringify(json),
  });
  const text = await response.text();
  expect([path, response.status < 300, text]).toEqual([path, true, text]);
  return (text === "" ? [] : (JSON.parse(text).rows ?? [])) as Row[];
}

const FILE = { file: "customers.csv", digest: "a".repeat(64) };

/** Begins an import, whose requests `run` sends. */
async function importFile(
  run: (act: Record<string, string>) => Promise<unknown>,
  wrote?: Record<"created" | "changed" | "deleted", number>,
): Promise<string> {
  const act = crypto.randomUUID();
  await send("todos/imports", "POST", { step: "begin_import", about: { act, ...FILE, rows: 4 } });
  await run({ "rows-act": act });
  if (wrote !== undefined)
    await send("todos/imports", "POST", {
      step: "import_rows",
      about: { act, file: FILE.file, wrote },
    });
  return act;
}

const create = (json: readonly object[], act = {}) => send("todos", "POST", json, act);
const call = (path: string, method: string, json?: object) =>
  service.call(app, path, { method, ...(json !== undefined && { json }) });
const list = async () => ((await call(`${TODOS}?order=tag`, "GET")).json as { rows: Row[] }).rows;
const open = async (path: string) => {
  const page = await visit(service, jar, path);
  expect(page.status).toBe(200);
  return page.text.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
};
const undo = (act: string) => submitForm(service, jar, { path: `${table}/imports/${act}` });

test("an import that creates, changes and deletes rows is one line, and one undo of all, which can be undone", async () => {
  const [a, b, c] = await create(["a", "b", "c"].map((tag) => ({ title: tag, tag })));
  const before = await list();
  const act = await importFile(
    async (headers) => {
      await send(
        "todos?onConflict=tag",
        "POST",
        [
          { tag: "a", title: "changed" },
          { tag: "new", title: "new" },
          { tag: "more", title: "more" },
        ],
        headers,
      );
      await send("todos", "PATCH", [{ id: b?.id, rank: 7 }], headers);
      await send(`todos/${c?.id}`, "DELETE", undefined, headers);
    },
    { created: 2, changed: 2, deleted: 1 },
  );
  const imported = await list();
  const line = "Imported 5 rows from customers.csv : 2 created, 2 changed, 1 deleted";
  const history = await open(`${table}/history`);
  expect(history).toContain(line);
  expect(history).toContain("Ada");
  expect(history.match(/Changed|Deleted \d/g) ?? []).toEqual([]);
  expect(await open(`${table}/import`)).toContain(line);
  const page = await undo(act);
  expectPage(page, 200, "Undone: 1 created, 2 changed, 2 deleted.");
  expect(await list()).toEqual(before);
  expect(await open(`${table}/imports/${act}`)).toContain("Undone");
  expect(await open(`${table}/history`)).toContain("Undid the import of customers.csv");
  // The undo is an act too.
  const [, back = ""] = /imports\/([0-9a-f-]+)">Undone/.exec(
    (await visit(service, jar, `${table}/history`)).text,
  ) ?? [""];
  expect((await undo(back)).status).toBe(200);
  expect(await list()).toEqual(imported);
  // The import is not undone any more.
  expect(await open(`${table}/imports/${act}`)).not.toContain("Undone");
  // Again: nothing is left to undo.
  expectPage(await undo(back), 200, "nothing stored");
  expect(a?.id).toBe(imported.find(({ tag }) => tag === "a")?.id);
});

test("an undo names and leaves what someone changed since, and what others reference", async () => {
  const [old, gone] = await create(["old", "gone"].map((tag) => ({ title: tag, tag })));
  let rows: Row[] = [];
  const act = await importFile(async (headers) => {
    rows = await create(
      ["changed", "noted", "plain"].map((tag) => ({ title: tag, tag })),
      headers,
    );
    await send("todos", "PATCH", [{ id: old?.id, title: "imported" }], headers);
    await send(`todos/${gone?.id}`, "DELETE", undefined, headers);
  });
  const [changed, noted] = rows;
  await call(`${TODOS}/${changed?.id}`, "PATCH", { rank: 1 });
  await call("/v1/data/db/notes", "POST", { todo: noted?.id });
  await call(`${TODOS}/${old?.id}`, "PATCH", { title: "by another" });
  await call(TODOS, "POST", { title: "other", tag: "gone" });
  expect(await open(`${table}/imports/${act}`)).toContain("Began to import 4 rows");
  const { text } = await undo(act);
  const shown = text.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  expect(shown).toContain("Undone: 1 deleted. 4 rows stay as they are:");
  for (const why of [
    "changed : changed since it was created",
    "noted : a row of notes references it",
    "old : changed since: title",
    "gone : tag:",
  ])
    expect(shown).toContain(why);
  expect((await list()).map(({ tag, title }) => [tag, title])).toEqual([
    ["changed", "changed"],
    ["gone", "other"],
    ["noted", "noted"],
    ["old", "by another"],
  ]);
  expect(await call(`/v1/data/db/notes`, "GET")).toMatchObject({ json: { rows: [{}] } });
});

test("a row that stays keeps the rows above it, which would delete it", async () => {
  const act = await importFile(async (headers) => {
    let under: string | undefined;
    for (const tag of ["1", "2", "3"]) {
      const [row] = await create([{ title: tag, tag, under }], headers);
      under = row?.id;
    }
    await create([{ title: "4", tag: "4" }], headers);
  });
  const [, , last] = await list();
  await call(`${TODOS}/${last?.id}`, "PATCH", { rank: 1 });
  expectPage(await undo(act), 200, "Undone: 1 deleted.", "3 rows stay as they are:");
  expect((await list()).map(({ tag }) => tag)).toEqual(["1", "2", "3"]);
});

test("a row that changes during an undo stays, and so do the rows above it", async () => {
  const act = await importFile(async (headers) => {
    let under: string | undefined;
    for (const tag of ["1", "2", "3"]) {
      const [row] = await create([{ title: tag, tag, under }], headers);
      under = row?.id;
    }
  });
  onDelete = `update data.todos set rank = 1 where tag = '2' and app_id = '${app.id}'`;
  const page = await undo(act);
  expect(onDelete).toBeUndefined();
  expectPage(page, 200, "Undone: 1 deleted.", "2 rows stay as they are:");
  expect((await list()).map(({ tag, rank }) => [tag, rank])).toEqual([
    ["1", null],
    ["2", 1],
  ]);
});

test("an undo leaves a row whose later changes the limit of the history has deleted", async () => {
  const act = await importFile((headers) =>
    create(
      ["changed", "plain"].map((tag) => ({ title: tag, tag })),
      headers,
    ),
  );
  const [changed] = await list();
  await call(`${TODOS}/${changed?.id}`, "PATCH", { rank: 1 });
  const swept = await readRows(
    service.service.admin,
    `with entered as materialized (select set_config('rowhouse.app_id', $1::text, true)),
      large as materialized (update rowhouse.row_changes set bytes = 1000000000 from entered
        where app_id = $1::uuid and changed_by like 'key %' returning id)
    select rowhouse.sweep_history(10, 1) as swept from (select count(*) from large) as counted`,
    [app.id],
  );
  expect(swept).toEqual([{ swept: 1 }]);
  const page = await undo(act);
  expectPage(page, 200, "Undone: 1 deleted.", "changed</bdi></a>: changed since it was created");
  expect(await list()).toMatchObject([{ tag: "changed", rank: 1 }]);
});

test("the history has all imports of a page, and names the older ones on the next", async () => {
  const act = await importFile((headers) => create([{ title: "first", tag: "1" }], headers));
  await call(`${TODOS}/${(await list())[0]?.id}`, "PATCH", { rank: 1 });
  await service.service.admin.message(`set rowhouse.app_id = '${app.id}';
    with of as (select actor, details from rowhouse.audit where details ->> 'act' = '${act}'),
      written as (
        insert into rowhouse.row_changes (app_id, table_name, row_id, changed_by, before, bytes, is_created)
        select '${app.id}', 'todos', gen_random_uuid(), 'console ' || actor || ' ' || gen_random_uuid(),
          '{}', 1, true from of, generate_series(1, 101)
        returning id, split_part(changed_by, ' ', 3) as act)
    insert into rowhouse.audit (actor, action, details)
      select actor, 'begin_import', details || jsonb_build_object('act', act, 'from', id)
      from of, written order by id;
    reset rowhouse.app_id; select 1`);
  const { text } = await visit(service, jar, `${table}/history`);
  expect(text.match(/Began to import/g)).toHaveLength(100);
  expect(text).not.toContain("Changed");
  const [, older = ""] = /href="([^"]*)">Older/.exec(text) ?? [];
  const next = (await visit(service, jar, older.replaceAll("&amp;", "&"))).text;
  expect(next.match(/Began to import/g)).toHaveLength(2);
  expect(next).toMatch(/Changed <bdi>rank/);
  expect(next).not.toContain(">Older");
});

test("an undo waits at the rate limit of the Console", async () => {
  const many = Array.from({ length: 200 }, (_, n) => ({ title: `t${n}` }));
  const act = await importFile((headers) => create(many, headers));
  const setTokens = async (tokens: number) =>
    await service.service.admin.message(`
      insert into rowhouse.buckets (name, per_minute, tokens, counted_at)
        values ('console ${app.id}', 6000, ${tokens}, clock_timestamp())
        on conflict (name) do update set tokens = excluded.tokens, counted_at = excluded.counted_at;
      select 1`);
  await setTokens(-20);
  let waits = 0;
  const sleep = spyOn(Bun, "sleep").mockImplementation(async (ms) => {
    // Leases wait shorter.
    if (Number(ms) >= 1000 && waits++ === 0) await setTokens(6000);
    await new Promise((resolve) => setTimeout(resolve, Math.min(Number(ms), 300)));
  });
  const page = await undo(act).finally(() => sleep.mockRestore());
  expect(waits).toBeGreaterThan(0);
  expectPage(page, 200, "Undone: 200 deleted.");
});

test("an undo that the service rejects stops, and marks nothing as undone", async () => {
  const [old] = await create([{ title: "old", tag: "old" }]);
  const act = await importFile(async (headers) => {
    await create([{ title: "new", tag: "new" }], headers);
    await send("todos", "PATCH", [{ id: old?.id, rank: 7 }], headers);
  });
  const path = `${table}/imports/${act}`;
  // Also if only deletes are left.
  for (const rank of [7, 8]) {
    await call(`${TODOS}/${old?.id}`, "PATCH", { rank });
    await setAppSwitch(service.service, app.slug, ["read_only", true]);
    const page = await undo(act);
    await setAppSwitch(service.service, app.slug, ["read_only", false]);
    expectPage(page, 200, "Undone in part: nothing stored.", "The undo stopped:", "Continue");
    expect(page.text).not.toContain("new</bdi></a>:");
    expect(await open(path)).not.toContain("Undone");
  }
  await call(`${TODOS}/${old?.id}`, "PATCH", { rank: 7 });
  expectPage(await undo(act), 200, "Undone: 1 changed, 1 deleted.");
  // A push that drops a column hides the changes before it.
  const other = await importFile((headers) => create([{ title: "new", tag: "new" }], headers));
  await readRows(
    service.service.admin,
    `insert into rowhouse.history_edits (app_id, table_name, column_name, until)
      values ('${app.id}', 'todos', 'rank', rowhouse.last_history_id())`,
  );
  expectPage(await undo(other), 200, "The undo stopped: The history does not show all changes");
  expect(await list()).toHaveLength(2);
});

test("many rows are undone in parts, also those that reference each other", async () => {
  const act = await importFile(async (headers) => {
    const [first] = await create([{ title: "first" }], headers);
    const many = Array.from({ length: 1200 }, (_, n) => ({ title: `t${n}`, above: first?.id }));
    await create(many.slice(600), headers);
    await create(many.slice(0, 600), headers);
  });
  isBroken = true;
  const broken = await undo(act).finally(() => {
    isBroken = false;
  });
  expect(broken.status).toBe(500);
  expect((await list()).length).toBe(701);
  const history = await open(`${table}/history`);
  expect(history).toContain("Began to undo the import of customers.csv : 500 deleted");
  expect(history.match(/. Undone/g)).toHaveLength(1);
  stepMs = 60;
  const part = await undo(act).finally(() => {
    [stepMs, ahead] = [0, 0];
  });
  expectPage(part, 200, "Undone in part: 500 deleted.", "Continue");
  const path = `${table}/imports/${act}`;
  const rest = await visit(service, jar, path, { fields: readHidden(part.text) });
  // With what the first part deleted: both are one act.
  expectPage(rest, 200, "Undone: 701 deleted.");
  expect(await list()).toEqual([]);
  expect((await open(`${table}/history`)).match(/Undid the import/g)).toHaveLength(1);
});

test("created rows are in the history, and are deleted by an undo only if no one changed them", async () => {
  const act = { "rows-act": crypto.randomUUID() };
  const [one] = await create([{ title: "one" }, { title: "two" }], act);
  expect(await open(`${table}/history`)).toContain("Created 2 rows");
  expect(await open(`${table}/rows/${one?.id}/history`)).toContain("Created");
  await call(`${TODOS}/${one?.id}`, "PATCH", { rank: 1 });
  const { text } = await visit(service, jar, `${table}/history`);
  const links = [...text.matchAll(/href="([^"]*\/restore\?[^"]*)"/g)].map(([, link = ""]) => link);
  const page = await submitForm(service, jar, { path: links[1]?.replaceAll("&amp;", "&") ?? "" });
  expect(page.status).toBe(303);
  expect(await list()).toMatchObject([{ title: "one", rank: 1 }]);
  // A key that creates many rows would push out its changes.
  await call(TODOS, "POST", { title: "by a key" });
  expect(await open(`${table}/history`)).not.toContain("by a key");
});

test("an import of another table, app or person's act is not found", async () => {
  const act = await importFile((headers) => create([{ title: "one" }], headers));
  const others = [
    table.replace("todos", "notes"),
    table.replace(app.slug, (await service.makeApp(SCHEMA)).slug),
  ];
  for (const other of others) {
    expect((await visit(service, jar, `${other}/imports/${act}`)).status).toBe(404);
    expect(await open(`${other}/import`)).not.toContain("customers.csv");
  }
  expect((await visit(service, jar, `${table}/imports/${crypto.randomUUID()}`)).status).toBe(404);
});
