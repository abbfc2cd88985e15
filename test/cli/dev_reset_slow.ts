/** `rowhouse dev --reset`: what it deletes, and that it asks first. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  expectFailure,
  makeProject,
  type Running,
  runCommand,
  schemaText,
  startCommand,
  startOnTerminal,
} from "../support/command.ts";
import { callDev, DEV_READY } from "../support/dev.ts";

const TODOS = "/v1/data/db/todos";
const SCHEMA = "{ todos: { title: t.string().required() } }";
setDefaultTimeout(180_000);

let project: ReturnType<typeof makeProject>;
beforeAll(async () => {
  project = makeProject({ "schema/mod.ts": schemaText("{ before: {} }") });
  await stopOnce(startDev());
  project.write("schema/mod.ts", schemaText(SCHEMA));
  await stopOnce(startDev(), async () => {
    expect((await callDev(project.folder, TODOS, { title: "Milk" })).status).toBe(201);
  });
}, 180_000);
afterAll(() => project.remove());

const startDev = (...flags: string[]) => startCommand(["dev", "--port", "0", ...flags], project);

/** Waits until it serves, and ends it. */
async function stopOnce(dev: Running, meanwhile = async () => {}): Promise<void> {
  await dev.until(DEV_READY);
  await meanwhile();
  expect(await dev.kill("SIGTERM")).toBe(0);
}

async function expectKept(): Promise<void> {
  expect(existsSync(join(project.folder, ".rowhouse/types.d.ts"))).toBe(true);
  await stopOnce(startDev(), async () => {
    expect((await callDev(project.folder, TODOS)).json).toMatchObject({
      rows: [{ title: "Milk" }],
    });
  });
}

describe("--reset changes nothing", () => {
  const NO_TERMINAL =
    "Cannot delete the database in .rowhouse/postgres without confirmation: add --yes\n";
  test("without a terminal, or if the folder contains other files", async () => {
    expect(await runCommand(["dev", "--reset"], project)).toEqual({
      code: 1,
      out: "",
      err: NO_TERMINAL,
    });
    const words = ["dev", "--reset", "--yes", "--data-dir", "schema"];
    const { code, err } = await runCommand(words, project);
    expect(err).toContain("contains other files");
    expect([code, existsSync(join(project.folder, "schema/mod.ts"))]).toEqual([1, true]);
    await expectKept();
  });

  test.each([
    { name: "no", typed: "n\n" },
    { name: "nothing", typed: "\n" },
    { name: "a wrong confirmation", typed: "what\n" },
    { name: "the end of input", typed: "\u0004" },
  ])("if the response is $name", async ({ typed }) => {
    const asked = startOnTerminal(["dev", "--port", "0", "--reset"], project);
    await asked.until(/Continue\? \[y\/N\] $/);
    asked.type(typed);
    expect(await asked.ended).toBe(1);
    await asked.until(/Nothing was deleted/);
    expect(existsSync(join(project.folder, ".rowhouse/postgres/cluster"))).toBe(true);
  });

  test("while another dev process uses the folder", async () => {
    const dev = startDev();
    await dev.until(DEV_READY);
    expectFailure(
      await runCommand(["dev", "--reset", "--yes"], project),
      "Another rowhouse dev is using this",
    );
    await dev.kill("SIGTERM");
    await expectKept();
  });
});

test("--reset applies the current schema without rows, and retains people and links", async () => {
  const secrets = () => readFileSync(join(project.folder, ".rowhouse/secrets.json"), "utf8");
  const { people } = JSON.parse(secrets()) as { people: unknown };
  const asked = startOnTerminal(["dev", "--port", "0", "--reset"], project);
  await asked.until(
    /This deletes the database in \.rowhouse\/postgres with every row in it, and \.rowhouse\/types\.d\.ts\. Continue\? \[y\/N\] $/,
  );
  asked.type("y\n");
  await stopOnce(asked, async () => {
    expect((await callDev(project.folder, TODOS)).json).toMatchObject({ rows: [] });
  });
  expect(existsSync(join(project.folder, ".rowhouse/types.d.ts"))).toBe(true);
  expect(JSON.parse(secrets())).toMatchObject({ people });
  expect(readdirSync(join(project.folder, ".rowhouse/postgres")).sort()).toEqual([
    "cluster",
    "lock",
  ]);
});
