/** A project whose app `shop` has a key and a table, in a database of its own: what a command serves or pushes. @module */
import { expect } from "bun:test";
import { makeDatabase, type TestDatabase } from "./cluster.ts";
import { makeProject, runCommand, type Settings, schemaText } from "./command.ts";
import { TEST_IDENTITY_SECRET } from "./deps.ts";

export type Shop = {
  folder: string;
  database: TestDatabase;
  /** What a process that serves is given: logins that serve and push, and may do no more. */
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
  const run = async (...words: string[]) => {
    const operator = { ...env, ADMIN_DATABASE_URL: database.adminUrl };
    const { code, out, err } = await runCommand(words, { ...project, env: operator });
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
