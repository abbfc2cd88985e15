/** A project with an app `shop`, a key and a table, in its own database: for commands that serve or push. @module */
import { expect } from "bun:test";
import { makeDatabase, type TestDatabase } from "./cluster.ts";
import { makeProject, runCommand, type Settings, schemaText } from "./command.ts";
import { TEST_IDENTITY_SECRET } from "./deps.ts";

export type Shop = {
  folder: string;
  database: TestDatabase;
  /** The environment of a serving process: logins that can only serve and push. */
  env: Settings;
  key: string;
  close: () => Promise<void>;
};

export async function openShop(settings: Settings = {}): Promise<Shop> {
  const project = makeProject({
    "schema/mod.ts": schemaText("{ todos: { title: t.string().required() } }"),
  });
  const database = await makeDatabase();
  const env = {
    DATABASE_URL: database.servingUrl,
    ADMIN_DATABASE_URL: database.pushUrl,
    DATABASE_PREPARE: database.prepare ? "on" : "off",
    PORT: "0",
    HOST: "127.0.0.1",
    IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    ...settings,
  };
  const run = async (...argv: string[]) => {
    const operator = { ...env, ADMIN_DATABASE_URL: database.adminUrl };
    const { code, out, err } = await runCommand(argv, { ...project, env: operator });
    expect([code, err]).toEqual([0, ""]);
    return out;
  };
  await run("admin", "create-app", "shop");
  const key = (await run("admin", "issue-key", "shop")).trim();
  await run("db", "push", "--app", "shop");
  const close = async () => {
    project.remove();
    await database.drop();
  };
  return { folder: project.folder, database, env, key, close };
}
