/** Archives of apps with rules: the import replays the migrations, so the app has the rules of its last push. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { type Admin, openAdmin } from "../support/admin.ts";
import { openApp } from "../support/archives.ts";
import { freshName, postSchema } from "../support/push.ts";
import type { TestApp } from "../support/service.ts";

const folder = mkdtempSync(join(tmpdir(), "rowhouse-archives-"));
const browser = { service: { previews: ["browser"] as const } };
const [here, there] = await Promise.all([openAdmin({}, browser), openAdmin({}, browser)]);
afterAll(async () => {
  for (const admin of [here, there]) await admin.close();
  rmSync(folder, { recursive: true });
});

const todos = freshName();
const columns = { title: t.string(), owner: t.uuid().owner().index() };
const first = defineSchema({ [todos]: t.model(columns).allow("viewer", { read: true }) });
const last = defineSchema({
  [todos]: t.model(columns).allow("member", { read: { owner: "me" }, create: true }),
});

const tablesOf = async (admin: Admin, app: TestApp) =>
  (await admin.service.call(app, "/v1/data/schema")).json as { tables: unknown };

async function exportApp(): Promise<{ app: TestApp; file: string }> {
  const app = await here.service.makeApp(first);
  expect((await postSchema(here.service, app, last)).status).toBe(200);
  const file = join(folder, `${crypto.randomUUID()}.archive`);
  expect(await here.run("export-app", app.slug, file)).toMatchObject({ code: 0 });
  return { app, file };
}

describe("an app with rules", () => {
  test("moves to another service with the rules of its last push", async () => {
    const { app, file } = await exportApp();
    expect(await there.run("import-app", file)).toMatchObject({ code: 0 });
    const moved = await openApp(there, app.slug);
    const { tables } = await tablesOf(here, app);
    expect(tables).toMatchObject([{ name: todos, rules: [{ role: "member" }] }]);
    expect((await tablesOf(there, moved)).tables).toEqual(tables);
  });
});
