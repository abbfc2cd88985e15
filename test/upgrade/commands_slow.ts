/**
 * The command of the previous version at the service of this one, and the other way round: a project is read, pushed, changed back,
 * imported and exported.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runCommand } from "../support/command.ts";
import { migrateAll } from "./database.ts";
import { PREVIOUS } from "./packed.ts";
import { type Serving, startServing } from "./serving.ts";
import { openStage, type Stage } from "./stage.ts";
import { restoreProject } from "./world.ts";

let stage: Stage;
let serving: Serving;

beforeAll(async () => {
  stage = await openStage(PREVIOUS, "18");
  serving = await startServing(toOptions(stage.program));
}, 180_000);
afterAll(async () => {
  await serving?.stop();
  await stage?.close();
});

const toOptions = (program: string) =>
  ({ addresses: stage.addresses, shape: "one", workers: 1, program }) as const;

test("the newer command works with the previous service", async () => {
  await useCommand(ROOT, "newer");
}, 120_000);

test("the previous command works with the newer service", async () => {
  await serving.stop();
  await migrateAll(stage.addresses, ROOT);
  serving = await startServing(toOptions(ROOT));
  await useCommand(stage.program, "older");
}, 180_000);

/** Runs each command of a project that needs a service. `mark` names what it adds and removes. */
async function useCommand(program: string, mark: string): Promise<void> {
  const folder = join(stage.folder, mark);
  restoreProject(stage.frozen.world, folder, program);
  const env = { ROWHOUSE_URL: serving.url, ROWHOUSE_API_KEY: stage.frozen.world.keys.wiki };
  const run = async (code: number, ...argv: string[]): Promise<string> => {
    const done = await runCommand(argv, { folder, program, env });
    expect([argv, done.code, done.code === code ? "" : done.err]).toEqual([argv, code, ""]);
    return done.out;
  };
  await run(0, "db", "pull");
  await run(0, "db", "check");
  const path = join(folder, "schema/mod.ts");
  const original = readFileSync(path, "utf8");
  writeFileSync(path, original.replace("drafts: {", `drafts: { ${mark}: t.integer().index(),`));
  expect(await run(0, "db", "plan")).toContain(mark);
  // Changes are pending.
  await run(3, "db", "check");
  await run(0, "db", "push", "--yes");
  expect(await run(0, "db", "status")).not.toContain("pending");
  const file = join(folder, `${mark}.ndjson`);
  writeFileSync(file, `${JSON.stringify({ text: `by ${mark}`, [mark]: 7 })}\n`);
  await run(0, "data", "import", "drafts", file);
  const exported = await run(0, "data", "export", "drafts", "--format", "ndjson");
  const rows = exported
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(rows.filter((row) => row[mark] === 7)).toMatchObject([{ text: `by ${mark}` }]);
  writeFileSync(path, original);
  await run(0, "db", "drop", `drafts.${mark}`, "--yes");
  await run(0, "db", "check");
}
