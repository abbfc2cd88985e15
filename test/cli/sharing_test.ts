/** `rowhouse db push` asks, warns or rejects before an app shares a table of another app. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeProject, runHere, schemaText, startOnTerminal } from "../support/command.ts";
import { makeHistory } from "../support/history.ts";
import { dumpDatabase, freshName, postSchema } from "../support/push.ts";
import { expectSentences } from "../support/sentences.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

let owner: TestApp;
let app: TestApp;
let name: string;
let project: ReturnType<typeof makeProject>;
const SCHEMA = () => defineSchema({ [name]: { title: t.string() } });
const service = await share(openTestService());
/** A table that another app owns, and a project that declares it. */
beforeEach(async () => {
  name = freshName();
  owner = await service.makeApp(SCHEMA());
  app = await service.makeApp();
  project = makeProject({ "schema/mod.ts": schemaText(`{ ${name}: { title: t.string() } }`) });
});
afterEach(() => project.remove());

const env = () => ({ ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key, NO_COLOR: "1" });
const db = (...words: string[]) => runHere(["db", ...words], { ...project, env: env() });
const start = (...words: string[]) =>
  startOnTerminal(["db", ...words], { folder: project.folder, env: env() });
const dump = () => dumpDatabase(service.service.admin);

/** Checks the only conflict: it names the table and the flag, but not the owner. */
function expectConflict(err: string): void {
  const conflicts = err.split("\n").filter((line) => line.startsWith("  /"));
  expect(conflicts.map((line) => line.split(": ")[0])).toEqual([`  /${name}`]);
  expectSentences(conflicts.join("\n"), {
    names: ["--no-share", "rowhouse.json"],
    hides: [owner.slug],
    varies: { [name]: "<table>" },
  });
}

describe("on a terminal", () => {
  const QUESTION = /Share (\S+)\? \[y\/N\]/;

  test("a push explains sharing and asks, and shares only after a yes", async () => {
    const before = await dump();
    const rejected = start("push");
    await rejected.until(QUESTION);
    expectSentences(rejected.output().replaceAll("\r", ""), {
      names: [name],
      hides: [owner.slug],
      varies: { [name]: "<table>", [service.url]: "<service>" },
    });
    rejected.type("n\n");
    expect(await rejected.ended).toBe(1);
    expect(await dump()).toBe(before);

    const agreed = start("push");
    await agreed.until(QUESTION);
    agreed.type("y\n");
    expect(await agreed.ended).toBe(0);
    expect(agreed.output()).toContain(`+ register ${name}`);
    expect(agreed.output()).not.toContain("Warning");

    // The app now uses the table, so more additions need no decision.
    const more = freshName();
    project.write("schema/mod.ts", schemaText(`{ ${name}: { title: t.string() }, ${more}: {} }`));
    const again = start("push");
    expect(await again.ended).toBe(0);
    expect(again.output()).not.toMatch(QUESTION);
  });

  test("a table that another app creates after the question is a conflict", async () => {
    const late = freshName();
    project.write("schema/mod.ts", schemaText(`{ ${name}: { title: t.string() }, ${late}: {} }`));
    const push = start("push");
    await push.until(QUESTION);
    expect(push.output()).toContain(`Share ${name}? [y/N]`);
    await postSchema(service, owner, defineSchema({ [late]: {} }));
    push.type("y\n");
    expect(await push.ended).toBe(1);
    expect(push.output()).toContain(`/${late}: `);
  });

  test("--yes does not ask", async () => {
    const push = start("push", "--yes");
    expect(await push.ended).toBe(0);
    expect(push.output()).not.toMatch(QUESTION);
    expect(push.output()).toMatch(new RegExp(`Warning: .*${name}`));
  });
});

test("without a terminal the first push shares with a warning", async () => {
  const pushed = await db("push", "--json");
  expect(pushed.code).toBe(0);
  expectSentences(pushed.err, {
    names: ["Warning: ", name],
    hides: [owner.slug],
    varies: { [name]: "<table>" },
  });
  expect(JSON.parse(pushed.out)).toMatchObject({ status: "applied", shared: [name] });
  expect(await db("push")).toEqual({ code: 0, err: "", out: "Nothing to do\n" });
});

test("a history that ends in a shared table causes a warning, too", async () => {
  const [first = "", second = ""] = makeHistory([defineSchema({}), SCHEMA()]);
  project.write("schema/migrations/0001_step_1.sql", first);
  project.write("schema/migrations/0002_step_2.sql", second);
  const pushed = await db("push", "--json");
  expect(pushed.err).toStartWith("Warning: ");
  expect(pushed.err).toContain(name);
  expect(JSON.parse(pushed.out)).toMatchObject({ replays: [{ shared: [] }, { shared: [name] }] });
});

describe("sharing is a conflict", () => {
  test.each([
    { by: "--no-share", file: undefined, flags: ["--no-share"] },
    { by: '"share": false', file: { environments: {}, share: false }, flags: [] },
  ])("with $by, for push, plan and check, and nothing is written", async ({ file, flags }) => {
    if (file !== undefined) project.write("rowhouse.json", JSON.stringify(file));
    const before = await dump();
    for (const command of ["push", "plan", "check"]) {
      const rejected = await db(command, ...flags);
      expect([rejected.code, rejected.out]).toEqual([1, ""]);
      expectConflict(rejected.err);
    }
    expect(await dump()).toBe(before);
  });

  test("only for tables that the app does not use yet", async () => {
    expect((await db("push")).code).toBe(0);
    expect(await db("push", "--no-share")).toEqual({ code: 0, err: "", out: "Nothing to do\n" });
    const alone = freshName();
    project.write("schema/mod.ts", schemaText(`{ ${name}: { title: t.string() }, ${alone}: {} }`));
    expect((await db("push", "--no-share")).out).toContain(`+ create table ${alone}`);
  });

  test("without revealing whether the declaration would fit", async () => {
    project.write("schema/mod.ts", schemaText(`{ ${name}: { other: t.number() } }`));
    const rejected = await db("push", "--no-share");
    expectConflict(rejected.err);
    expect(rejected.err).not.toContain("title");
  });

  test("for a push directly to the database", async () => {
    const rejected = await runHere(["db", "push", "--no-share", "--app", app.slug], {
      ...project,
      env: { ADMIN_DATABASE_URL: service.database.adminUrl },
    });
    expect(rejected.code).toBe(1);
    expectConflict(rejected.err);
  });
});

test("the list of tables to share is validated like the rest of a body", async () => {
  for (const [share, path] of [
    ["all", "/share"],
    [[1], "/share/0"],
    [Array(501).fill("x"), "/share"],
  ] as const) {
    const response = await postSchema(service, app, SCHEMA(), { share });
    expect(response).toMatchObject({
      status: 422,
      json: { error: "invalid_schema", details: [{ path }] },
    });
  }
});

test("a setting of rowhouse.json with an invalid boolean is rejected", async () => {
  project.write("rowhouse.json", JSON.stringify({ share: "no" }));
  expectSentences((await db("push")).err, { names: ["rowhouse.json", "/share: "] });
});
