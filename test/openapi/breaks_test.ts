import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { makeProject, type Outcome, ROOT, runHere, schemaText } from "../support/command.ts";

const project = makeProject();
afterAll(() => project.remove());

const write = (columns: string) =>
  project.write("schema/mod.ts", schemaText(`{ todos: { ${columns} } }`));
/** Runs a command that the documentation contains. */
async function run(command: string): Promise<Outcome> {
  expect(await Bun.file(join(ROOT, "docs/data.md")).text()).toContain(`\nrowhouse ${command}`);
  return await runHere(command.split(" "), project);
}

const BEFORE =
  't.string().required(), done: t.boolean(), status: t.enum(["open", "done"]), price: t.decimal()';

test("the command prints the document of a schema without a service", async () => {
  write(`title: ${BEFORE}`);
  const outcome = await runHere(["openapi", "--url", "https://api.example.org"], project);
  expect([outcome.code, outcome.err]).toEqual([0, ""]);
  const document = JSON.parse(outcome.out);
  expect(document.servers).toEqual([{ url: "https://api.example.org" }]);
  expect(Object.keys(document.paths)).toContain("/v1/data/db/todos");
  await Bun.write(join(project.folder, "openapi.json"), outcome.out);
});

test.each([
  { name: "the same schema", columns: `title: ${BEFORE}`, breaks: [] },
  { name: "a new column", columns: `title: ${BEFORE}, label: t.string()`, breaks: [] },
  {
    name: "a new required column",
    columns: `title: ${BEFORE}, label: t.string().required()`,
    breaks: ["todos-insert.label is now required"],
  },
  {
    name: "a removed column",
    columns: 'title: t.string().required(), status: t.enum(["open", "done"]), price: t.decimal()',
    breaks: [
      "todos-row.done was removed",
      "todos-insert.done was removed",
      "todos-update.done was removed",
    ],
  },
  {
    name: "a column of another kind",
    columns: `title: ${BEFORE.replace("t.decimal()", "t.number()")}`,
    breaks: ["row", "insert", "update"].map(
      (shape) => `todos-${shape}.price has a different format`,
    ),
  },
  {
    name: "a column that can no longer be null",
    columns: `title: ${BEFORE.replace("t.boolean()", "t.boolean().required().default(false)")}`,
    breaks: ["todos-insert.done can no longer be null", "todos-update.done can no longer be null"],
  },
  {
    name: "a column that can now be null",
    columns: `title: ${BEFORE.replace("t.string().required()", "t.string()")}`,
    breaks: ["todos-row.title can now be null"],
  },
  {
    name: "an enum with a value removed",
    columns: `title: ${BEFORE.replace('"open", ', "")}`,
    breaks: ["row", "insert", "update"].map(
      (shape) => `todos-${shape}.status no longer has the value "open"`,
    ),
  },
])("the command compares a published document with $name", async ({ columns, breaks }) => {
  write(columns);
  const outcome = await run("openapi --against openapi.json");
  if (breaks.length === 0)
    return expect(outcome).toEqual({
      code: 0,
      out: "No changes break clients of openapi.json\n",
      err: "",
    });
  expect([outcome.code, outcome.out]).toEqual([1, ""]);
  for (const line of breaks) expect(outcome.err).toContain(`  ${line}\n`);
  expect(outcome.err.trim().split("\n")).toHaveLength(breaks.length + 1);
});

test("the command reports a removed table by its endpoints, and rejects a file that is not a document", async () => {
  project.write("schema/mod.ts", schemaText("{ notes: { text: t.string() } }"));
  const outcome = await run("openapi --against openapi.json");
  expect(outcome.err.match(/was removed/g)).toHaveLength(6);
  expect(outcome.err).toContain("  PATCH /v1/data/db/todos/{id} was removed\n");
  for (const file of ["schema/mod.ts", "nothing.json"]) {
    const rejected = await runHere(["openapi", "--against", file], project);
    expect([rejected.code, rejected.out]).toEqual([1, ""]);
    expect(rejected.err).toContain(file);
  }
});
