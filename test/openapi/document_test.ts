import { describe, expect, test } from "bun:test";
import { makeDocumentInPieces } from "../../src/openapi/document.ts";
import { type Document, followReference, makeDocument } from "../../src/openapi/mod.ts";
import { PREVIEWS, type Preview } from "../../src/preview.ts";
import { revokeKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { described, routes } from "../../src/service/routes.ts";
import { testDeps } from "../support/deps.ts";
import { definitionOf, openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const PATH = "/v1/openapi.json";
const schema = defineSchema({
  projects: { name: t.string().required().unique() },
  todos: {
    title: t.string().required(),
    status: t.enum(["open", "done"]).required().default("open"),
    price: t.decimal(),
    due: t.timestamp().default("now"),
    project: t.ref("projects"),
    extra: t.json(),
  },
});

const service = await share(openTestService());
const app = await service.makeApp(schema);
const other = await service.makeApp(
  defineSchema({ todos: { title: t.string().required() }, secrets: { code: t.string() } }),
);

async function read(of: TestApp | undefined): Promise<Document> {
  const response = await service.call(of, PATH);
  expect(response.status).toBe(200);
  return response.json as Document;
}

describe("the description", () => {
  test("without a key has every endpoint of the route table, and no tables", async () => {
    const document = await read(undefined);
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    // The stream of changes, groups, deletes with conditions and the person of a key are described with their previews.
    const served = routes
      .filter(({ operation }) => operation !== undefined)
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
    expect(served).toHaveLength(routes.length - 4);
    expect(described.toSorted()).toEqual(served.toSorted());
    expect(
      Object.keys(document.components.schemas).filter(
        (name) => !/^(any-|row-|match-|field-|header-|(identity-)?error$)/.test(name),
      ),
    ).toEqual([]);
  });

  test("with filters has a parameter for each column whose name is not reserved", () => {
    const { tables } = definitionOf(
      defineSchema({
        projects: {
          name: t.string().required(),
          limit: t.integer(),
          lead: t.string(),
          sub_name: t.string(),
          ownerName: t.string(),
        },
        todos: {
          title: t.string().required(),
          done: t.boolean(),
          extra: t.json(),
          limit: t.number(),
          or: t.uuid(),
          project: t.ref("projects"),
          // Clients get one name for these and a column of the reference's row.
          project_lead: t.string(),
          project_owner_name: t.string(),
          project_sub: t.ref("projects"),
        },
      }),
    );
    const parametersOf = (previews: readonly Preview[]) => {
      const document = makeDocument(routes, { tables, previews });
      const { parameters } = Object(document.paths["/v1/data/db/todos"]?.["get"]);
      const named = (parameters as object[]).map((reference): [string, string] => {
        const { name, description, schema } = followReference(document, { ...reference });
        const { description: operators } = followReference(document, Object(schema));
        return [String(name), `${description} ${operators}`];
      });
      expect(new Set(named.map(([name]) => name)).size).toBe(named.length);
      return new Map(named);
    };
    const filtered = parametersOf(["filters"]);
    expect(filtered.get("title")).toContain("`ilike.…`");
    expect(filtered.get("done")).toBe(
      "A condition on the column, which is of kind boolean. Operators: `eq.…`, `neq.…`, `in.(…,…)`, `is.null`, each also after `not.`.",
    );
    expect(filtered.get("extra")).toEndWith(
      "kind json. Operators: `ilike.…`, `is.null`, each also after `not.`.",
    );
    expect(filtered.get("id")).toContain("kind uuid");
    expect(filtered.get("project.name")).toStartWith(
      "A condition on the column of the row of project, which is of kind string. Operators: `eq.…`",
    );
    expect([...filtered.keys()].filter((name) => name.startsWith("project"))).toEqual([
      ...["project", "project_lead", "project_owner_name", "project_sub"],
      ...["project.id", "project.name", "project.limit", "project.sub_name"],
      ...["project_sub.id", "project_sub.limit", "project_sub.lead"],
      ...["project_sub.sub_name", "project_sub.ownerName"],
    ]);
    expect(filtered.get("limit")).toStartWith("The max number of rows");
    expect(filtered.get("or")).toStartWith("Conditions. At least one");
    expect([...parametersOf([]).keys()]).toEqual(["limit", "offset", "If-None-Match"]);
  });

  test("with live has a path for each table's event stream", () => {
    const { tables } = definitionOf(defineSchema({ todos: { title: t.string() } }));
    const of = (previews: readonly Preview[]) => makeDocument(routes, { tables, previews });
    const { paths, components } = of(["live"]);
    expect(paths["/v1/data/db/todos/changes"]).toMatchObject({
      get: {
        operationId: "changes_todos",
        security: [{ key: ["data:read"] }],
        parameters: [{ $ref: "#/components/parameters/Last-Event-ID" }],
        responses: { 200: { $ref: "#/components/responses/200-changes" } },
      },
    });
    expect(components.parameters["Last-Event-ID"]).toMatchObject({ in: "header", required: false });
    expect(components.responses["200-changes"]).toMatchObject({
      content: { "text/event-stream": { schema: { type: "string" } } },
    });
    expect(Object.keys(of([]).paths).filter((path) => path.endsWith("/changes"))).toEqual([]);
  });

  test("with a key has exactly the app's tables with their declared columns", async () => {
    const document = await read(app);
    const { paths, components } = document;
    expect(Object.keys(paths).filter((path) => path.startsWith("/v1/data/db/"))).toEqual([
      "/v1/data/db/projects",
      "/v1/data/db/todos",
      "/v1/data/db/projects/{id}",
      "/v1/data/db/todos/{id}",
    ]);
    const { required, properties } = Object(components.schemas["todos-insert"]);
    expect(required).toEqual(["title"]);
    const columns = Object.entries<object>(properties).map(([name, column]) => [
      name,
      followReference(document, { ...column }),
    ]);
    expect(Object.fromEntries(columns)).toMatchObject({
      title: { type: "string" },
      status: { type: "string", enum: ["open", "done"], default: "open" },
      price: { type: ["string", "null"], format: "decimal" },
      due: { type: ["string", "null"], format: "date-time" },
      project: { type: ["string", "null"], format: "uuid" },
    });
    expect(components.schemas["todos-row"]?.["required"]).toEqual([
      ...["id", "app_id", "title", "status", "price", "due", "project", "extra"],
    ]);
    expect(JSON.stringify(components)).not.toContain("secrets");
    const ids = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map((operation) => operation["operationId"]),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("requires a credential exactly where a request without a key gets a 401", async () => {
    const { paths } = await read(undefined);
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
    );
    expect(operations.length).toBeGreaterThan(10);
    for (const { method, path, operation } of operations) {
      const security = operation["security"] as object[];
      const response = await service.call(undefined, path.replaceAll(/\{\w+\}/g, "x"), {
        method: method.toUpperCase(),
      });
      const isRequired =
        security.length > 0 && security.every((way) => Object.keys(way).length > 0);
      expect({ method, path, isRequired }).toEqual({
        method,
        path,
        isRequired: response.status === 401,
      });
    }
    expect(paths["/v1/auth/logout"]?.["post"]?.["security"]).toEqual([{}, { session: [] }]);
  });

  test("defines once what tables share: a table with a column of each kind adds few bytes", () => {
    const every = {
      ...schema.tables.todos,
      count: t.integer(),
      share: t.number(),
      day: t.date(),
      token: t.uuid(),
      done: t.boolean(),
    };
    const { projects } = schema.tables;
    const sizeOf = (tables: Parameters<typeof defineSchema>[0]) => {
      const definition = definitionOf(defineSchema(tables));
      return JSON.stringify(
        makeDocument(described, { tables: definition.tables, previews: PREVIEWS }),
      ).length;
    };
    const one = sizeOf({ projects, first: every });
    const two = sizeOf({ projects, first: every, second: every });
    // 70,000 where each table repeats parameters, headers and values.
    expect(two - one).toBeLessThan(30_000);
  });

  test("is made in pieces, so that other requests do not wait for the tables of an app", async () => {
    const names = Array.from({ length: 50 }, (_, n) => `table_${n}`);
    const tables = Object.fromEntries(names.map((name) => [name, schema.tables.projects]));
    const { tables: defined } = definitionOf(defineSchema(tables));
    const pieces = [...makeDocumentInPieces(described, { tables: defined, previews: PREVIEWS })];
    const perTable = described.filter(({ path }) => path.includes(":table")).length;
    expect(pieces.length).toBeGreaterThan(perTable * names.length);

    const { text } = await service.call(app, PATH);
    expect(text).toBe(JSON.stringify(JSON.parse(text)));
  });

  test("changes only with the app's own push", async () => {
    const before = await service.call(app, PATH);
    await service.pushSchema(other, defineSchema({ more: { code: t.string() } }));
    const tag = before.headers.get("etag") ?? "";
    const same = await service.call(app, PATH, { headers: { "if-none-match": tag } });
    expect([same.status, same.text]).toEqual([304, ""]);
    const mine = defineSchema({ labels: { code: t.string() } });
    await service.pushSchema(app, mine);
    // Another process applied the push. This process reads the schema's version in the statement that checks the key.
    const after = await service.call(app, PATH, { headers: { "if-none-match": tag } });
    expect([after.status, after.text.includes("labels-row")]).toEqual([200, true]);
  });

  test("is rejected for a revoked key of any scope", async () => {
    for (const scope of ["data:read", "data:write", "schema:push"] as const) {
      const holder = await service.makeApp(schema, { scopes: [scope] });
      await read(holder);
      await revokeKey(testDeps(service.service), holder.key.slice(3, 19));
      expect((await service.call(holder, PATH)).status).toBe(401);
    }
    expect((await service.call(undefined, PATH, { key: "rh_x.y" })).status).toBe(401);
  });

  test("is compressed, and each encoding has its own tag", async () => {
    const response = await fetch(`${service.url}${PATH}`, {
      headers: { "accept-encoding": "gzip" },
    });
    expect(response.headers.get("content-encoding")).toBe("gzip");
    expect(response.headers.get("etag")).toEndWith('-gzip"');
    expect(((await response.json()) as Document).openapi).toBe("3.1.1");
  });

  test("is rejected if it is so large that building it would block other requests", async () => {
    const values = Array.from({ length: 99 }, (_, index) => `${index}`.padStart(63, "v"));
    const columns = Array.from({ length: 170 }, (_, index) => [
      `c${index}`,
      t.enum(["first", ...values]),
    ]);
    const huge = Object.fromEntries(columns);
    const own = await service.makeApp(defineSchema({ huge_one: huge }));
    await read(own);
    await service.pushSchema(own, defineSchema({ huge_two: huge }));
    const response = await service.call(own, PATH);
    expect([response.status, response.json]).toMatchObject([500, { error: "response_too_large" }]);
  });

  test("rejects a query and an invalid precondition", async () => {
    expect((await service.call(undefined, `${PATH}?app=x`)).json).toMatchObject({
      error: "unsupported_query",
    });
    const headers = { "if-none-match": "x" };
    expect((await service.call(undefined, PATH, { headers })).json).toMatchObject({
      error: "invalid_precondition",
    });
  });

  test("has the codes of every error response, and an example of each with a remedy", async () => {
    const { components } = await read(app);
    const rejections = Object.entries(components.responses).filter(([name]) => name >= "400");
    expect(rejections.length).toBeGreaterThan(20);
    for (const [name, response] of rejections) {
      const content = Object(Object(response["content"])["application/json"]);
      const schema = name.includes("-identity-") ? "identity-error" : "error";
      expect([name, content.schema]).toEqual([name, { $ref: `#/components/schemas/${schema}` }]);
      const known = Object(components.schemas[schema]?.["properties"]).error.enum as string[];
      const codes = Object.keys(content.examples);
      expect(codes.length).toBeGreaterThan(0);
      expect(known).toEqual(expect.arrayContaining(codes));
      for (const code of codes) expect(content.examples[code].value.error).toBe(code);
    }
  });
});
