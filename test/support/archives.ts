/** Apps in archives: a service that exports them, a service that imports them, and the files. @module */
import { expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { issueKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { type Admin, openAdmin } from "./admin.ts";
import { citusUrl } from "./citus.ts";
import { testDeps } from "./deps.ts";
import { freshName } from "./push.ts";
import type { TestApp } from "./service.ts";

export type Archives = {
  here: Admin;
  /** Without preview features. */
  there: Admin;
  folder: string;
  /** A new path of an archive. */
  makeFile: () => string;
  close: () => Promise<void>;
};

/** Commands check all tables of a database, so each test file has its own services. */
export async function openArchives(): Promise<Archives> {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-archives-"));
  const withoutPreview = openAdmin({}, { service: { previews: [] } });
  const [here, there] = await Promise.all([openAdmin(), withoutPreview]);
  return {
    here,
    there,
    folder,
    makeFile: () => join(folder, `${crypto.randomUUID()}.archive`),
    close: async () => {
      await here.close();
      await there.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export type Names = Record<"projects" | "todos" | "people", string>;
export const makeNames = (): Names => ({
  projects: freshName(),
  todos: freshName(),
  people: freshName(),
});

/** Citus has no references that become null. */
export const BOSS = citusUrl() === undefined ? ({ onDelete: "set null" } as const) : {};

/** Two tables that refer to each other, one that refers to itself, and every kind of column. */
const schemaOf = ({ projects, todos, people }: Names) =>
  defineSchema({
    [people]: { name: t.string().required(), boss: t.ref(people, BOSS) },
    [projects]: { name: t.string().required().unique(), first: t.ref(todos), lead: t.ref(people) },
    [todos]: {
      title: t.string().required(),
      project: t.ref(projects, { onDelete: "cascade" }).required(),
      size: t.number(),
      count: t.integer(),
      price: t.decimal(),
      done: t.boolean(),
      token: t.uuid(),
      due: t.timestamp().default("now").onUpdate("now"),
      day: t.date().default("today"),
      tags: t.json(),
      status: t.enum(["open", "it's done"]).required().default("open"),
    },
  });

export async function create(
  admin: Admin,
  app: TestApp,
  table: string,
  json: object,
): Promise<string> {
  const { json: row } = await admin.service.call(app, `/v1/data/db/${table}`, {
    method: "POST",
    json,
  });
  return (row as { id: string }).id;
}

/** An app with tables and rows that refer to each other. */
export async function makeArchivedApp(here: Admin, names: Names): Promise<TestApp> {
  const app = await here.service.makeApp(schemaOf(names), {
    origins: ["https://wiki.example.org"],
    redirects: ["https://shop.example.org/callback"],
  });
  const ada = await create(here, app, names.people, { name: "Ada" });
  const bob = await create(here, app, names.people, { name: 'B"ob\n\\n\u2028', boss: ada });
  const change = (table: string, id: string, json: object) =>
    here.service.call(app, `/v1/data/db/${table}/${id}`, { method: "PATCH", json });
  await change(names.people, ada, { boss: bob });
  const project = await create(here, app, names.projects, { name: "Garden", lead: bob });
  const todo = await create(here, app, names.todos, {
    title: "Dig",
    project,
    size: 1.5,
    count: Number.MIN_SAFE_INTEGER,
    price: "12345678901234567890.0100",
    done: true,
    token: crypto.randomUUID(),
    due: "2026-01-02T03:04:05.123456Z",
    day: "0001-01-01",
    tags: { a: [1, "ä\n", null], "": 1e30 },
    status: "it's done",
  });
  await create(here, app, names.todos, { title: "", project });
  await change(names.projects, project, { first: todo });
  return app;
}

/** All rows as the app reads them, without the id of the app. */
export async function readAll(admin: Admin, app: TestApp, names: Names): Promise<unknown> {
  const lists = await Promise.all(
    Object.values(names).map((name) => admin.service.call(app, `/v1/data/db/${name}`)),
  );
  return lists.map(({ text }) => JSON.parse(text.replaceAll(app.id, "app")).rows);
}

/** The id of an app, read directly: a command needs its own connection. */
export async function findApp({ service }: Admin, slug: string): Promise<string | undefined> {
  const [row] = await service.query<{ id: string }>(
    "select id from rowhouse.apps where slug = $1",
    [slug],
  );
  return row?.id;
}

/** A key for an imported app. */
export async function openApp(admin: Admin, slug: string): Promise<TestApp> {
  const { text: key } = await issueKey(testDeps(admin.service.service), {
    slug,
    name: "moved",
    scopes: ["data:read", "data:write", "schema:push"],
    expiresAt: undefined,
  });
  admin.service.secrets.add(key);
  const app = { id: (await findApp(admin, slug)) ?? "", slug, key };
  // A process may have read the tables between two migrations. This makes it read them again.
  expect((await admin.service.call(app, "/v1/openapi.json")).status).toBe(200);
  return app;
}

/** An archive with other rows, whose digests are right. */
export function forge(text: string, change: (line: string) => string): string {
  const sha256 = (part: string) => new Bun.CryptoHasher("sha256").update(part).digest("hex");
  const lines = text.trimEnd().split("\n").slice(0, -1).map(change);
  const { tables } = JSON.parse(lines.pop() ?? "") as { tables: Record<string, object> };
  const rows = new Map<string, string[]>();
  for (let at = 1; at < lines.length; ) {
    const { table, rows: count } = JSON.parse(lines[at] ?? "") as { table: string; rows: number };
    rows.set(table, [...(rows.get(table) ?? []), ...lines.slice(at + 1, at + 1 + count)]);
    at += 1 + count;
  }
  for (const [table, own] of rows)
    tables[table] = { rows: own.length, sha256: sha256(own.map((line) => `${line}\n`).join("")) };
  const all = [...lines, JSON.stringify({ tables })].map((line) => `${line}\n`).join("");
  return `${all}${JSON.stringify({ sha256: sha256(all) })}\n`;
}
