/** The data endpoints of an app for the grid's script: the same responses, by cookies and form token, without a key. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { toSessionToken } from "../../src/identity/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { cases } from "../support/cases.ts";
import { listAudit } from "../support/lists.ts";
import { type Jar, makePerson, signInAs, toCookieHeader, visit } from "../support/people.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";

const SCHEMA = defineSchema({ todos: { title: t.string().required().unique(), size: t.number() } });
const OTHER = defineSchema({
  todos: { title: t.string().required().unique(), size: t.number() },
  secrets: { title: t.string() },
});
const TODOS = "/v1/data/db/todos";

type Sent = { method?: string; json?: unknown; headers?: Record<string, string>; jar?: Jar };

describe.each([...SHAPES])("in the shape %s", (shape) => {
  let service: TestService;
  let jar: Jar;
  let app: TestApp;
  let other: TestApp;
  let api: string;
  beforeAll(async () => {
    service = await openTestService({
      shape,
      identity: () => ({ cookieDomain: "example.org" }),
      service: { previews: ["filters"] },
    });
    jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
    other = await service.makeApp(OTHER);
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    app = await service.makeApp(SCHEMA);
    api = `/console/apps/${app.slug}/data`;
  });

  const tokenOf = (of: Jar) =>
    toSessionToken(new Request(service.url, { headers: { cookie: toCookieHeader(of) } }));

  async function call(path: string, { method = "GET", json, headers, jar: as = jar }: Sent = {}) {
    const response = await fetch(service.url + path, {
      ...{ method, redirect: "manual" },
      headers: {
        ...{ cookie: toCookieHeader(as), origin: service.url, "form-token": tokenOf(as) },
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text };
  }

  async function add(of: TestApp, title: string): Promise<{ id: string }> {
    const { json } = await service.call(of, TODOS, { method: "POST", json: { title } });
    return json as { id: string };
  }

  test("a list, a row and their errors are those of the endpoints", async () => {
    const { id } = await add(app, "Milk");
    for (const path of ["", "?limit=1", "?limit=x", "?title=eq.Milk", `/${id}`, `/${other.id}`]) {
      const [theirs, ours] = [
        await service.call(app, TODOS + path),
        await call(`${api}/todos${path}`),
      ];
      const withoutId = (text: string) => text.replace(/"requestId":"[^"]+"/, "");
      expect([path, ours.status, withoutId(ours.text)]).toEqual([
        ...[path, theirs.status, withoutId(theirs.text)],
      ]);
      expect(ours.headers.get("etag")).toBe(theirs.headers.get("etag"));
      expect(ours.headers.get("cache-control")).toBe("no-store");
      expect(ours.headers.get("cross-origin-resource-policy")).toBe("same-origin");
      expect(ours.headers.get("access-control-allow-origin")).toBeNull();
    }
    const inHeader = await call(`${api}/todos?limit=1`, { headers: { "rows-query": "limit=x" } });
    expect(inHeader.status).toBe(400);
  });

  test("rows are created once, changed by their tag, and deleted", async () => {
    const headers = { "idempotency-key": "grid-1" };
    const json = [{ title: "Milk" }, { title: "Tea" }];
    const created = await call(`${api}/todos`, { method: "POST", json, headers });
    expect(created.status).toBe(201);
    const again = await call(`${api}/todos`, { method: "POST", json, headers });
    expect([again.text, again.headers.get("idempotency-replayed")]).toEqual([created.text, "true"]);
    const [milk] = JSON.parse(created.text).rows;
    const { headers: found } = await call(`${api}/todos/${milk.id}`);
    const match = { "if-match": found.get("etag") ?? "" };
    const path = `${api}/todos/${milk.id}`;
    const changed = await call(path, { method: "PATCH", json: { size: 2 }, headers: match });
    expect([changed.status, JSON.parse(changed.text).size]).toEqual([200, 2]);
    const outdated = await call(path, { method: "PATCH", json: { size: 3 }, headers: match });
    expect(outdated.status).toBe(412);
    expect(JSON.parse(outdated.text).error).toBe("precondition_failed");
    const many = await call(`${api}/todos`, {
      ...{
        method: "PATCH",
        json: [{ id: milk.id, ifMatch: changed.headers.get("etag"), size: 4 }],
      },
    });
    expect(many.status).toBe(200);
    expect((await call(path, { method: "DELETE" })).status).toBe(204);
    expect((await call(path)).status).toBe(404);
  });

  test("no response contains the key, and one key is created for all calls", async () => {
    await add(app, "Milk");
    for (let count = 0; count < 3; count++) {
      const { text, headers } = await call(`${api}/todos`);
      expect(`${text}${JSON.stringify([...headers])}`).not.toMatch(/rh_|bearer|authorization/i);
    }
    const opened = (await listAudit(service.service, 100)).filter(
      (entry) => entry.app === app.slug && entry.action === "open_rows",
    );
    expect(opened).toHaveLength(1);
  });

  test("a read returns the session's token, which every write needs", async () => {
    expect((await call(`${api}/todos`)).headers.get("form-token")).toBe(tokenOf(jar));
  });

  test("a path reaches only the rows of its app, and only the tables that it declares", async () => {
    const theirs = await add(other, `Secret of ${app.slug}`);
    const mine = await add(app, "Milk");
    const writes = [
      { method: "PATCH", to: `${api}/todos/${theirs.id}`, json: { size: 1 } },
      { method: "PATCH", to: `${api}/todos`, json: [{ id: theirs.id, size: 1 }] },
      { method: "DELETE", to: `${api}/todos/${theirs.id}` },
    ];
    for (const { to, ...sent } of writes) expect((await call(to, sent)).status).toBe(404);
    expect((await call(`${api}/todos/${theirs.id}`)).status).toBe(404);
    expect((await call(`${api}/todos`)).text).not.toContain("Secret");
    // A duplicate of the other app's unique title is no conflict.
    const json = { title: `Secret of ${app.slug}` };
    expect((await call(`${api}/todos`, { method: "POST", json })).status).toBe(201);
    expect((await call(`${api}/secrets`)).status).toBe(404);
    expect((await call(`${api}/users`)).status).toBe(404);
    const { json: left } = await service.call(other, `${TODOS}/${theirs.id}`);
    expect(left).toMatchObject({ title: `Secret of ${app.slug}`, size: null });
    expect((await service.call(app, `${TODOS}/${mine.id}`)).status).toBe(200);
  });

  test.each(cases("name", "method", "to", "status")`
    a write of all rows of a condition | PATCH  | /todos?size=is.null     | 400
    a deletion without an id           | DELETE | /todos                  | 405
    groups                             | GET    | /todos/groups           | 404
    a path that leads elsewhere        | GET    | /todos/..%2f..%2fschema | 404
    the schema                         | GET    | /../schema              | 404
    a change by PUT                    | PUT    | /todos                  | 405
  `)("$name is not possible", async ({ method, to, status }) => {
    await add(app, "Milk");
    const json = method === "GET" ? undefined : { title: "x", size: 1 };
    expect((await call(api + to, { method, json })).status).toBe(Number(status));
    const { json: left } = await service.call(app, TODOS);
    expect(left).toMatchObject({ rows: [{ title: "Milk", size: null }] });
  });

  test("a disabled app has no rows", async () => {
    await add(app, "Milk");
    await setAppSwitch(service.service, app.slug, ["disabled", true]);
    const disabled = await call(`${api}/todos`);
    expect(disabled.text).not.toContain("Milk");
    expect(disabled.status).toBeGreaterThanOrEqual(400);
    await setAppSwitch(service.service, app.slug, ["disabled", false]);
    expect((await visit(service, jar, `/console/apps/${app.slug}/tables/todos`)).text).toContain(
      "Milk",
    );
  });
});
