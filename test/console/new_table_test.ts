/** The forms of a new table and column: the text to copy, and in `dev` the file of the schema, never written unless it is as shown. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSchemaFile } from "../../src/cli/dev/schema_file.ts";
import { KINDS } from "../../src/kinds/mod.ts";
import { TOKEN_FIELD } from "../../src/pages/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { readForms } from "../support/forms.ts";
import { textOf } from "../support/page_text.ts";
import { makePerson, OLD_SIGN_IN, signInAs, visit } from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const FILE = `import { defineSchema, t } from "rowhouse/schema";

export default defineSchema({
  todos: {
    title: t.string().required(),
  },
});
`;
const root = mkdtempSync(join(tmpdir(), "schema-file-"));
afterAll(() => rmSync(root, { recursive: true }));
let folder = "";
const file = () => join(folder, "schema/mod.ts");
const read = () => readFileSync(file(), "utf8");

const service = await share(
  openTestService({
    service: {
      findSchemaFile: (app) => (app === "todo" ? openSchemaFile(folder, file()) : undefined),
    },
  }),
);
await service.makeApp(defineSchema({ todos: { title: t.string().required() } }), { slug: "todo" });
await service.makeApp(defineSchema({ notes: { title: t.string() } }), { slug: "other" });
const person = await makePerson(service, { consoleRole: "admin" });
const jar = await signInAs(service, person);

beforeEach(() => {
  folder = mkdtempSync(join(root, "project-"));
  mkdirSync(join(folder, "schema"));
  writeFileSync(file(), FILE);
});

type Fields = Readonly<Record<string, string>>;
const TABLE = { name: "people", "column1.name": "name", "column1.required": "on" };
const toPath = (fields: Fields, path = "new-table", app = "todo") =>
  `/console/apps/${app}/${path}?${new URLSearchParams(fields)}`;
const show = async (fields: Fields, path?: string, app?: string) => {
  const { status, text } = await visit(service, jar, toPath(fields, path, app));
  return {
    status,
    text,
    snippet: /id="schema-text">([^<]*)/.exec(text)?.[1]?.replaceAll("&quot;", '"'),
  };
};
/** The form that writes the file, as the page has it. */
const readWrite = (text: string): Fields => {
  const form = readForms(text).find(({ method }) => method === "post");
  return Object.fromEntries((form?.fields ?? []).map(({ name, value }) => [name, value]));
};

describe("the text to copy", () => {
  test("has a table with a column of every kind", async () => {
    const special: Readonly<Record<string, Fields>> = {
      enum: { values: "open, in progress", default: "open" },
      ref: { table: "todos", onDelete: "cascade" },
      timestamp: { default: "now", onUpdate: "now" },
      boolean: { default: "false", required: "on" },
      integer: { default: "-3" },
    };
    const columns = KINDS.map((kind) => ({ name: `a_${kind}`, kind, ...special[kind] }));
    const fields = columns.flatMap((column, place) =>
      Object.entries(column).map(([name, value]) => [`column${place + 1}.${name}`, value]),
    );
    const { status, snippet } = await show({
      name: "all",
      columns: "20",
      ...Object.fromEntries(fields),
    });
    expect(status).toBe(200);
    const lines = snippet?.split("\n") ?? [];
    expect(lines).toHaveLength(KINDS.length + 2);
    expect(lines).toContain('  a_enum: t.enum(["open", "in progress"]).default("open"),');
    expect(lines).toContain('  a_ref: t.ref("todos", { onDelete: "cascade" }),');
    expect(lines).toContain('  a_timestamp: t.timestamp().default("now").onUpdate("now"),');
    expect(lines).toContain("  a_boolean: t.boolean().required().default(false),");
    expect(lines).toContain("  a_integer: t.integer().default(-3),");
  });

  test("has a column, and the page of another app has the command of a push and no form that writes", async () => {
    const { text, snippet } = await show(
      { "column1.name": "note" },
      "tables/notes/new-column",
      "other",
    );
    expect(snippet).toBe("note: t.string(),");
    expect(text).toContain("rowhouse db push");
    expect(readForms(text).some(({ method }) => method === "post")).toBe(false);
  });

  test.each([
    { name: "a quote", fields: { name: 'a"b' }, issue: "Cannot name a table" },
    { name: "a line break", fields: { "column1.name": "a\nb" }, issue: "Cannot name a column" },
    {
      name: "the end of a comment",
      fields: { "column1.name": "a*/b" },
      issue: "Cannot name a column",
    },
    { name: "a reserved table", fields: { name: "users" }, issue: "the name is reserved" },
    { name: "a table of the app", fields: { name: "todos" }, issue: "todos" },
    { name: "no column", fields: { "column1.name": "" }, issue: "Enter the name of a column" },
    {
      name: "a choice with a quote",
      fields: { "column1.kind": "enum", "column1.values": 'a", evil()' },
      issue: "Cannot use the choice",
    },
    {
      name: "a text as a default",
      fields: { "column1.default": '" + evil() + "' },
      issue: "Cannot use the default",
    },
    {
      name: "an index of JSON",
      fields: { "column1.kind": "json", "column1.index": "on" },
      issue: "Cannot index",
    },
    {
      name: "an unknown table",
      fields: { "column1.kind": "ref", "column1.table": "gone" },
      issue: "gone",
    },
  ])("is not shown for $name, and nothing can be written", async ({ fields, issue }) => {
    const { status, text, snippet } = await show({ ...TABLE, ...fields });
    expect([status, snippet]).toEqual([422, undefined]);
    expect(textOf({ text })).toContain(issue);
    expect(readWrite(text)).toEqual({});
    const own = readWrite((await show(TABLE)).text);
    const sent = await visit(service, jar, toPath({ ...TABLE, ...fields }), { fields: own });
    expect([sent.status, read()]).toEqual([422, FILE]);
  });

  test("stays in the fields when there are more of them", async () => {
    const { status, text } = await show({ ...TABLE, columns: "3", more: "1" });
    expect([status, text.includes('name="column6.name"')]).toEqual([200, true]);
    expect(text).toContain('value="people"');
  });
});

describe("the schema file of dev", () => {
  test("is shown with its change, and written", async () => {
    const { text } = await show(TABLE);
    expect(textOf({ text })).toContain("+ people: {");
    const path = toPath(TABLE);
    const written = await visit(service, jar, path, { fields: readWrite(text) });
    expect([written.status, written.headers.get("location")]).toEqual([
      303,
      "/console/apps/todo/tables?done=schema-written",
    ]);
    expect(read()).toBe(
      FILE.replace("  },\n});", "  },\n  people: {\n    name: t.string().required(),\n  },\n});"),
    );
    const column = await show({ "column1.name": "note" }, "tables/todos/new-column");
    const fields = readWrite(column.text);
    await visit(service, jar, toPath({ "column1.name": "note" }, "tables/todos/new-column"), {
      fields,
    });
    expect(read()).toContain("title: t.string().required(),\n    note: t.string(),\n  },");
  });

  const written = async (
    change: (fields: Fields) => Fields | Promise<Fields>,
    sent: object = {},
  ) => {
    const fields = await change(readWrite((await show(TABLE)).text));
    const response = await visit(service, jar, toPath(TABLE), { fields, ...sent });
    return response.status;
  };

  test("is not written if it has changed since it was shown, or without what was shown", async () => {
    expect(await written(({ digest, ...fields }) => fields)).toBe(422);
    expect(read()).toBe(FILE);
    const changed = `${FILE}// mine\n`;
    expect(
      await written((fields) => {
        writeFileSync(file(), changed);
        return fields;
      }),
    ).toBe(422);
    expect(read()).toBe(changed);
  });

  test("is not written by another site, without the token, or with an old sign-in", async () => {
    expect(await written((fields) => fields, { origin: "https://evil.example.org" })).toBe(403);
    expect(await written((fields) => ({ ...fields, [TOKEN_FIELD]: "" }))).toBe(403);
    const old = await signInAs(service, person);
    const { text } = await visit(service, old, toPath(TABLE));
    await service.service.admin.message(
      `update rowhouse.sessions set proven_at = ${OLD_SIGN_IN}; select 1`,
    );
    const path = toPath(TABLE);
    const { status, headers } = await visit(service, old, path, { fields: readWrite(text) });
    const to = new URL(headers.get("location") ?? "", service.url);
    expect([status, to.pathname, to.searchParams.get("to")]).toEqual([
      303,
      "/console/sign-in",
      path,
    ]);
    await service.service.admin.message("update rowhouse.sessions set proven_at = now(); select 1");
    expect(read()).toBe(FILE);
  });

  test.each([
    { name: "the file is a link", link: "schema/mod.ts", target: "mod.ts" },
    { name: "its folder is a link", link: "schema", target: "." },
  ])(
    "is neither read nor written if $name that leads out of the project",
    async ({ link, target }) => {
      const fields = readWrite((await show(TABLE)).text);
      const outside = mkdtempSync(join(root, "outside-"));
      writeFileSync(join(outside, "mod.ts"), FILE);
      rmSync(join(folder, link), { recursive: true });
      symlinkSync(join(outside, target), join(folder, link));
      const { text } = await show(TABLE);
      expect([readWrite(text), textOf({ text }).includes("The Console cannot add it")]).toEqual([
        {},
        true,
      ]);
      expect((await visit(service, jar, toPath(TABLE), { fields })).status).toBe(422);
      expect(readFileSync(join(outside, "mod.ts"), "utf8")).toBe(FILE);
    },
  );

  test("is no file of another app, and no file outside the project", async () => {
    const { text } = await show(TABLE);
    const fields = readWrite(text);
    expect(
      (await visit(service, jar, toPath(TABLE, "new-table", "other"), { fields })).status,
    ).toBe(404);
    expect(
      openSchemaFile(join(folder, "schema"), join(folder, "schema/../mod.ts")).read(),
    ).toBeUndefined();
  });

  test("stays as it is if the Console does not know its form", async () => {
    writeFileSync(file(), "export default makeSchema();\n");
    expect(textOf(await show(TABLE))).toContain("it finds no place there");
  });
});
