/** `rowhouse db rules`, which reads only the schema. The sentences are tested in `src/schema/explain_rules_test.ts`. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { makeProject, runHere, schemaText } from "../support/command.ts";
import { expectSentences } from "../support/sentences.ts";

const RULED = `{
  notes: { text: t.string() },
  todos: t.model({ title: t.string().unique(), owner: t.uuid().owner().index(), cost: t.decimal().only("lead") })
    .allow("member", { read: { owner: "me" }, create: true })
    .allow("lead", { read: true }),
}`;
let project: ReturnType<typeof makeProject>;
beforeAll(() => {
  project = makeProject();
});
afterAll(() => project.remove());

const run = (words: readonly string[], schema = RULED) => {
  project.write("schema/mod.ts", schemaText(schema));
  // The settings of a service are not read.
  return runHere(["db", "rules", ...words], { ...project, env: { ROWHOUSE_URL: "no address" } });
};

describe("db rules", () => {
  test("prints the rights of each role, and notices", async () => {
    const { code, out, err } = await run([]);
    expect([code, `${out}${err}`]).toMatchSnapshot();
  });

  test("prints the rights of one role", async () => {
    const { code, out } = await run(["--role", "lead"]);
    expect([code, out.split("\n")[0], out.includes("member")]).toEqual([0, "lead", false]);
  });

  test("prints a document with --json", async () => {
    const { code, out } = await run(["--json", "--role", "member"]);
    const notices = [{ table: "notes" }, { table: "todos" }];
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      rules: [
        { role: "member", table: "notes", rights: "no access" },
        { role: "member", table: "todos" },
      ],
      notices,
    });
  });

  test("says that a schema has no rules", async () => {
    const { code, out } = await run([], "{ notes: { text: t.string() } }");
    expect(code).toBe(0);
    expectSentences(out, {});
  });

  test.each([
    {
      name: "an unknown role",
      words: ["--role", "boss"],
      schema: RULED,
      names: ['"boss"', "lead, member"],
    },
    { name: "any role without rules", words: ["--role", "boss"], schema: "{}", names: ['"boss"'] },
    {
      name: "rules that contradict each other",
      words: [],
      schema: `{ todos: t.model({}).allow("member", { delete: true }) }`,
      names: ["todos", "member"],
    },
  ])("rejects $name", async ({ words, schema, names }) => {
    const { code, err } = await run(words, schema);
    expect(code).toBe(1);
    expectSentences(err, { names });
  });
});
