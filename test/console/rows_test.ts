/** Rows of an app in the Console, through HTTP: read and written by a key that lives five minutes. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { endSessionsOf, listAudit, listKeys } from "../../src/accounts/mod.ts";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { type Jar, makePerson, type Person, signInAs, visit } from "../support/people.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

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

let service: TestService;
let admin: Person;
let jar: Jar;
let app: TestApp;
let path: string;
beforeAll(async () => {
  service = await openTestService({ identity: () => ({ cookieDomain: "example.org" }) });
  admin = await makePerson(service, { name: "Ada", consoleRole: "admin" });
});
afterAll(() => service.close());
beforeEach(async () => {
  app = await service.makeApp(SCHEMA);
  path = `/console/apps/${app.slug}/tables/todos`;
  jar = await signInAs(service, admin);
});

type StoredRow = { id: string; title: string };

async function addRow(json: object): Promise<StoredRow> {
  const answer = await service.call(app, "/v1/data/db/todos", { method: "POST", json });
  expect(answer.status).toBe(201);
  return answer.json as StoredRow;
}

const write = (text: string) => service.service.admin.message(`${text}; select 1`);
const openings = async () =>
  (await listAudit(service.service, 100)).filter(
    (entry) => entry.app === app.slug && entry.action === "open_rows",
  );

describe("the key for rows", () => {
  test("is made once for several pages, noted, and in no list of keys", async () => {
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
    { name: "the session", end: () => endSessionsOf(service.service, admin.email) },
    { name: "the person's role", end: () => setRole("null") },
  ])("ends with $name, and with it what proves it", async ({ end }) => {
    await visit(service, jar, path);
    const proofs = `from rowhouse.proofs where app_id = '${app.id}'`;
    expect(await count(proofs)).toBe(2);
    await end();
    expect(await count(proofs)).toBe(1);
    expect(await count("from rowhouse.console_keys")).toBe(0);
    await setRole("'admin'");
  });

  test("is not made where the app is disabled, and made anew where it was", async () => {
    await visit(service, jar, path);
    await write(`select rowhouse.set_app_disabled('${app.slug}', true, 'test')`);
    expect((await visit(service, jar, path)).text).toContain("This app is disabled");
    await write(`select rowhouse.set_app_disabled('${app.slug}', false, 'test')`);
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
  test("tells null, empty and blank apart, and shows values by their kind", async () => {
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

  test("has the tag of each row as the row has it by itself", async () => {
    const { id } = await addRow({ title: 'a "brace" {', meta: { "}": ["{", { a: "\\" }] } });
    const { headers } = await service.call(app, `/v1/data/db/todos/${id}`);
    const { text } = await visit(service, jar, path);
    const tag = headers.get("etag")?.replaceAll('"', "&quot;");
    expect(text).toContain(`data-row-id="${id}" data-etag="${tag}"`);
  });

  test("is one of many: 10,000 rows are paged to the last one", async () => {
    for (let part = 0; part < 10; part++) {
      const json = Array.from({ length: 1000 }, (_, place) => ({
        title: `row ${part * 1000 + place + 1}.`,
      }));
      await service.call(app, "/v1/data/db/todos", { method: "POST", json });
    }
    const first = await visit(service, jar, path);
    expect(first.text).toContain("Rows 1 to 50");
    expect(first.text).toContain(`${path}?from=51&amp;limit=50`);
    const last = await visit(service, jar, `${path}?from=9951&limit=50`);
    expect(last.text).toContain("<bdi>row 10000.</bdi>");
    expect(last.text).toContain("Rows 9951 to 10000, the last ones");
    expect(last.text).not.toContain('rel="next"');
    expect((await visit(service, jar, `${path}?from=20000`)).text).toContain("no rows so far down");
  });

  test("of a table that the app has not pushed is not there", async () => {
    const other = await service.makeApp(defineSchema({ wishes: { title: t.string() } }));
    expect((await visit(service, jar, path.replace("todos", "wishes"))).status).toBe(404);
    expect((await visit(service, jar, path.replace(app.slug, "nobody"))).status).toBe(404);
    expect((await visit(service, jar, path.replace(app.slug, other.slug))).status).toBe(404);
  });
});
