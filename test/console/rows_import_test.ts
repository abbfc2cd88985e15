/** Rows that are imported in the Console without a script: pasted, checked as a whole, stored once. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  type Jar,
  makePerson,
  readHidden,
  signInAs,
  toCookieHeader,
  visit,
} from "../support/people.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const SCHEMA = defineSchema({
  todos: { title: t.string().required().unique(), size: t.number() },
});

let service: TestService;
let jar: Jar;
let app: TestApp;
let path: string;
let hidden: Record<string, string>;
beforeAll(async () => {
  service = await openTestService({ identity: () => ({ cookieDomain: "example.org" }) });
});
afterAll(() => service.close());
beforeEach(async () => {
  app = await service.makeApp(SCHEMA);
  path = `/console/apps/${app.slug}/tables/todos`;
  jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
  hidden = readHidden((await visit(service, jar, `${path}/import`)).text);
});

const send = (fields: Record<string, string>) =>
  visit(service, jar, `${path}/import`, { fields: { ...hidden, ...fields } });

async function listTitles(): Promise<string[]> {
  const { json } = await service.call(app, "/v1/data/db/todos");
  return (json as { rows: { title: string }[] }).rows.map(({ title }) => title);
}

test.each([
  { name: "CSV", rows: 'Title;size\r\n"a;b";1\r\nc;\r\n' },
  { name: "JSON", rows: '[{"title":"a;b","size":1},\r\n{"title":"c"}]' },
])("pasted $name is stored once, even if it is sent twice", async ({ rows }) => {
  for (const _ of ["first", "again"]) {
    const { status, headers } = await send({ rows });
    expect([status, headers.get("location")]).toEqual([303, `${path}?imported=2`]);
  }
  expect(await listTitles()).toEqual(["a;b", "c"]);
  // A newly opened form is another import.
  hidden = readHidden((await visit(service, jar, `${path}/import`)).text);
  expect((await send({ rows: rows.replaceAll("a;b", "d").replaceAll("c", "e") })).status).toBe(303);
  expect(await listTitles()).toEqual(["a;b", "c", "d", "e"]);
  expect((await visit(service, jar, `${path}?imported=2`)).text).toContain("2 rows were imported");
});

test("pasted text from a spreadsheet is stored without its unnamed column and with the names to leave out", async () => {
  const rows = "\ttitle\tsize\tComments\r\n0\t'+49 30\t1,5\tx\r\n\t\t\t\r\n";
  const rejected = await send({ rows });
  expect(rejected.text).toContain("is not a column of todos");
  const skip = "#1\r\nComments";
  const stored = await send({ rows, skip, spreadsheet: "on" });
  expect(stored.headers.get("location")).toBe(`${path}?imported=1`);
  const { json } = await service.call(app, "/v1/data/db/todos");
  expect(json).toMatchObject({ rows: [{ title: "+49 30", size: 1.5 }], hasMore: false });
});

test("the exported CSV begins with a byte order mark, and is imported to the same values", async () => {
  const titles = ["+49 30 1234567", "'quoted", "Größe, 東京"];
  const json = titles.map((title) => ({ title }));
  await service.call(app, "/v1/data/db/todos", { method: "POST", json });
  const headers = { cookie: toCookieHeader(jar) };
  const bytes = await (await fetch(`${service.url}${path}/export/csv`, { headers })).bytes();
  expect([...bytes.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
  const text = Buffer.from(bytes).toString();
  const copy = await service.makeApp(SCHEMA);
  path = `/console/apps/${copy.slug}/tables/todos`;
  app = copy;
  hidden = readHidden((await visit(service, jar, `${path}/import`)).text);
  expect((await send({ rows: text })).status).toBe(303);
  expect(await listTitles()).toEqual(titles);
});

test("all errors are listed by line, the text remains, and nothing is stored", async () => {
  const { status, text } = await send({ rows: 'title,size\na,x\n<b>,1\n,2\n"c' });
  expect(status).toBe(422);
  expect(text).toContain("Nothing was stored. The text has 3 errors.");
  expect(text).toContain("<li>Line 2, <bdi>size</bdi>: Must be a number</li>");
  expect(text).toContain(
    "<li>Line 4, <bdi>title</bdi>: Must not be null: the column is required</li>",
  );
  expect(text).toContain("&lt;b&gt;,1");
  expect(await listTitles()).toEqual([]);
});

test("errors of the database are listed by line", async () => {
  await service.call(app, "/v1/data/db/todos", { method: "POST", json: { title: "a" } });
  const { status, text } = await send({ rows: "title\nc\nb\na\n" });
  expect(status).toBe(422);
  expect(text).toContain("<li>Line 4, <bdi>title</bdi>: ");
  expect(text).toContain("0 rows are stored; rows from line 2 on are not.");
  expect(await listTitles()).toEqual(["a"]);
});

test("a correction of a later batch does not store the earlier rows twice", async () => {
  await service.call(app, "/v1/data/db/todos", { method: "POST", json: { title: "taken" } });
  const rows = Array.from({ length: 1000 }, (_, at) => `${at}`).join("\n");
  const rejected = await send({ rows: `title\n${rows}\ntaken` });
  expect(rejected.status).toBe(422);
  expect(rejected.text).toContain("1000 rows are stored; rows from line 1002 on are not.");
  const corrected = await send({ rows: `title\n${rows}\nfree` });
  expect(corrected.headers.get("location")).toBe(`${path}?imported=1001`);
  const { json } = await service.call(app, "/v1/data/db/todos?limit=1000&offset=1000");
  expect(json).toMatchObject({ rows: [expect.anything(), { title: "free" }], hasMore: false });
});

test("a batch of the script is stored once, and its errors name rows by position", async () => {
  const batch = { batch: '[{"title":"a"},{"title":"b"}]', batch_key: "file-1-0" };
  for (const _ of ["first", "again"]) {
    const { status, text } = await send(batch);
    expect([status, JSON.parse(text)]).toMatchObject([200, { isStored: true }]);
  }
  const rejected = await send({ batch: '[{"title":"c"},{"title":"a"}]', batch_key: "file-1-1" });
  expect([rejected.status, JSON.parse(rejected.text)]).toMatchObject([
    409,
    {
      isStored: false,
      rows: "not stored",
      code: "unique_violation",
      details: [{ path: "/1/title" }],
    },
  ]);
  // A column that was renamed during the import: the endpoint ignores its name.
  const lost = await send({ batch: '[{"title":"d","gone":1}]', batch_key: "file-1-2" });
  expect([lost.status, JSON.parse(lost.text)]).toMatchObject([
    409,
    { isStored: false, rows: "stored", code: "incompatible_schema" },
  ]);
  expect(await listTitles()).toEqual(["a", "b", "d"]);
});

test("a form of another site, or for a disabled app, stores nothing", async () => {
  const forged = await visit(service, jar, `${path}/import`, {
    fields: { rows: "title\na", form_token: "wrong" },
  });
  expect(forged.status).toBe(403);
  await service.service.admin.message(
    `update rowhouse.apps set disabled_at = now() where slug = '${app.slug}'; select 1`,
  );
  expect((await send({ rows: "title\na" })).text).toContain("This app is disabled");
});

test("a line break inside a pasted value is stored as a file would store it", async () => {
  expect((await send({ rows: 'title\r\n"a\r\nb"\r\n' })).status).toBe(303);
  expect(await listTitles()).toEqual(["a\nb"]);
});
