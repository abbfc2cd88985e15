/** The API reference over HTTP: its contents with and without a key, its content policy, and its size. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Document, makeDocument } from "../../src/openapi/mod.ts";
import { listEndpoints } from "../../src/openapi/reference/endpoints.ts";
import { PROBLEMS, toSentence } from "../../src/problem.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { routes } from "../../src/service/routes.ts";
import {
  definitionOf,
  openTestService,
  type TestApp,
  type TestService,
} from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";

/** Compressed size of the page, its stylesheets, its script and the icon. The smallest viewer that we know has 218 KB. */
const MAX_BYTES = 50_000;

const HOSTILE = '</code><script>alert("x")</script>';
const TURNED = "\u202eturned\u2066";
const schema = defineSchema({
  projects: { name: t.string().required() },
  todos: {
    title: t.string().required(),
    kind: t.enum([TURNED, HOSTILE, "it's"]).required(),
    project: t.ref("projects"),
  },
});

for (const shape of SHAPES) {
  describe(`a service of the shape "${shape}"`, () => {
    let service: TestService;
    let app: TestApp;
    let other: TestApp;
    beforeAll(async () => {
      service = await openTestService({ shape });
      app = await service.makeApp(schema);
      other = await service.makeApp(defineSchema({ secrets: { code: t.string() } }));
    });
    afterAll(() => service.close());

    const listTables = (text: string) =>
      [...text.matchAll(/href="\/docs\/tables\/(\w+)"/g)].map(([, name]) => name ?? "");

    test("displays each endpoint without a key, and no tables", async () => {
      const { status, text, headers } = await service.call(undefined, "/docs");
      expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      for (const { method, path } of routes.filter(({ operation }) => operation !== undefined)) {
        const displayed = path.replace(/:(\w+)/g, "{$1}").replaceAll("/", "<wbr>/");
        expect(text).toMatch(
          new RegExp(`>${method}</span> <code>${RegExp.escape(displayed)}</code>`),
        );
      }
      expect(listTables(text)).toEqual([]);
      const [, setUp = ""] = /<code id="set-up">(.*?)<\/code>/s.exec(text) ?? [];
      expect(setUp.replace(/<[^>]+>/g, "").split("\n")).toEqual([
        "export ROWHOUSE_URL=https://api.example.org",
        "export ROWHOUSE_API_KEY=rh_…",
      ]);
      // A description without tables has no columns to make examples from.
      expect(decode(text.replace(/<[^>]+>/g, ""))).toContain(
        '-d \'{"title":"Write the docs","done":false}\'',
      );
    });

    test("displays what each error code means and what to do", async () => {
      const { text } = await service.call(undefined, "/docs");
      for (const [code, { status, when, fix }] of Object.entries(PROBLEMS)) {
        const entry = new RegExp(`<div id="code-${code}">(.*?)</div>`, "s").exec(text)?.[1] ?? "";
        const expected = `${code} ${status}${toSentence(when)}. ${fix}`.replaceAll("`", "");
        expect(decode(entry.replace(/<[^>]+>/g, ""))).toBe(expected);
      }
    });

    test("displays to a key exactly the tables of its app in the document", async () => {
      const document = (await service.call(app, "/v1/openapi.json")).json as Document;
      const paths = Object.keys(document.paths).flatMap(
        (path) => /^\/v1\/data\/db\/(\w+)$/.exec(path)?.[1] ?? [],
      );
      const start = await service.call(app, "/docs");
      expect([...new Set(listTables(start.text))]).toEqual(paths);
      const page = await service.call(app, "/docs/tables/todos");
      const displayed = [...page.text.matchAll(/<section class="endpoint" id="(\w+)"/g)];
      const wanted = listEndpoints(document).filter(({ path }) => path.includes("/db/todos"));
      expect(displayed.map(([, id]) => id)).toEqual(wanted.map(({ id }) => id));
      const codes = [...page.text.matchAll(/href="\/docs#(code-\w+)"/g)].map(([, id]) => id);
      expect(codes).toContain("code-unique_violation");
      expect(codes.filter((id) => !start.text.includes(`id="${id}"`))).toEqual([]);
    });

    test.each([
      { name: "another app's table", ask: () => service.call(app, "/docs/tables/secrets") },
      { name: "a missing table", ask: () => service.call(other, "/docs/tables/nothing") },
    ])("returns 404 for $name", async ({ ask }) => {
      const { status, json } = await ask();
      expect([status, json]).toMatchObject([404, { error: "unknown_table" }]);
    });

    test("rejects an invalid key and another method", async () => {
      expect((await service.call(undefined, "/docs", { key: "rh_x.y" })).status).toBe(401);
      const { status, headers } = await service.call(app, "/docs/tables/todos", { method: "PUT" });
      expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    });

    test("returns the same page for every table without a key", async () => {
      const pages = ["todos", "secrets", "nothing"].map(async (table) => {
        const { status, text } = await service.call(undefined, `/docs/tables/${table}`);
        return [status, text];
      });
      const [first, ...rest] = await Promise.all(pages);
      expect(first?.[0]).toBe(200);
      for (const page of rest) expect(page).toEqual(first ?? []);
    });

    test("runs only the service's script", async () => {
      const { headers } = await service.call(app, "/docs");
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'; style-src 'self'");
      expect(policy).toContain("script-src 'self'; connect-src 'self'");
      expect(policy).not.toMatch(/unsafe|\*|https?:|data:/);
      expect(headers.get("cache-control")).toBe("no-store");
    });

    test("escapes hostile values", async () => {
      const { text } = await service.call(app, "/docs/tables/todos");
      expect(text).not.toMatch(/<script>alert|[\u202a-\u202e\u2066-\u2069]/);
      expect(text).toContain("&quot;&lt;/code&gt;&lt;script&gt;alert(\\&quot;x\\&quot;)");
      expect(text).toContain("\\u202eturned\\u2066");
    });

    test(`loads in less than ${MAX_BYTES / 1000} KB`, async () => {
      const sizes = new Map<string, number>();
      const load = async (path: string) => {
        const headers = { "accept-encoding": "gzip" };
        const response = await fetch(service.url + path, { headers, decompress: false });
        expect(response.status).toBe(200);
        const bytes = await response.bytes();
        sizes.set(path, bytes.length);
        return response.headers.get("content-encoding") === "gzip" ? Bun.gunzipSync(bytes) : bytes;
      };
      const text = new TextDecoder().decode(await load("/docs"));
      const named = [...text.matchAll(/(?:src|<link[^>]* href)="([^"]+)"/g)];
      for (const [, path = ""] of named) await load(path);
      expect(sizes.size).toBe(5);
      expect([...sizes.values()].reduce((sum, size) => sum + size)).toBeLessThan(MAX_BYTES);
    });
  });
}

test("an example request has all required parts and is quoted for a shell", async () => {
  const service = await openTestService();
  const app = await service.makeApp(
    defineSchema({ todos: { kind: t.enum(["it's", "b"]).required(), label: t.string() } }),
  );
  const { text } = await service.call(app, "/docs/tables/todos");
  const [, marked = ""] = /<code id="create_todos-curl">(.*?)<\/code>/s.exec(text) ?? [];
  const curl = marked.replace(/<[^>]+>/g, "");
  const command = curl.replaceAll("&quot;", '"').replaceAll("&#39;", "'");
  const { stdout } = Bun.spawn(["sh", "-c", `${command} -sS`], {
    env: { PATH: process.env["PATH"] ?? "", ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key },
  });
  const response = await new Response(stdout).json();
  await service.close();
  expect(response).toMatchObject({ kind: "it's", label: null });
});

test("the reference lists the fields of a body and of a response, including nested fields", () => {
  const endpoints = listEndpoints(makeDocument(routes, { tables: undefined }));
  const [response] = endpoints.find(({ id }) => id === "push_schema")?.responses ?? [];
  expect(response?.fields.map(({ name }) => name)).toEqual([
    "status",
    "migration",
    ...["seq", "name", "parent", "checksum", "text", "sql"].map((name) => `migration.${name}`),
    ...["steps", "notes", "shared", "rows", "rows.rows", "rows.values", "earlier"],
    "earlier[].migration",
    ...["seq", "name", "parent", "checksum"].map((name) => `earlier[].migration.${name}`),
    ...["steps", "notes", "shared"].map((name) => `earlier[].${name}`),
    ...["rows", "rows.rows", "rows.values"].map((name) => `earlier[].${name}`),
  ]);
  const { body } = endpoints.find(({ id }) => id === "push_schema") ?? {};
  expect(body?.fields.map(({ name, isRequired }) => (isRequired ? `${name}!` : name))).toEqual([
    "steps!",
    ...["kind!", "definition!", "definition.version!", "definition.tables!"].map(
      (name) => `steps[].${name}`,
    ),
    ...["kind!", "change!"].map((name) => `steps[].${name}`),
    ...[
      ...["kind!", "table!", "column!", "to!"],
      ...["kind!", "table!", "to!"],
      ...["kind!", "table!", "column!"],
      ...["kind!", "table!"],
      ...["kind!", "table!", "column!", "value!"],
      ...["kind!", "table!", "column!", "type!", "type.kind!", "type.values", "type.default"],
    ].map((name) => `steps[].change.${name}`),
    ...["kind!", "text!", "followed"].map((name) => `steps[].${name}`),
    ...["kind!", "migrations!", "definition!", "definition.version!", "definition.tables!"].map(
      (name) => `steps[].${name}`,
    ),
    ...["declared!", "declared.version!", "declared.tables!"].map((name) => `steps[].${name}`),
    ...["journal", "journal[].seq!", "journal[].checksum!", "dryRun", "share"],
  ]);
  expect(body?.fields[1]?.type).toBe('always "define"');
  expect(body?.fields[3]?.type).toBe("always 1");
  expect(response?.fields[1]?.type).toBe("object or null");
  const { tables } = definitionOf(defineSchema({ todos: { label: t.string().required() } }));
  const ofTable = listEndpoints(makeDocument(routes, { tables }));
  const sampleOf = (id: string) => ofTable.find((endpoint) => endpoint.id === id)?.body?.sample;
  expect(sampleOf("create_todos")).toEqual({ label: "Example" });
  expect(sampleOf("update_many_todos")).toEqual([{ id: expect.any(String) }]);
  const [page] = endpoints.find(({ id }) => id === "list_rows")?.responses ?? [];
  expect(page?.fields.map(({ name }) => name)).toEqual(["rows", "limit", "offset", "hasMore"]);
  const [status] = endpoints.find(({ id }) => id === "get_schema")?.responses ?? [];
  expect(status?.fields.map(({ name }) => name)).toContain("tables[].owned");
});

test("the reference marks deprecated parts", () => {
  const [first] = routes;
  if (first?.operation === undefined) throw new Error("The first route has no operation");
  const operation = { ...first.operation, deprecated: { since: "2027-01-31" } };
  const [endpoint] = listEndpoints(makeDocument([{ ...first, operation }], { tables: undefined }));
  expect(endpoint).toMatchObject({ isDeprecated: true, about: "Deprecated since 2027-01-31." });
});

test("the examples in TypeScript and Python send the same request as curl", async () => {
  await using service = await openTestService();
  const schema = { todos: { title: t.string().required(), is_done: t.boolean().required() } };
  const app = await service.makeApp(defineSchema(schema));
  const { text } = await service.call(app, "/docs/tables/todos");
  const read = (language: string) => readExample(text, `create_todos-${language}`);
  const env = { ...process.env, ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key };
  for (const command of [
    ["bun", "-e", `${read("typescript")}\nconsole.log(status, text);`],
    ["python3", "-c", read("python")],
  ]) {
    const run = Bun.spawn(command, { env, stdout: "pipe", stderr: "pipe" });
    const [output, error] = await Promise.all([
      new Response(run.stdout).text(),
      new Response(run.stderr).text(),
    ]);
    expect([command[0], error, output.slice(0, 3)]).toEqual([command[0], "", "201"]);
    expect(JSON.parse(output.slice(4))).toMatchObject({ title: "Example", is_done: true });
  }
});

test("the examples of the first endpoint, written by hand, print the rows or the error", async () => {
  await using service = await openTestService();
  const app = await service.makeApp(defineSchema({ todos: { title: t.string().required() } }));
  const { text } = await service.call(undefined, "/docs");
  expect(/<section class="endpoint" id="(\w+)"/.exec(text)?.[1]).toBe("list_rows");
  const json = Array.from({ length: 21 }, (_, place) => ({ title: `Title ${place + 1}` }));
  const created = await service.call(app, "/v1/data/db/todos", { method: "POST", json });
  const ids = (created.json as { rows: { id: string }[] }).rows.map(({ id }) => id);
  const lines = ids.slice(0, 20).map((id, place) => `${id} Title ${place + 1}`);
  const titles = json.slice(0, 20).map(({ title }) => title);
  for (const { language, command, more, expected } of [
    { language: "curl", command: ["sh", "-c"], more: "", expected: undefined },
    {
      language: "typescript",
      command: ["bun", "-e"],
      more: "\nconsole.log(JSON.stringify([titles, hasMore]));",
      expected: `${JSON.stringify([titles, true])}\n`,
    },
    {
      language: "python",
      command: ["python3", "-c"],
      more: "",
      expected: [...lines, "More rows follow: add &offset=20", ""].join("\n"),
    },
  ]) {
    const example = readExample(text, `list_rows-${language}`) + more;
    const run = async (key: string) => {
      const env = { ...process.env, ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: key };
      const spawned = Bun.spawn([...command, example], { env, stdout: "pipe", stderr: "pipe" });
      const [output, error] = await Promise.all([
        new Response(spawned.stdout).text(),
        new Response(spawned.stderr).text(),
      ]);
      return { output, error, exit: await spawned.exited };
    };
    const { output, error, exit } = await run(app.key);
    expect([language, error, exit]).toEqual([language, "", 0]);
    if (expected !== undefined) expect(output).toBe(expected);
    else expect(JSON.parse(output)).toMatchObject({ limit: 20, hasMore: true });
    const rejected = await run("rh_unknown.key");
    expect([language, rejected.exit === 0]).toEqual([language, false]);
    expect(rejected.output + rejected.error).toContain('"error":"unauthenticated"');
  }
});

/** The text of an example, as a reader copies it. */
function readExample(text: string, id: string): string {
  const code = new RegExp(`<code id="${id}">(.*?)</code>`, "s").exec(text)?.[1];
  return decode((code ?? "").replace(/<[^>]+>/g, ""));
}

function decode(text: string): string {
  const entities = { "&quot;": '"', "&#39;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&" };
  return Object.entries(entities).reduce(
    (decoded, [from, to]) => decoded.replaceAll(from, to),
    text,
  );
}
