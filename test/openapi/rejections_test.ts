/** Every endpoint returns each error code that the OpenAPI document lists for it. */
import { expect, test } from "bun:test";
import { makeDocument } from "../../src/openapi/mod.ts";
import { issueKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { routes } from "../../src/service/routes.ts";
import { testDeps } from "../support/deps.ts";
import { codesOf } from "../support/described.ts";
import { makePerson, signInAs, toCookieHeader } from "../support/people.ts";
import { type Call, openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

/** Codes of outages and quotas, which other tests check. All endpoints share their responses. */
const ELSEWHERE = new Set([
  ...["request_failed", "rate_limited", "bad_gateway", "unavailable", "overloaded", "timeout"],
  ...["unknown_outcome", "read_only", "idempotency_full", "response_too_large", "journal_full"],
  ...["push_busy", "edited_migration", "diverged_history", "incompatible_schema"],
]);

type Ask = Call & { path: string };
type Cases = Readonly<Record<string, Ask>>;

const TODOS = "/v1/data/db/todos";
const NONE = "00000000-0000-7000-8000-000000000000";
const JSON_TYPE = { "content-type": "application/json" };

const service = await share(openTestService({ identity: () => ({ cookieDomain: "example.org" }) }));
const app = await service.makeApp(
  defineSchema({
    projects: { name: t.string().required().unique() },
    todos: { title: t.string().required().unique(), project: t.ref("projects") },
  }),
  { origins: ["https://todo.example.org"] },
);
const none = { slug: app.slug, name: "none", scopes: [], expiresAt: undefined };
const weak = (await issueKey(testDeps(service.service), none)).text;
const cookie = toCookieHeader(await signInAs(service, await makePerson(service)));
const project = await create("/v1/data/db/projects", { name: "home" });
const row = await create(TODOS, { title: "one", project });
const used = `/v1/data/db/projects/${project}`;
const headers = { "idempotency-key": "used" };
await service.call(app, TODOS, { method: "POST", headers, json: { title: "keyed" } });

async function create(path: string, json: unknown): Promise<string> {
  const created = await service.call(app, path, { method: "POST", json });
  return String(Object(created.json).id);
}

/** Rejections by every endpoint that needs a key. */
function keyed(ask: Ask): Cases {
  return {
    invalid_request: { ...ask, headers: { ...ask.headers, host: "a.example.org, b.example.org" } },
    unauthenticated: { ...ask, key: null },
    forbidden: { ...ask, key: weak },
  };
}

function queried(ask: Ask): Cases {
  return {
    invalid_query: { ...ask, path: `${ask.path}?%ff=1` },
    unsupported_query: { ...ask, path: `${ask.path}?sort=title` },
  };
}

function tabled(ask: Ask): Cases {
  const headers = { ...JSON_TYPE, ...ask.headers };
  return {
    ...keyed(ask),
    ...queried(ask),
    unknown_table: { ...ask, path: ask.path.replace("todos", "nothing") },
    not_implemented: { ...ask, headers: { ...headers, accept: "text/event-stream" } },
    not_acceptable: { ...ask, headers: { ...headers, accept: "text/html" } },
  };
}

function sent(ask: Ask): Cases {
  const { json: _, ...bare } = ask;
  return {
    unsupported_media_type: { ...bare, body: "{}", headers: { "content-type": "text/plain" } },
    body_too_large: { ...bare, body: "x".repeat(2_500_000 * 3), headers: JSON_TYPE },
    invalid_json: { ...bare, body: "[", headers: JSON_TYPE },
  };
}

function written(ask: Ask): Cases {
  return {
    ...tabled(ask),
    ...sent(ask),
    validation_failed: { ...ask, json: { title: 1 } },
    unique_violation: { ...ask, json: { title: "keyed" } },
    idempotency_mismatch: {
      ...ask,
      json: { title: "other" },
      headers: { "idempotency-key": "used" },
    },
    invalid_precondition: { ...ask, headers: { "idempotency-key": "" } },
  };
}

function ofRow(ask: Ask): Cases {
  return {
    invalid_id: { ...ask, path: `${TODOS}/x` },
    not_found: { ...ask, path: `${TODOS}/${NONE}` },
  };
}

const asks: Readonly<Record<string, () => Cases>> = {
  "GET /v1/data/db/:table": () => {
    const ask = { path: TODOS };
    return { ...tabled(ask), invalid_precondition: { ...ask, headers: { "if-none-match": "x" } } };
  },
  "POST /v1/data/db/:table": () => written({ path: TODOS, method: "POST", json: { title: "two" } }),
  "PATCH /v1/data/db/:table": () => {
    const ask = { path: TODOS, method: "PATCH", json: [{ id: row }] };
    return {
      ...written(ask),
      validation_failed: { ...ask, json: [{ id: row, title: 1 }] },
      unique_violation: { ...ask, json: [{ id: row, title: "keyed" }] },
      idempotency_mismatch: { ...ask, headers: { "idempotency-key": "used" } },
      not_found: { ...ask, json: [{ id: NONE }] },
      precondition_failed: { ...ask, json: [{ id: row, ifMatch: '"other"' }] },
    };
  },
  "GET /v1/data/db/:table/:id": () => {
    const ask = { path: `${TODOS}/${row}` };
    const headers = { "if-none-match": "x" };
    return { ...tabled(ask), ...ofRow(ask), invalid_precondition: { ...ask, headers } };
  },
  "PATCH /v1/data/db/:table/:id": () => {
    const ask = { path: `${TODOS}/${row}`, method: "PATCH", json: {} };
    const headers = { "if-match": '"other"' };
    return { ...written(ask), ...ofRow(ask), precondition_failed: { ...ask, headers } };
  },
  "DELETE /v1/data/db/:table/:id": () => {
    const ask = { path: `${TODOS}/${row}`, method: "DELETE" };
    return {
      ...tabled(ask),
      ...ofRow(ask),
      invalid_precondition: { ...ask, headers: { "if-match": "x" } },
      precondition_failed: { ...ask, headers: { "if-match": '"other"' } },
      still_referenced: { ...ask, path: used },
    };
  },
  "POST /v1/data/schema": () => {
    const ask = { path: "/v1/data/schema", method: "POST", json: {} };
    return { ...keyed(ask), ...queried(ask), ...sent(ask), invalid_schema: ask };
  },
  "GET /v1/data/schema": () => {
    const ask = { path: "/v1/data/schema" };
    return { ...keyed(ask), ...queried(ask) };
  },
  "GET /v1/data/schema/migrations/:seq": () => {
    const ask = { path: "/v1/data/schema/migrations/1" };
    return {
      ...keyed(ask),
      ...queried(ask),
      invalid_id: { path: "/v1/data/schema/migrations/x" },
      not_found: { path: "/v1/data/schema/migrations/99" },
    };
  },
  "GET /v1/openapi.json": () => {
    const ask = { path: "/v1/openapi.json" };
    return {
      ...queried(ask),
      invalid_request: { ...ask, headers: { host: "a.example.org, b.example.org" } },
      unauthenticated: { ...ask, key: "rh_x.y" },
      invalid_precondition: { ...ask, headers: { "if-none-match": "x" } },
    };
  },
  "GET /v1/auth/me": () => ({
    invalid_request: { path: "/v1/auth/me?app=!", headers: { cookie } },
    unauthenticated: { path: "/v1/auth/me" },
    unknown_app: { path: "/v1/auth/me?app=unknown", headers: { cookie } },
    forbidden: { path: `/v1/auth/me?app=${app.slug}`, headers: { cookie } },
  }),
  "GET /v1/auth/people": () => ({
    invalid_request: { path: "/v1/auth/people", headers: { cookie } },
    unauthenticated: { path: `/v1/auth/people?app=${app.slug}` },
    unknown_app: { path: "/v1/auth/people?app=unknown", headers: { cookie } },
    forbidden: { path: `/v1/auth/people?app=${app.slug}`, headers: { cookie } },
  }),
  "POST /v1/auth/logout": () => {
    const ask = { path: "/v1/auth/logout", method: "POST" };
    return {
      invalid_request: { ...ask, headers: { host: "a.example.org, b.example.org" } },
      forbidden: { ...ask, headers: { origin: "https://elsewhere.org" } },
    };
  },
  "GET /live": () => ({ invalid_request: { path: "/live", headers: { host: "a, b" } } }),
  "GET /ready": () => ({ invalid_request: { path: "/ready", headers: { host: "a, b" } } }),
};

const document = makeDocument(routes, { tables: undefined });

/** Returns the codes of all statuses of an endpoint. */
function declared(endpoint: string): string[] {
  const [method = "", route = ""] = endpoint.split(" ");
  const path = route.replaceAll(/:(\w+)/g, "{$1}");
  const responses = Object(Object(document.paths[path])[method.toLowerCase()]).responses;
  const codes = Object.keys(responses).flatMap(
    (status) =>
      codesOf(document, { path, method: method.toLowerCase(), status: Number(status) }) ?? [],
  );
  // A change that a cluster lacks (test/citus/routes_citus.ts).
  const isOnCluster = (code: string) => code === "not_implemented" && route === "/v1/data/schema";
  return [...new Set(codes.map(String))]
    .filter((code) => !ELSEWHERE.has(code) && !isOnCluster(code))
    .toSorted();
}

const endpoints = routes
  .filter(({ operation }) => operation !== undefined)
  .map(({ method, path }) => `${method} ${path}`);

test.each(endpoints)("%s returns each documented error code", async (endpoint) => {
  const cases = asks[endpoint]?.() ?? {};
  expect(Object.keys(cases).toSorted()).toEqual(declared(endpoint));
  const given: string[] = [];
  for (const { path, ...call } of Object.values(cases))
    given.push(String(Object((await service.call(app, path, call)).json).error));
  expect(given).toEqual(Object.keys(cases));
});
