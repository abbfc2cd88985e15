/** Why a request failed: the list of requests with its filters, and the page of one. */
import { expect, test } from "bun:test";
import { PROBLEMS } from "../../src/problem.ts";
import { revokeKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { cases } from "../support/cases.ts";
import { testDeps } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { expectRedirect } from "../support/page_text.ts";
import { makePerson, signInAs, visit } from "../support/people.ts";
import { openTestService, type TestApp, type TestResponse } from "../support/service.ts";
import { previewsOfRun } from "../support/shape.ts";
import { share } from "../support/share.ts";

const LIST = "/v1/data/db/orders";
const SCHEMA = defineSchema({
  orders: { title: t.string().required(), currency: t.enum(["EUR", "USD"]) },
});

let ahead = 0;
const service = await share(
  openTestService({
    identity: () => ({ cookieDomain: "example.org" }),
    service: {
      now: () => Date.now() + ahead,
      previews: [...new Set([...previewsOfRun(), "filters" as const])],
    },
  }),
);
const app = await service.makeApp(SCHEMA);
const other = await service.makeApp(SCHEMA);
const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));

const show = async (path: string) => (await visit(service, jar, path)).text;
const toId = (response: TestResponse) => response.headers.get("x-request-id") ?? "";
const keyOf = (one: TestApp) => one.key.slice(3, 19);
/** Another id. */
const toNext = (id: string) => id.replace(/^./, (digit) => (digit === "f" ? "0" : "f"));
const write = (text: string) => service.service.admin.message(`${text}; select 1`);

async function untilKept(response: TestResponse): Promise<string> {
  ahead += 60_000;
  const path = `/console/requests/${toId(response)}`;
  await eventually(async () => (await visit(service, jar, path)).status === 200);
  return await show(path);
}

test("each id that a client got leads to an explanation, before and after its minute is added", async () => {
  const one = await service.makeApp(SCHEMA);
  const rejected = async () =>
    toId(await service.call(one, LIST, { method: "POST", json: { title: 1 } }));
  const ids: string[] = [];
  // Similar requests are merged within a minute: all of these are in the one that opens when the request before is added.
  const before = await service.call(one, LIST, { method: "POST", json: { title: 1 } });
  ahead -= (Date.now() + ahead) % 60_000;
  await untilKept(before);
  for (let count = 0; count < 96; count++) ids.push(await rejected());
  const [first = "", last = ""] = [ids[0], ids.at(-1)];
  const early = await visit(service, jar, `/console/requests/${last}`);
  expect(early.status).toBe(404);
  for (const text of ["Requests are stored when their minute ends", "Check again", last])
    expect(early.text).toContain(text);
  ahead += 60_000;
  await eventually(
    async () => (await visit(service, jar, `/console/requests/${first}`)).status === 200,
  );
  for (const id of ids) {
    const { status, text } = await visit(service, jar, `/console/requests/${id}`);
    expect([id, status, text.includes("validation_failed")]).toEqual([id, 200, true]);
  }
  expect(await show(`/console/requests/${last}`)).toContain("similar requests in the same minute");
  const byReference = await visit(service, jar, `/console/requests?id=${last.slice(-12)}`);
  expectRedirect(byReference, `/console/requests/${first}`);
  // A request that is not stored at all: its time is in its id.
  const succeeded = toId(await service.call(one, LIST));
  ahead += 120_000;
  const absent = await show(`/console/requests/${succeeded}`);
  for (const text of ["It is not stored: it succeeded within a second", "Requests of this minute"])
    expect(absent).toContain(text);
});

test("the page of a rejected request has the cause, the fields, the docs and a command without values", async () => {
  const response = await service.call(app, LIST, {
    method: "POST",
    json: [{ title: "fine" }, { title: "secret-1", currency: "secret-2" }],
  });
  const page = await untilKept(response);
  for (const text of [
    "POST /v1/data/db/orders",
    "Values are invalid for their columns; <code>details</code> lists every issue.",
    "<bdi>currency</bdi></code> of row 2 of the batch",
    "/docs#code-validation_failed",
    `-H &quot;Authorization: Bearer $ROWHOUSE_API_KEY&quot;`,
    `[{&quot;currency&quot;: &quot;{currency}&quot;, …}]`,
    `href="/console/apps/${app.slug}/pushes/1"`,
    keyOf(app),
    "valid, with",
  ])
    expect(page).toContain(text);
  expect(page).not.toContain("secret");
  await revokeKey(testDeps(service.service), keyOf(app));
  expect(await show(`/console/requests/${toId(response)}`)).toMatch(/revoked <time/);
});

test.each([
  { method: "GET", query: "limit=secret", named: ["limit"] },
  { method: "GET", query: "limit=1&limit=2&offset=-1", named: ["limit, given twice", "offset"] },
  { method: "GET", query: "per_page=secret&project.x=1", named: ["per_page", "project"] },
  {
    method: "GET",
    query: "title=secret&order=title.secret",
    named: ["title", "order"],
    on: "filters",
  },
  { method: "GET", query: "secret1=eq.1&offset=0&title=eq.x", named: [] },
  { method: "GET", query: "not.or=(title.secret.1)", named: ["or"] },
  { method: "PATCH", query: "title=eq.x&dryRun=secret", named: ["dryRun"] },
  { method: "POST", query: "onConflict=title&existing=secret", named: ["existing"] },
] as const)(
  "the page of a rejected query names its parameters: $method ?$query",
  async ({ method, query, named }) => {
    const json = method === "GET" ? undefined : { title: "x" };
    const response = await service.call(other, `${LIST}?${query}`, { method, json });
    expect(response.status).toBe(400);
    const page = await untilKept(response);
    const listed = [...page.matchAll(/<li><code><bdi>(.+?)<\/li>/g)].map(([, item = ""]) =>
      item.replace(/<[^>]+>|\. Rejected since .*/g, ""),
    );
    expect(listed.sort()).toEqual([...named].sort());
    expect(page.includes("is no column of the table")).toBe(named.length === 0);
    expect(page.includes("Invalid query parameter")).toBe(named.length > 0);
    expect(page).not.toContain("secret");
    for (const name of method === "GET" ? listed : [])
      expect(page).toContain(`${name.split(",")[0]}={${name.split(",")[0]}}`);
  },
);

test("the cause of an invalid field is what it had to be, and the push since which", async () => {
  const own = await service.makeApp(defineSchema({ invoices: { title: t.string() } }));
  const toSchema = (more: Record<string, ReturnType<typeof t.string>>) =>
    defineSchema({ invoices: { title: t.string(), currency: t.enum(["EUR", "USD"]), ...more } });
  await service.pushSchema(own, toSchema({}));
  // It only adds.
  await service.pushSchema(own, toSchema({ note: t.string() }));
  const response = await service.call(own, "/v1/data/db/invoices", {
    method: "POST",
    json: { currency: "GBP" },
  });
  const text = (await untilKept(response)).replace(/<[^>]+>/g, "");
  expect(text).toContain(
    "currency: expected one of EUR, USD, found a text of up to 10 characters. Rejected since push 0002 added it as enum (EUR, USD)",
  );
  expect(text).not.toContain("since push 0003");
});

test("the list is filtered by result, code, table, key, field and time", async () => {
  const { key } = other;
  const wrong = { method: "POST", json: { title: "x", currency: "none" } };
  const responses = {
    field: await service.call(other, LIST, wrong),
    table: await service.call(other, "/v1/data/db/hidden_table"),
    id: await service.call(other, `${LIST}/none`),
  };
  await untilKept(responses.id);
  const now = Date.now();
  const later = new Date(now + 7_200_000).toISOString();
  const app = `app=${other.slug}`;
  for (const { query, shown } of cases("query", "shown")`
    ${app}                                           | field, table, id
    ${app}&kind=rejected&from=2020-01-01T00:00Z      | field, table, id
    ${app}&kind=failed                               |
    ${app}&kind=slow                                 |
    ${app}&code=unknown_table                        | table
    ${app}&table=orders                              | field, id
    key=${keyOf(other)}&field=currency               | field
    key=${key.slice(0, 19)}                          | field, table, id
    ${app}&from=${later}                             |
    ${app}&to=2020-01-01T00:00Z                      |
    ${app}&kind=none&from=yesterday&to=%00           | field, table, id
  `) {
    const page = await show(`/console/requests?${query}`);
    const found = Object.entries(responses).filter(([, response]) => page.includes(toId(response)));
    expect([query, found.map(([name]) => name).join(", ")]).toEqual([query, shown]);
    expect(page).not.toContain("hidden_table");
  }
});

test("an id is found in what people paste around it", async () => {
  const id = Bun.randomUUIDv7();
  for (const pasted of [
    id.toUpperCase(),
    `x-request-id: ${id}`,
    `{"requestId":"${id}"}`,
    `\u00a0“${id}”\u200b`,
    id.replaceAll("-", "–"),
    id.replaceAll("-", ""),
  ]) {
    const query = new URLSearchParams({ id: pasted });
    const { headers } = await visit(service, jar, `/console/requests?${query}`);
    expect([pasted, headers.get("location")]).toEqual([pasted, `/console/requests/${id}`]);
    const found = await show(`/console/find?${new URLSearchParams({ q: pasted })}`);
    expect([pasted, found.includes(`/console/requests?id=${id}"`)]).toEqual([pasted, true]);
  }
});

test("a page returns 404 for an unknown id, or for an invalid id", async () => {
  for (const id of [crypto.randomUUID(), "none", "%00", `${crypto.randomUUID()}x`])
    expect([id, (await visit(service, jar, `/console/requests/${id}`)).status]).toEqual([id, 404]);
});

test("a request's command has only routes of the service", async () => {
  const id = crypto.randomUUID();
  await write(`insert into rowhouse.stored_requests (id, at, method, route, status, code, ms)
    values ('${id}', now(), 'OTHER', '/v1/data/db/:table/:id', 405, 'method_not_allowed', 1),
      ('${toNext(id)}', now(), 'GET', '/-/:table', 404, 'unknown_route', 1)`);
  const known = await show(`/console/requests/${id}`);
  expect(known).toMatch(/curl -sS -X OTHER &#39;http[^ ]+\/v1\/data\/db\/\{table\}\/\{id\}&#39;/);
  expect(await show(`/console/requests/${toNext(id)}`)).toMatch(
    /curl -sS &#39;http[^ ]+\/\{path\}&#39;/,
  );
});

test("a page has neither advice nor a command for programs", async () => {
  const absent = await visit(service, jar, "/console/apps/no-such-app");
  const page = await untilKept(absent);
  expect(page).toContain("A page responded with status 404 and the code unknown_app.");
  expect(page).not.toContain("curl");
  expect(page).not.toContain("list-apps");
});

test("a path without a route is not stored: the page says that it is unknown", async () => {
  const page = await untilKept(await service.call(undefined, "/v9/nowhere"));
  expect(page).toContain("GET unknown path");
  expect(page).toContain(PROBLEMS.unknown_route.fix);
  expect(page).not.toContain("nowhere");
});

test("the page of a request says what its error code means and what to do", async () => {
  const id = crypto.randomUUID();
  await write(`insert into rowhouse.stored_requests (id, app_id, at, method, route, status, code, ms)
    values ('${id}', '${app.id}', now(), 'GET', '/v1/data/db/:table/:id', 403, 'forbidden', 1)`);
  const plain = (await show(`/console/requests/${id}`)).replace(/<[^>]+>/g, "");
  expect(plain).toContain("The key lacks the scope, or the person has no role on this app.");
  expect(plain).toContain(`${PROBLEMS.forbidden.fix} All about forbidden`);
});

test("Older continues after the first page of requests", async () => {
  await write(`insert into rowhouse.stored_requests (id, app_id, at, method, route, status, code, ms, requests)
    select gen_random_uuid(), '${app.id}', now() - n * interval '1 minute', 'GET', '/paged', 404, 'not_found', 1, n
    from generate_series(1, 150) as n`);
  const first = await show(`/console/requests?app=${app.slug}&code=not_found`);
  expect(first.match(/\/paged/g)).toHaveLength(100);
  const [, older = ""] = /href="([^"]+)">Older</.exec(first) ?? [];
  const second = await show(older.replaceAll("&amp;", "&"));
  expect(second.match(/\/paged/g)).toHaveLength(50);
  expect(second).toContain("× 150");
  expect(second).not.toContain(">Older<");
});

test("each tile of Home and of an app opens the requests that it counts", async () => {
  const home = await show("/console");
  for (const kind of ["failed", "rejected", "slow"]) {
    expect(home).toContain(`href="/console/requests?kind=${kind}&amp;from=2`);
    expect(await show(`/console/apps/${other.slug}`)).toContain(
      `href="/console/requests?app=${other.slug}&amp;kind=${kind}&amp;from=2`,
    );
  }
});
