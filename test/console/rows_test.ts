/** Rows of an app in the Console, through HTTP: read and written by a key that lives five minutes. */
import { beforeEach, describe, expect, test } from "bun:test";
import { renameApp, setLimit } from "../../src/records/apps/mod.ts";
import { runOnPerson } from "../../src/records/people/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { testDeps } from "../support/deps.ts";
import { type FormField, readForms } from "../support/forms.ts";
import { listAudit, listKeys } from "../support/lists.ts";
import { expectPage } from "../support/page_text.ts";
import { type Jar, makePerson, readHidden, signInAs, visit } from "../support/people.ts";
import { openTestService, type TestApp, type TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";

const SCHEMA = defineSchema({
  projects: { name: t.string().required() },
  todos: {
    title: t.string().required(),
    note: t.string(),
    status: t.enum(["open", "done"]).required().default("open"),
    hours: t.decimal(),
    due_at: t.timestamp(),
    project: t.ref("projects"),
    meta: t.json(),
  },
});

let jar: Jar;
let app: TestApp;
let path: string;
const service = await share(openTestService({ identity: () => ({ cookieDomain: "example.org" }) }));
const admin = await makePerson(service, { name: "Ada", consoleRole: "admin" });
beforeEach(async () => {
  app = await service.makeApp(SCHEMA);
  path = `/console/apps/${app.slug}/tables/todos`;
  jar = await signInAs(service, admin);
});

type StoredRow = { id: string; title: string };

async function addRow(json: object): Promise<StoredRow> {
  const response = await service.call(app, "/v1/data/db/todos", { method: "POST", json });
  expect(response.status).toBe(201);
  return response.json as StoredRow;
}

const write = (text: string) => service.service.admin.message(`${text}; select 1`);
const openings = async () =>
  (await listAudit(service.service, 100)).filter(
    (entry) => entry.app === app.slug && entry.action === "open_rows",
  );

describe("the key for rows", () => {
  test("is not used for another app that has the slug now", async () => {
    const { slug } = app;
    await addRow({ title: "Milk" });
    const fields = readHidden((await visit(service, jar, `${path}/new`)).text);
    expect((await visit(service, jar, path)).text).toContain("Milk");
    await renameApp(service.service, { slug, newSlug: `old-${slug}` });
    const other = await service.makeApp(SCHEMA, { slug });
    expect((await visit(service, jar, path)).text).not.toContain("Milk");
    const typed = { ...fields, "value.title": "Tea" };
    await visit(service, jar, `${path}/new`, { fields: typed });
    expect(await listRows()).toMatchObject([{ title: "Milk" }]);
    const { text } = await service.call(other, "/v1/data/db/todos");
    expect(text).toContain("Tea");
  });

  test("is created once for several pages, audited, and not listed as a key", async () => {
    await addRow({ title: "Milk" });
    for (let page = 0; page < 3; page++)
      expect((await visit(service, jar, path)).text).toContain("Milk");
    expect(await openings()).toMatchObject([
      { actor: admin.id, details: { scopes: ["data:read"], for: "rows" } },
    ]);
    expect(await listKeys(service.service, app.slug)).toHaveLength(1);
    const home = await visit(service, jar, `/console/apps/${app.slug}`);
    const [opened] = await openings();
    expect(home.text).not.toContain(String(opened?.details["keyId"]));
  });

  test.each([
    { name: "the session", end: () => runOnPerson(service.service, "end_sessions", admin.email) },
    { name: "the person's role", end: () => setRole("null") },
  ])("and its proof end with $name", async ({ end }) => {
    await visit(service, jar, path);
    const proofs = `from rowhouse.proofs where app_id = '${app.id}'`;
    expect(await count(proofs)).toBe(2);
    await end();
    expect(await count(proofs)).toBe(1);
    expect(await count("from rowhouse.person_keys")).toBe(0);
    await setRole("'admin'");
  });

  test("is not created for a disabled app, and is created again after the app is enabled", async () => {
    await visit(service, jar, path);
    await write(`select rowhouse.set_app_switch('${app.slug}', 'disabled', true, 'test')`);
    expect((await visit(service, jar, path)).text).toContain("This app is disabled");
    await write(`select rowhouse.set_app_switch('${app.slug}', 'disabled', false, 'test')`);
    expect((await visit(service, jar, path)).status).toBe(200);
    expect(await openings()).toHaveLength(2);
  });
});

const setRole = (role: string) =>
  write(`update rowhouse.users set console_role = ${role} where id = '${admin.id}'`);

async function count(from: string): Promise<number> {
  const [row] = await service.service.admin.query<{ count: number }>(
    `select count(*)::int4 as count ${from}`,
    [],
    { retry: "safe", queue: "service" },
  );
  return row?.count ?? 0;
}

describe("a page of rows", () => {
  test("distinguishes null, empty and blank, and displays values by their kind", async () => {
    await addRow({ title: "", note: null, hours: "1.50", due_at: "2026-11-21T18:00:00+01:00" });
    await addRow({ title: " \n", meta: { a: [1, "<b>"] } });
    const { text } = await visit(service, jar, path);
    for (const part of [
      '<i class="nothing">empty</i>',
      '<i class="nothing">null</i>',
      '<i class="nothing">only spaces</i>',
      "1.50",
      '<time datetime="2026-11-21T17:00:00+00:00" data-exact>2026-11-21 17:00 UTC</time>',
      "{&quot;a&quot;:[1,&quot;&lt;b&gt;&quot;]}",
    ])
      expect(text).toContain(part);
  });

  test("has the row's own tag for each row", async () => {
    const { id } = await addRow({ title: 'a "brace" {', meta: { "}": ["{", { a: "\\" }] } });
    const { headers } = await service.call(app, `/v1/data/db/todos/${id}`);
    const { text } = await visit(service, jar, path);
    const tag = headers.get("etag")?.replaceAll('"', "&quot;");
    expect(text).toContain(`data-row-id="${id}" data-etag="${tag}"`);
  });

  test("pages through 10,000 rows to the last row", async () => {
    for (let part = 0; part < 10; part++) {
      const json = Array.from({ length: 1000 }, (_, place) => ({
        title: `row ${part * 1000 + place + 1}.`,
      }));
      await service.call(app, "/v1/data/db/todos", { method: "POST", json });
    }
    const first = await visit(service, jar, path);
    expect(first.text).toContain("Rows 1 to 50");
    expect(first.text).toContain(`rel="next" href="${path}?from=51"`);
    const last = await visit(service, jar, `${path}?from=9951&limit=50`);
    expect(last.text).toContain("<bdi>row 10000.</bdi>");
    // A script counts the rows after they are displayed.
    expect(last.text).toContain("Rows 9,951 to 10,000</p>");
    expect(last.text).not.toContain('rel="next"');
    expect((await visit(service, jar, `${path}?from=20000`)).text).toContain(
      "No rows at this position",
    );
  });

  test("displays rows by the label of the rows that they reference", async () => {
    const made = await service.call(app, "/v1/data/db/projects", {
      method: "POST",
      json: { name: "<b>House</b>" },
    });
    const project = (made.json as StoredRow).id;
    await addRow({ title: "Milk", project });
    const { text } = await visit(service, jar, path);
    expect(text).toContain(`<bdi title="${project}">&lt;b&gt;House&lt;/b&gt;</bdi>`);
  });

  test("does not count toward the app's rate limit", async () => {
    await setLimit(testDeps(service.service), {
      slug: app.slug,
      perMinute: 5,
      perMinuteOfKey: undefined,
    });
    await service.service.warm();
    for (let time = 0; time < 10; time++) {
      expect((await visit(service, jar, path)).status).toBe(200);
      expect((await visit(service, jar, `/console/apps/${app.slug}/data/todos`)).status).toBe(200);
    }
    for (let time = 0; time < 5; time++)
      expect((await service.call(app, "/v1/data/db/todos")).status).toBe(200);
    expect((await service.call(app, "/v1/data/db/todos")).status).toBe(429);
    expect((await visit(service, jar, path)).status).toBe(200);
  });

  test("returns 404 for a table that the app has not pushed", async () => {
    const other = await service.makeApp(defineSchema({ wishes: { title: t.string() } }));
    expect((await visit(service, jar, path.replace("todos", "wishes"))).status).toBe(404);
    expect((await visit(service, jar, path.replace(app.slug, "nobody"))).status).toBe(404);
    expect((await visit(service, jar, path.replace(app.slug, other.slug))).status).toBe(404);
  });
});

/** The fields of an opened form, as a browser would send them. */
function readForm({ text }: TestResponse): Record<string, string> {
  const form = readForms(text).find(({ fields }) =>
    fields.some(({ name }) => /^(value\.|etag$)/.test(name)),
  );
  const isSent = ({ tag, type, attribute }: FormField) =>
    tag !== "button" && (type !== "checkbox" || attribute("checked") !== undefined);
  const sent = form?.fields.filter(isSent) ?? [];
  return Object.fromEntries(
    sent.map(({ name, tag, value }) => [
      name,
      tag === "textarea" ? value.replaceAll("\n", "\r\n") : value,
    ]),
  );
}

/** Opens a page, and sends its form with some changed fields. */
async function submit(at: string, typed: Record<string, string> = {}): Promise<TestResponse> {
  const page = await visit(service, jar, at);
  return await visit(service, jar, at, { fields: { ...readForm(page), ...typed } });
}

async function listRows(): Promise<Record<string, unknown>[]> {
  const { json } = await service.call(app, "/v1/data/db/todos");
  return (json as { rows: Record<string, unknown>[] }).rows;
}

const issuesOf = ({ text }: TestResponse, column: string) =>
  new RegExp(`id="issue.${column}"><li>([^<]*)`).exec(text)?.[1];

describe("the form of a new row", () => {
  test("leaves untouched fields to their default or null, and reads each kind as typed", async () => {
    const response = await submit(`${path}/new`, {
      "value.title": "two\r\nlines",
      "value.hours": " -0.10 ",
      "value.due_at": "2026-11-21 18:00 +01:00",
      "value.meta": '{"a": [1.50]}',
    });
    const [row] = await listRows();
    expect(response.headers.get("location")).toBe(`${path}?added=${row?.["id"]}`);
    expect(row).toMatchObject({
      title: "two\nlines",
      note: null,
      status: "open",
      hours: "-0.10",
      due_at: "2026-11-21T17:00:00+00:00",
      project: null,
      meta: { a: [1.5] },
    });
  });

  test("creates one row when it is sent twice, and reports different values", async () => {
    const fields = { ...readForm(await visit(service, jar, `${path}/new`)), "value.title": "Milk" };
    for (let time = 0; time < 2; time++)
      expect((await visit(service, jar, `${path}/new`, { fields })).status).toBe(303);
    expect(await listRows()).toHaveLength(1);
    const other = { ...fields, "value.title": "Tea" };
    const response = await visit(service, jar, `${path}/new`, { fields: other });
    expect(response.text).toContain("This form already created a row");
    expect((await visit(service, jar, `${path}/new`, { fields: readForm(response) })).status).toBe(
      303,
    );
    expect((await listRows()).map(({ title }) => title)).toEqual(["Milk", "Tea"]);
  });

  test("displays every issue at its field, keeps the input, and stores nothing", async () => {
    const response = await submit(`${path}/new`, {
      "value.title": "<b>kept</b>",
      "value.hours": "2,5",
      "value.due_at": "2026-11-21 18:00",
      "value.meta": "{a: 1}",
      "value.project": "nothing",
    });
    expect(response.status).toBe(422);
    expect(issuesOf(response, "hours")).toContain("Must be a decimal number");
    expect(issuesOf(response, "due_at")).toContain("Z or an offset");
    expect(issuesOf(response, "meta")).toContain("Must be JSON");
    expect(issuesOf(response, "project")).toBe("Must be a uuid");
    expect(response.text).toContain("&lt;b&gt;kept&lt;/b&gt;");
    expect(response.text).toContain('value="2,5"');
    expect(await listRows()).toEqual([]);
  });
});

describe("the form of a row", () => {
  test("sends only changed values, regardless of their content", async () => {
    const { id } = await addRow({
      title: "\n a\r\nb ",
      note: "",
      hours: "1.50",
      due_at: "2026-11-21T18:00:03.123456Z",
      meta: { a: [1, "é"], b: null },
    });
    const before = await service.call(app, `/v1/data/db/todos/${id}`);
    expect((await submit(`${path}/rows/${id}`)).headers.get("location")).toBe(
      `${path}?stored=${id}`,
    );
    await submit(`${path}/rows/${id}`, { "value.status": "=done" });
    const after = await service.call(app, `/v1/data/db/todos/${id}`);
    expect(after.json).toEqual({ ...(before.json as object), status: "done" });
  });

  test.each([
    { name: "a checked null box means null", typed: { "null.note": "on" }, want: null },
    { name: "an empty text is stored as a text", typed: { "value.note": "" }, want: "" },
  ])("$name", async ({ typed, want }) => {
    const { id } = await addRow({ title: "Milk", note: "x" });
    await submit(`${path}/rows/${id}`, typed);
    expect((await listRows())[0]?.["note"]).toBe(want);
  });

  test("stores a typed value instead of a checked null", async () => {
    const { id } = await addRow({ title: "Milk", note: null });
    await submit(`${path}/rows/${id}`, { "value.note": "x", "value.status": "=done" });
    expect((await listRows())[0]).toMatchObject({ note: "x", status: "done" });
  });

  test("reports the conflict to the second of two administrators, and displays both values", async () => {
    const { id } = await addRow({ title: "Milk" });
    const at = `${path}/rows/${id}`;
    const fields = { ...readForm(await visit(service, jar, at)), "value.title": "Soy milk" };
    await submit(at, { "value.title": "Oat milk", "value.hours": "2" });
    const late = await visit(service, jar, at, { fields });
    expectPage(
      late,
      412,
      "changed this row",
      "Stored value: <bdi>Oat milk</bdi>",
      "Soy milk</textarea>",
    );
    expect((await listRows())[0]).toMatchObject({ title: "Oat milk", hours: "2" });
    expect((await visit(service, jar, at, { fields: readForm(late) })).status).toBe(303);
    expect((await listRows())[0]).toMatchObject({ title: "Soy milk", hours: "2" });
  });

  test("links a reference, and rejects a missing reference at its field", async () => {
    const json = { name: "Household" };
    const made = await service.call(app, "/v1/data/db/projects", { method: "POST", json });
    const project = (made.json as StoredRow).id;
    const { id } = await addRow({ title: "Milk", project });
    const page = await visit(service, jar, `${path}/rows/${id}`);
    expect(page.text).toContain(`/tables/projects/rows/${project}"`);
    const rejected = await submit(`${path}/rows/${id}`, { "value.project": crypto.randomUUID() });
    expect([rejected.status, issuesOf(rejected, "project") === undefined]).toEqual([422, false]);
  });

  test("accepts the text of the referenced row, if only one row has it", async () => {
    for (const name of ["Household", "Garden", "Twice", "Twice"])
      await service.call(app, "/v1/data/db/projects", { method: "POST", json: { name } });
    const added = await submit(`${path}/new`, { "value.title": "Milk", "value.project": "Garden" });
    expect(added.status).toBe(303);
    const [row] = await listRows();
    const at = `${path}/rows/${row?.["id"]}`;
    expect((await submit(at, { "value.project": "Household" })).status).toBe(303);
    expect((await listRows())[0]?.["project"]).not.toBe(row?.["project"]);
    for (const text of ["Twice", "Nobody"]) {
      const rejected = await submit(at, { "value.project": text });
      expect([text, rejected.status]).toEqual([text, 422]);
      expect(issuesOf(rejected, "project")).toBeDefined();
    }
  });

  test("returns 404 for a deleted row", async () => {
    const { id } = await addRow({ title: "Milk" });
    const fields = readForm(await visit(service, jar, `${path}/rows/${id}`));
    await service.call(app, `/v1/data/db/todos/${id}`, { method: "DELETE" });
    expect((await visit(service, jar, `${path}/rows/${id}`, { fields })).status).toBe(404);
    expect((await visit(service, jar, `${path}/rows/nothing`)).status).toBe(404);
  });
});

describe("deleting a row", () => {
  test("requires confirmation, and deletes the row only in the confirmed state", async () => {
    const { id } = await addRow({ title: "Milk" });
    const at = `${path}/rows/${id}/delete`;
    const fields = readForm(await visit(service, jar, at));
    await service.call(app, `/v1/data/db/todos/${id}`, { method: "PATCH", json: { title: "Tea" } });
    expectPage(await visit(service, jar, at, { fields }), 412, "Not deleted: the row has changed.");
    expect((await submit(at)).headers.get("location")).toBe(`${path}?deleted=yes`);
    expect(await listRows()).toEqual([]);
  });

  test("rejects a forged form", async () => {
    const { id } = await addRow({ title: "Milk" });
    for (const [at, name] of [
      [`${path}/rows/${id}/delete`, "etag"],
      [`${path}/new`, "create_key"],
    ] as const)
      for (const value of ["", "\0", "a\r\nx-other: b", "\u{1f600}"])
        expect((await submit(at, { [name]: value })).status).toBe(400);
    expect(await listRows()).toHaveLength(1);
  });

  test("is rejected if other rows reference the row", async () => {
    const json = { name: "Household" };
    const made = await service.call(app, "/v1/data/db/projects", { method: "POST", json });
    const project = (made.json as StoredRow).id;
    await addRow({ title: "Milk", project });
    const rejected = await submit(`${path.replace("todos", "projects")}/rows/${project}/delete`);
    expectPage(rejected, 409, "The row was not deleted");
  });
});

describe("an export", () => {
  test("has every row once, as text without formulas", async () => {
    const json = Array.from({ length: 1000 }, (_, place) => ({ title: `row ${place}` }));
    await service.call(app, "/v1/data/db/todos", { method: "POST", json });
    await addRow({ title: '=1+1,"x"', note: "", hours: "-1.50", meta: [1] });
    const csv = await visit(service, jar, `${path}/export/csv`);
    const lines = csv.text.split("\r\n");
    expect(csv.headers.get("content-disposition")).toBe(
      `attachment; filename="${app.slug}-todos.csv"`,
    );
    expect(lines[0]).toBe("id,title,note,status,hours,due_at,project,meta");
    const titles = lines.slice(1, 1001).map((line) => line.split(",")[1]);
    expect(titles).toEqual(json.map(({ title }) => title));
    expect(lines[1001]?.slice(37)).toBe(`"'=1+1,""x""","",open,-1.50,,,[1]`);
    const file = await visit(service, jar, `${path}/export/json`);
    expect(file.json).toEqual([
      ...(await listRows()),
      ...((await service.call(app, "/v1/data/db/todos?offset=1000")).json as { rows: object[] })
        .rows,
    ]);
    expect(await openings()).toContainEqual(
      expect.objectContaining({ details: expect.objectContaining({ for: "export" }) }),
    );
  });

  test("contains rows of several megabytes, and the rows after them", async () => {
    await write(`set local role rowhouse_tenant;
      select set_config('rowhouse.app_id', '${app.id}', true);
      insert into data.todos (app_id, id, title, status) values
        ('${app.id}', '00000000-0000-7000-8000-000000000000', repeat('"{\\', 900000), 'open')`);
    await addRow({ title: "second" });
    expect((await visit(service, jar, path)).text.match(/data-row-id/g)).toHaveLength(2);
    const { json } = await visit(service, jar, `${path}/export/json`);
    expect((json as StoredRow[]).map(({ title }) => title)).toEqual([
      '"{\\'.repeat(900_000),
      "second",
    ]);
  });

  test("aborts at an unreadable row, so it does not look complete", async () => {
    for (const title of ["one", "two", "three"]) await addRow({ title });
    await write(`set local role rowhouse_tenant;
      select set_config('rowhouse.app_id', '${app.id}', true);
      insert into data.todos (app_id, id, title, status) values
        ('${app.id}', 'ffffffff-0000-7000-8000-000000000000', repeat('x', 9000000), 'open')`);
    for (const format of ["csv", "json"])
      expect(visit(service, jar, `${path}/export/${format}`)).rejects.toThrow(
        "closed unexpectedly",
      );
  });
});

test("a date is edited and displayed as its day, without a time", async () => {
  app = await service.makeApp(defineSchema({ days: { day: t.date() } }));
  path = `/console/apps/${app.slug}/tables/days`;
  expect((await visit(service, jar, `${path}/new`)).text).toContain('type="date"');
  expect((await submit(`${path}/new`, { "value.day": "2024-02-29" })).status).toBe(303);
  expect((await visit(service, jar, path)).text).toContain("<td>2024-02-29</td>");
  const { text } = await service.call(app, "/v1/data/db/days");
  const [row] = JSON.parse(text).rows;
  expect(row.day).toBe("2024-02-29");
  const edit = await visit(service, jar, `${path}/rows/${row.id}`);
  expect(edit.text).toContain('value="2024-02-29"');
});

test("an edit of a row counts as its update, and an edit without changes does not", async () => {
  const updated_at = t.timestamp().required().default("now").onUpdate("now");
  app = await service.makeApp(
    defineSchema({ cards: { title: t.string(), rank: t.number(), updated_at } }),
  );
  path = `/console/apps/${app.slug}/tables/cards`;
  await submit(`${path}/new`, { "value.title": "first" });
  const read = async () => {
    const { json } = await service.call(app, "/v1/data/db/cards");
    const [row] = (json as { rows: Record<string, string>[] }).rows;
    return { id: row?.["id"] ?? "", title: row?.["title"], time: row?.["updated_at"] ?? "" };
  };
  const created = await read();
  const edit = `${path}/rows/${created.id}`;
  expect((await submit(edit)).status).toBe(303);
  expect(await read()).toEqual(created);
  expect((await submit(edit, { "value.title": "second" })).status).toBe(303);
  const edited = await read();
  expect([edited.title, edited.time > created.time]).toEqual(["second", true]);
});
