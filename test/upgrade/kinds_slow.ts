/**
 * A kind of column of this release, and 0.1: its commands name the release to install, and its processes that start again after a push
 * with the kind serve the other apps. While they run, no app can push.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { ROOT, runCommand } from "../support/command.ts";
import { definitionOf } from "../support/service.ts";
import { migrateAll } from "./database.ts";
import { send } from "./load.ts";
import { OLDEST } from "./packed.ts";
import { type Serving, startServing } from "./serving.ts";
import { openStage, type Stage } from "./stage.ts";

let stage: Stage;
let serving: Serving;
const serve = (program: string) =>
  startServing({ addresses: stage.addresses, shape: "one", workers: 1, program });
const sendTo = (key: string, path: string, json?: object) =>
  send({ url: serving.url, key }, path, { ...(json && { method: "POST", json }) }, () => undefined);

beforeAll(async () => {
  stage = await openStage(OLDEST, "18");
  await migrateAll(stage.addresses, ROOT);
  serving = await serve(ROOT);
  const tables = { contacts: { mail: t.email().unique(), page: t.url(), name: t.string() } };
  const steps = [{ kind: "define", definition: definitionOf(defineSchema(tables)) }];
  const pushed = await sendTo(stage.frozen.world.keys.diverged, "/v1/data/schema", { steps });
  expect(pushed).toMatchObject({ status: 200 });
}, 180_000);
afterAll(async () => {
  await serving?.stop();
  await stage?.close();
});

test("a command of 0.1 names the release to install", async () => {
  const folder = join(stage.folder, "kinds");
  mkdirSync(join(folder, "schema"), { recursive: true });
  writeFileSync(
    join(folder, "schema/mod.ts"),
    `import { defineSchema, t } from "${stage.program}/src/schema/mod.ts";
export default defineSchema({ contacts: { name: t.string() } });\n`,
  );
  const env = { ROWHOUSE_URL: serving.url, ROWHOUSE_API_KEY: stage.frozen.world.keys.diverged };
  const run = (word: string) => runCommand(["db", word], { folder, program: stage.program, env });
  expect(await run("pull")).toMatchObject({ code: 0 });
  for (const word of ["plan", "check", "push"]) {
    const { code, err } = await run(word);
    expect([word, code, err]).toEqual([
      word,
      1,
      expect.stringContaining("install rowhouse 0.2.0 or newer"),
    ]);
  }
}, 60_000);

test("a process of 0.1 that starts again serves other apps", async () => {
  await serving.stop();
  serving = await serve(stage.program);
  const { diverged, wiki } = stage.frozen.world.keys;
  const mail = { mail: "not an address" };
  const statuses = await Promise.all([
    ...["/v1/data/db/pages", "/v1/openapi.json"].map((path) => sendTo(wiki, path)),
    sendTo(wiki, "/v1/data/db/pages", { title: "By 0.1" }),
    ...["/v1/data/db/contacts", "/v1/openapi.json"].map((path) => sendTo(diverged, path)),
    // It cannot check the value, and stores none.
    sendTo(diverged, "/v1/data/db/contacts", mail),
  ]).then((responses) => responses.map(({ status }) => status));
  expect(statuses).toEqual([200, 200, 201, 200, 200, 500]);
}, 120_000);
