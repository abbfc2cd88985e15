/** Compares the SQL of a push to a Citus database with a recorded file. Most runs have no cluster. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { type Conversion, renderConversion } from "../../src/db/citus/conversion.ts";
import { CALLED, renderSetUp } from "../../src/db/citus/set_up.ts";
import { ANCHOR, DIALECT_NAMES, SIGNALS } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { toColumnSet } from "../../src/tables/catalog/mod.ts";
import { preparePush } from "../../src/tables/plan/prepare.ts";
import { advanceState } from "../../src/tables/sql/begin_push.ts";
import { renderBody, renderFunctions } from "../../src/tables/sql/functions.ts";
import { renderMessage } from "../../src/tables/sql/message.ts";
import type { PushState } from "../../src/tables/state.ts";
import { makeDatabase, withDatabase } from "../support/cluster.ts";
import { definitionOf } from "../support/service.ts";

const RECORD = join(import.meta.dir, "distributed.sql");
const APP = { id: "00000000-0000-4000-8000-00000000000a", slug: "todo" };

const FIRST = defineSchema({
  projects: { name: t.string().required().unique() },
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "done"]).required().default("open"),
      project: t.ref("projects", { onDelete: "cascade" }),
      estimate_hours: t.decimal(),
      checklist: t.json(),
    })
    .index("status"),
});
const SECOND = defineSchema({
  projects: { name: t.string().required().unique(), owner: t.string().default("$rowhouse$") },
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "doing", "done"]).required().default("open"),
      project: t.ref("projects", { onDelete: "cascade" }),
      blocks: t.ref("todos"),
      estimate_hours: t.decimal(),
      checklist: t.json(),
      changed: t.timestamp().default("now").onUpdate("now"),
    })
    .index("status"),
});

const EMPTY: PushState = {
  tables: [],
  migrations: [],
  head: undefined,
  journalBytes: 0,
  hasDeferredSteps: false,
  people: { isOpen: true, roles: [] },
  dialect: "citus",
  previews: [],
};

/** Returns the message of a push and the state after it. */
function push(state: PushState, schema: unknown): { message: string; state: PushState } {
  const definition = definitionOf(schema);
  const prepared = preparePush(state, { app: APP, definition, options: {} });
  const { migration } = prepared;
  if (migration === null) throw new Error("There is nothing to push");
  const message = renderMessage(APP, { ...prepared, migration, state });
  const { seq, name, parent, checksum } = migration;
  const next = advanceState(state, APP, prepared.plan);
  const head = { seq, name, parent, checksum };
  return { message, state: { ...next, migrations: [head], head } };
}

const CONVERSION: Conversion = {
  shards: 8,
  tables: ["projects", "todos"],
  circular: [
    {
      name: "projects__first__fkey",
      child: "projects",
      parent: "todos",
      definition: "FOREIGN KEY (app_id, first) REFERENCES data.todos(app_id, id)",
    },
  ],
  functions: ["select 'functions'"],
  signatures: ['api."todos_get"(uuid)'],
  checked: { settings: "set local timezone = 'UTC';", query: "select 'facts'", digest: "0" },
  actor: "operator",
};

test("the SQL of setup, of a first push, a change and a conversion matches the recorded SQL", async () => {
  const first = push(EMPTY, FIRST);
  const second = push(first.state, SECOND);
  const text = [
    ["setup", renderSetUp(8).join("\n\n")],
    ["the first push", first.message],
    ["a change", second.message],
    ["a conversion", renderConversion(CONVERSION)],
  ]
    .map(([name, sql]) => `-- ${name}\n\n${sql}\n`)
    .join("\n");
  if (process.env["UPDATE_DISTRIBUTED"] === "1") await Bun.write(RECORD, text);
  expect(text).toBe(await Bun.file(RECORD).text());
});

test("a push to a cluster rejects a reference that Citus does not support", () => {
  const project = t.ref("projects", { onDelete: "set null" });
  const schema = defineSchema({ projects: {}, todos: { project } });
  for (const dialect of DIALECT_NAMES) {
    const plan = () => push({ ...EMPTY, dialect }, schema);
    if (dialect === "plain") expect(plan).not.toThrow();
    else expect(plan).toThrow("1 declaration does not fit");
  }
});

test("a single PostgreSQL runs no SQL for Citus", () => {
  const { message } = push({ ...EMPTY, dialect: "plain" }, FIRST);
  expect(message.match(/create_distributed|force_custom_plan|enable_ddl_propagation/g)).toBeNull();
});

test("a push that was planned for one PostgreSQL is planned again if the database was distributed in the meantime", async () => {
  const { message } = push({ ...EMPTY, dialect: "plain" }, FIRST);
  const database = await makeDatabase();
  await withDatabase(database.adminUrl, async (admin) => {
    await admin.message(`create table if not exists ${ANCHOR} (); select 1`);
    await expect(admin.message(message)).rejects.toMatchObject({ signal: SIGNALS.catalogMoved });
  });
  await database.drop();
});

test("every function that the functions of a table call is on every node", () => {
  const called = definitionOf(FIRST).tables.flatMap(({ columns, name }) => {
    const text = renderFunctions({ name, columns, walks: [] }, EMPTY).join();
    return [...text.matchAll(/\browhouse\.(\w+)\(/g)].map(([, found = ""]) => found);
  });
  const distributed = new Set(
    CALLED.map((signature) => signature.replace(/^rowhouse\.|\(.*$/g, "")),
  );
  expect(new Set(called).size).toBeGreaterThan(5);
  expect(called.filter((name) => !distributed.has(name))).toEqual([]);
});

test("the functions differ only in how statements are planned and written", () => {
  for (const { columns, name } of definitionOf(FIRST).tables) {
    const set = { ...toColumnSet({ name, columns }), walks: [] };
    for (const endpoint of ["list", "get", "create"] as const) {
      const [single, distributed] = DIALECT_NAMES.map((dialect) =>
        renderBody(set, endpoint, { dialect, previews: [] }),
      );
      expect(distributed?.replace("force_custom_plan", "force_generic_plan")).toBe(single ?? "");
    }
    expect(renderFunctions(set, EMPTY).join()).toContain("'$1', 'rowhouse.shards'");
  }
});
