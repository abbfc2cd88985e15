/** Every rejection of the data endpoints with its complete body and headers, and the order of the checks. @module */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PROBLEMS, Problem, type ProblemCode, toMessage } from "../../src/problem.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { nodeUnreachable } from "../../src/tables/plan/rejections.ts";
import { cases } from "../support/cases.ts";
import { signatureOf } from "../support/functions.ts";
import { codeOf, expectRejection, type Rejection } from "../support/problem.ts";
import { type Call, openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  projects: { name: t.string().required().unique() },
  todos: t
    .model({ title: t.string().required(), project: t.ref("projects"), tag: t.string() })
    .unique("project", "tag"),
});
const LIST = "/v1/data/db/todos";
const PROJECTS = "/v1/data/db/projects";
const MISSING = "00000000-0000-7000-8000-000000000000";

// Without previews, as by default.
const service = await share(openTestService({ service: { previews: [] } }));
const app = await service.makeApp(schema);
const reader = await service.makeApp(schema, { scopes: ["data:read"] });
const created = await service.call(app, PROJECTS, { method: "POST", json: { name: "p" } });
const project = (created.json as { id: string }).id;
await service.call(app, LIST, { method: "POST", json: { title: "t", project, tag: "x" } });

type Row = Rejection & { name: string; call: () => Call & { path: string; as?: () => TestApp } };

const post = (json: unknown, path = LIST) => ({ path, method: "POST", json });
const REQUESTS = cases("name", "code", "request", "body", "paths")`
  a limit that is not a number                                | invalid_query      | GET ${LIST}?limit=ten
  an offset past 2^31                                         | invalid_query      | GET ${LIST}?offset=2147483648
  two limits                                                  | invalid_query      | GET ${LIST}?limit=1&limit=1
  a query that is not UTF-8                                   | invalid_query      | GET ${LIST}?limit=%ff
  status=eq.pending                                           | unsupported_query  | GET ${LIST}?status=eq.pending
  title=ilike.*x*                                             | unsupported_query  | GET ${LIST}?title=ilike.*x*
  order=created_at.desc                                       | unsupported_query  | GET ${LIST}?order=created_at.desc
  select=id,title,status                                      | unsupported_query  | GET ${LIST}?select=id,title,status
  a limit for one row                                         | unsupported_query  | GET ${LIST}/${MISSING}?limit=1
  a limit for a create                                        | unsupported_query  | POST ${LIST}?limit=1 | {}
  misspelled columns, and a required column that is missing   | validation_failed  | POST ${LIST} | {"titel":"t","a/b":1,"c":2,"d":3} | /title
  misspelled columns in two rows of a list                    | validation_failed  | POST ${LIST} | [{"titel":"t"},{"titel":"t","title":"t"}] | /0/title
  a dangling reference                                        | validation_failed  | POST ${LIST} | {"title":"t","project":"${MISSING}"} | /project
  an id that is not a uuid                                    | invalid_id         | GET ${LIST}/1
  an unknown table                                            | unknown_table      | GET /v1/data/db/nothing
  a read of a missing row                                     | not_found          | GET ${LIST}/${MISSING}
  an update of a missing row                                  | not_found          | PATCH ${LIST}/${MISSING} | {"title":"x"}
  an empty update of a missing row                            | not_found          | PATCH ${LIST}/${MISSING} | {}
  a delete of a missing row                                   | not_found          | DELETE ${LIST}/${MISSING}
  an unknown route                                            | unknown_route      | GET /v1/data/tables
  a value that another row has                                | unique_violation   | POST ${PROJECTS} | {"name":"p"} | /name
  two values that another row has                             | unique_violation   | POST ${LIST} | {"title":"u","project":"${project}","tag":"x"} | /project, /tag
  a row with references to it                                 | still_referenced   | DELETE ${PROJECTS}/${project}
`;
const ROWS: readonly Row[] = [
  ...REQUESTS.map(({ name, code, request, body, paths }): Row => {
    const [method = "", path = ""] = request.split(" ");
    const call = { path, method, ...(body !== "" && { json: JSON.parse(body) }) };
    const expected = {
      code: code as ProblemCode,
      ...(paths !== "" && { paths: paths.split(", ") }),
    };
    return { name, call: () => call, ...expected };
  }),
  {
    name: "a key without the scope",
    call: () => ({ ...post({ title: "t" }), as: () => reader }),
    code: "forbidden",
  },
  {
    name: "a method that lists do not have",
    call: () => ({ path: LIST, method: "PUT" }),
    code: "method_not_allowed",
    headers: { allow: "GET, HEAD, POST, PATCH, OPTIONS" },
  },
  {
    name: "a method that rows do not have",
    call: () => ({ path: `${LIST}/${MISSING}`, method: "POST" }),
    code: "method_not_allowed",
    headers: { allow: "GET, HEAD, PATCH, DELETE, OPTIONS" },
  },
  ...["text/xml", "text/html, image/*", "application/json;q=0", "application/json;q=0, */*"].map(
    (accept): Row => ({
      name: `Accept: ${accept}`,
      call: () => ({ path: LIST, headers: { accept } }),
      code: "not_acceptable",
    }),
  ),
  ...(["GET", "POST", "PATCH", "DELETE"] as const).map(
    (method): Row => ({
      name: `an event stream by ${method}`,
      call: () => ({
        path: method === "GET" || method === "POST" ? LIST : `${LIST}/${MISSING}`,
        method,
        headers: { accept: "text/event-stream" },
      }),
      code: "not_implemented",
    }),
  ),
];

describe("the Accept header", () => {
  test.each([
    "application/json, text/event-stream",
    "text/event-stream, application/json;q=0.1",
    "text/event-stream, */*;q=0.5",
    "text/event-stream;q=0, application/json",
  ])("%s gets JSON", async (accept) => {
    const response = await service.call(app, LIST, { headers: { accept } });
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "application/json",
    ]);
  });

  test.each(["text/event-stream", "text/event-stream, application/json;q=0"])(
    "%s gets 501",
    async (accept) => {
      expect((await service.call(app, LIST, { headers: { accept } })).status).toBe(501);
    },
  );
});

describe("an error", () => {
  test.each(ROWS)("has the code $code for $name", async ({ call, ...rejection }) => {
    const { path, as, ...rest } = call();
    const response = await service.call((as ?? (() => app))(), path, rest);
    expect(expectRejection({ ...response, body: response.text }, rejection)).toMatchSnapshot();
  });

  test("a rejected duplicate changes nothing, and is accepted after the other row is deleted", async () => {
    const own = await service.makeApp(schema);
    const first = await service.call(own, "/v1/data/db/projects", post({ name: "n" }));
    const again = () => service.call(own, "/v1/data/db/projects", post({ name: "n" }));
    expect((await again()).status).toBe(409);
    await service.call(own, first.headers.get("location") ?? "", { method: "DELETE" });
    expect((await again()).status).toBe(201);
  });
});

/** Codes without a row above, and the test that covers each code. */
const ELSEWHERE: Readonly<Partial<Record<ProblemCode, string>>> = {
  unauthenticated: "gateway/bad_keys_test.ts",
  invalid_json: "http/bodies_test.ts",
  body_too_large: "http/bodies_test.ts",
  unsupported_media_type: "http/bodies_test.ts",
  invalid_precondition: "data/preconditions_test.ts",
  precondition_failed: "data/preconditions_test.ts",
  idempotency_mismatch: "data/idempotency_test.ts",
  idempotency_full: "data/idempotency_test.ts",
  invalid_request: "identity/auth_test.ts",
  invalid_signature: "gateway/upstream_test.ts",
  unknown_app: "identity/auth_test.ts",
  incompatible_schema: "tables/matrix_test.ts",
  edited_migration: "tables/journal_test.ts",
  diverged_history: "tables/journal_test.ts",
  journal_full: "tables/limits_test.ts",
  push_busy: "storm/push_storm.ts",
  invalid_schema: "tables/hostile_test.ts",
  rate_limited: "gateway/shapes_test.ts",
  request_failed: "data/errors_test.ts",
  response_too_large: "data/row_size_test.ts",
  bad_gateway: "gateway/upstream_test.ts",
  unavailable: "db/outage_test.ts",
  overloaded: "db/pool_slow.ts",
  unknown_outcome: "db/outage_test.ts",
  read_only: "data/read_only_test.ts",
  timeout: "db/outage_test.ts",
  needs_index: "data/__snapshots__/referenced_limits_test.ts.snap",
  too_many_groups: "data/groups_test.ts",
  too_many_rows: "data/update_where_test.ts",
};

test("each error code has a row here or a test in another file, but not both", () => {
  const here: ReadonlySet<string> = new Set(ROWS.map(({ code }) => code));
  const codes = Object.keys(PROBLEMS);
  expect([...here, ...Object.keys(ELSEWHERE)].toSorted()).toEqual(codes.toSorted());
});

test.each(Object.entries(ELSEWHERE))("the code %s is expected in %s", (code, file) => {
  const lines = readFileSync(join(import.meta.dirname, "..", file), "utf8").split("\n");
  const isTable = (line: string) => line.trim() === `${code}: "${file}",`;
  const text = lines.filter((line) => !isTable(line)).join("\n");
  expect(text).toMatch(new RegExp(`["|\\d] ?${code}\\b`));
});

test("a bug gets a 500 response with its request id and no PostgreSQL text, and the log has the details", async () => {
  const schema = defineSchema({ broken_things: { secret_column: t.string().required() } });
  const own = await service.makeApp(schema);
  const path = "/v1/data/db/broken_things";
  const sent = post({ secret_column: "a private value" }, path);
  expect((await service.call(own, path, sent)).status).toBe(201);
  await service.service.admin.message(
    `create or replace function api.${signatureOf(schema, "broken_things", "create")} returns text
    language plpgsql security definer as 'begin return (select private from data.no_such_table); end'; select 1`,
  );
  const response = await service.call(own, path, sent);
  const requestId = response.headers.get("x-request-id");
  expect([response.status, response.json]).toEqual([
    500,
    {
      error: "request_failed",
      message: "Internal error; the log has the details under the request ID",
      requestId,
    },
  ]);
  expect(response.text).not.toMatch(/function|broken_things|api\.|data\.|exist|42P01|private/);
  const logged = service.log.filter((line) => line.includes(String(requestId)));
  expect(logged.filter((line) => line.includes('"event":"bug"'))).toHaveLength(1);
  expect(logged.join()).not.toContain("a private value");
  // Only the endpoint with the broken function fails.
  expect((await service.call(own, path)).status).toBe(200);
});

type Broken = {
  path?: string;
  method?: string;
  key?: string;
  headers?: Record<string, string>;
  body?: string;
};

/** The checks in their order, each with a call that fails only this check. A call can fail several checks. */
const CHECKS: readonly { code: ProblemCode; broken: () => Broken }[] = [
  { code: "unauthenticated", broken: () => ({ key: "rh_wrong" }) },
  { code: "forbidden", broken: () => ({ key: reader.key }) },
  { code: "not_implemented", broken: () => ({ headers: { accept: "text/event-stream" } }) },
  { code: "unknown_table", broken: () => ({ path: "/v1/data/db/nothing" }) },
  { code: "not_acceptable", broken: () => ({ headers: { accept: "text/xml" } }) },
  { code: "unsupported_query", broken: () => ({ path: "?a=1" }) },
  { code: "invalid_id", broken: () => ({ path: "/not-a-uuid" }) },
  { code: "unsupported_media_type", broken: () => ({ headers: { "content-type": "text/plain" } }) },
  { code: "body_too_large", broken: () => ({ body: `{"title":1,${" ".repeat(102_400)}` }) },
  { code: "invalid_json", broken: () => ({ body: '{"title":1,' }) },
  { code: "validation_failed", broken: () => ({ body: `{"title":1,"project":"${MISSING}"}` }) },
  { code: "not_found", broken: () => ({ path: `/${MISSING}` }) },
];

describe("the order of the checks", () => {
  const BODIES = new Set(["body_too_large", "invalid_json", "validation_failed"]);
  const pairs = CHECKS.flatMap((first, at) =>
    CHECKS.slice(at + 1).map((second) => ({
      first,
      second,
      name: `${first.code} before ${second.code}`,
    })),
  ).filter(({ first, second }) => {
    // One header, body or id cannot fail two checks together.
    if (first.code === "not_implemented" && second.code === "not_acceptable") return false;
    if (first.code === "invalid_id" && second.code === "not_found") return false;
    return !(BODIES.has(first.code) && BODIES.has(second.code));
  });

  test.each(pairs)("$name", async ({ first, second }) => {
    const [a, b] = [first.broken(), second.broken()];
    const parts = [a.path ?? "", b.path ?? ""];
    const table = parts.find((part) => part.startsWith("/v1")) ?? LIST;
    const id =
      parts.find((part) => part.startsWith("/") && !part.startsWith("/v1")) ?? `/${MISSING}`;
    const query = parts.find((part) => part.startsWith("?")) ?? "";
    const response = await service.call(app, table + id + query, {
      method: "PATCH",
      key: a.key ?? b.key ?? app.key,
      headers: { "content-type": "application/json", ...b.headers, ...a.headers },
      body: a.body ?? b.body ?? '{"title":"t"}',
    });
    expect(codeOf(response.text)).toBe(first.code);
  });

  test.each(cases("name", "path", "method", "code")`
    the route before everything else | /v1/nothing?a       | PUT | unknown_route
    the method before the key        | ${LIST}?a=1         | PUT | method_not_allowed
    the key before the table         | /v1/data/db/nothing | GET | unauthenticated
  `)("$name", async ({ path, method, code }) => {
    const response = await service.call(undefined, path, {
      method,
      headers: { accept: "text/event-stream" },
    });
    expect(codeOf(response.text)).toBe(code);
  });

  test("the size before JSON, and JSON before values", async () => {
    const send = (body: string) =>
      service.call(app, LIST, {
        method: "POST",
        body,
        headers: { "content-type": "application/json" },
      });
    const codes = await Promise.all(
      [`{"title":1,${" ".repeat(102_400)}`, '{"title":1,', '{"title":1}'].map(async (body) =>
        codeOf((await send(body)).text),
      ),
    );
    expect(codes).toEqual(["body_too_large", "invalid_json", "validation_failed"]);
  });
});

describe("with Prefer: handling=strict", () => {
  const send = (json: unknown, { prefer = "handling=strict", path = LIST, method = "POST" } = {}) =>
    service.call(app, path, { method, json, headers: { prefer } });
  const unknown = (path: string, near?: string) => ({
    path,
    message: `Is not a column${near === undefined ? "" : `; did you mean "${near}"?`}`,
  });

  test.each([
    {
      name: "a create",
      json: { titel: "a", title: 7, "a/b~": null },
      details: [
        { path: "/title", message: "Must be a string" },
        unknown("/titel", "title"),
        unknown("/a~1b~0"),
      ],
    },
    {
      name: "a batch",
      json: [{ title: "a" }, { title: "b", tags: "c" }],
      details: [unknown("/1/tags", "tag")],
    },
    {
      name: "an update",
      json: { projekt: null },
      of: { path: `${LIST}/${MISSING}`, method: "PATCH" },
      details: [unknown("/projekt", "project")],
    },
  ])("every unknown column of $name is an error", async ({ json, of, details }) => {
    const count = async () => (await service.call(app, LIST)).json;
    const before = await count();
    const response = await send(json, of);
    expect(response.status).toBe(422);
    expect(response.json).toMatchObject({ error: "validation_failed", details });
    expect(await count()).toEqual(before);
  });

  test.each([
    { name: "id and app_id are dropped", prefer: "respond-async, Handling = Strict; wait=1" },
    { name: "the first of two values counts", prefer: "handling=lenient, handling=strict" },
    { name: "another preference has no effect", prefer: "return=strict" },
  ])("$name", async ({ prefer }) => {
    const isStrict = /^respond/.test(prefer);
    const body = { title: "s", id: MISSING, app_id: MISSING, ...(isStrict ? {} : { titel: "" }) };
    expect((await send(body, { prefer })).status).toBe(201);
    const { status } = await send({ title: "s", titel: "" }, { prefer });
    expect(status).toBe(isStrict ? 422 : 201);
  });

  test("a row lists at most 100 unknown columns", async () => {
    const names = Array.from({ length: 500 }, (_, index) => [`x${index}`, 0]);
    const { json } = await send({ title: "s", ...Object.fromEntries(names) });
    expect((json as { details: unknown[] }).details).toBeArrayOfSize(100);
  });
});

test("a message states only once that nothing was written", () => {
  const away = nodeUnreachable("10.0.0.2:5432", undefined);
  expect(toMessage(away, "POST")).toMatch(
    /^Cannot push: node 10\.0\.0\.2:5432 .*; nothing was written$/,
  );
  expect(toMessage(away, "POST").match(/nothing was written/g)).toHaveLength(1);
  expect(toMessage(new Problem("unavailable"), "POST")).toEndWith("; nothing was written");
});
