/** What Citus needs in the SQL of a set-up, of pushes and of a conversion. Most runs have no cluster. */
import { describe, expect, test } from "bun:test";
import { type Conversion, renderConversion } from "../../src/db/citus/conversion.ts";
import { renderSetUp } from "../../src/db/citus/set_up.ts";
import { ANCHOR, DIALECT_NAMES, SIGNALS } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { toColumnSet } from "../../src/tables/catalog/mod.ts";
import { advanceState } from "../../src/tables/plan/advanced_state.ts";
import { preparePush } from "../../src/tables/plan/prepare.ts";
import { renderBody, renderFunctions } from "../../src/tables/sql/functions/functions.ts";
import { renderMessage } from "../../src/tables/sql/message.ts";
import type { PushState } from "../../src/tables/state.ts";
import { makeDatabase, withDatabase } from "../support/cluster.ts";
import { definitionOf } from "../support/service.ts";

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
  unheard: [],
  hasDeferredSteps: false,
  people: { isOpen: true, roles: [] },
  dialect: "citus",
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

/** The statements of a message, as PostgreSQL separates them. */
function split(message: string): string[] {
  const found = message.match(/(?:\$(\w*)\$[\s\S]*?\$\1\$|'[^']*'|[^;])+/g) ?? [];
  return found.map((statement) => statement.trim()).filter((statement) => statement !== "");
}

/** The positions of statements with this text: none is missing, and `times` of each. */
function positions(statements: readonly string[], text: string, times = 1): number[] {
  const found = statements.flatMap((statement, index) => (statement.includes(text) ? [index] : []));
  expect({ text, times: found.length }).toEqual({ text, times });
  return found;
}

const IN_TURN = "set local citus.multi_shard_modify_mode = 'sequential'";
const PROPAGATED = "set local citus.enable_ddl_propagation = 'on'";
const ONLY_HERE = "set local citus.enable_ddl_propagation = 'off'";
const FUNCTION = /^create or replace function (api\.\S+?\(.*?\)) returns/;
/** What Citus does not send to nodes, or sends as one statement. */
const OUTSIDE_BLOCKS =
  /^(do|set local|select|create or replace function|alter function|grant execute on function|revoke all on function)\b/;

describe("a push to a cluster", () => {
  const first = push(EMPTY, FIRST);
  const second = push(first.state, SECOND);

  test.each([
    { name: "the first", statements: split(first.message), created: ["projects", "todos"] },
    { name: "a change", statements: split(second.message), created: [] },
  ])("$name", ({ statements, created }) => {
    // A node accepts only one statement at a time: each change of a table is in its own block.
    expect(statements.filter((statement) => !OUTSIDE_BLOCKS.test(statement))).toEqual([]);
    const changes = statements.flatMap((statement, index) =>
      /\b(create|alter) (table|type|index) /.test(statement) ? [index] : [],
    );
    expect(changes.length).toBeGreaterThan(5);
    const [inTurn = -1] = positions(statements, IN_TURN);
    expect(changes.every((index) => index > inTurn)).toBe(true);

    // A table without a place would stay on this node; a reference needs both tables placed.
    for (const table of created) {
      const call = `create_distributed_table('data."${table}"', 'app_id', colocate_with := '${ANCHOR}')`;
      const [made = -1, placed = -1, references = -1] = [
        positions(statements, `create table data."${table}"`),
        positions(statements, call),
        positions(statements, 'add constraint "todos__project__fkey"'),
      ].flat();
      expect(made < placed && placed < references).toBe(true);
    }
    expect(statements.join().match(/create_distributed_table/g)?.length ?? 0).toBe(created.length);

    // A function is created on this node only, and then distributed: at once, both connections would wait for each other.
    const functions = statements.flatMap((statement, index) => {
      const [, signature] = FUNCTION.exec(statement) ?? [];
      return signature === undefined ? [] : [{ signature, index }];
    });
    expect(functions.length).toBeGreaterThan(10);
    const findMode = (index: number) =>
      statements.slice(0, index).findLast((text) => text.includes("citus.enable_ddl_propagation"));
    for (const { signature, index } of functions) {
      const place = signature.endsWith("()") ? "" : `, '$1', '${ANCHOR}'`;
      const call = `create_distributed_function('${signature}'${place})`;
      const [distributed = -1] = positions(statements, call);
      expect(distributed).toBeGreaterThan(index);
      expect([findMode(index), findMode(distributed)]).toEqual([ONLY_HERE, PROPAGATED]);
    }
  });
});

test("a set-up places each table once, and can run again", () => {
  const text = renderSetUp(8).join(";\n");
  const placed = [...text.matchAll(/perform (create_\w+_table\('[^']+'(?:, [^)]*)?)\)/g)];
  expect(placed.map(([, call = ""]) => call)).toEqual([
    `create_distributed_table('${ANCHOR}', 'app_id', colocate_with := 'none', shard_count := 8`,
    `create_distributed_table('rowhouse.proofs', 'app_id', colocate_with := '${ANCHOR}'`,
    `create_distributed_table('rowhouse.idempotency_keys', 'app_id', colocate_with := '${ANCHOR}'`,
    "create_reference_table('rowhouse.tag_seed'",
  ]);
  for (const { index } of placed)
    expect(text.slice(0, index)).toMatch(/where logicalrelid = '[^']+'::regclass\) then\s+$/);
});

test("a conversion locks, checks, counts, distributes and counts again, in this order", () => {
  const statements = split(renderConversion(CONVERSION));
  const count = (moment: string, name: string) => `select '${moment}', '${name}', app_id`;
  const tables = ["rowhouse.proofs", "rowhouse.idempotency_keys", "projects", "todos"];
  const distribute = (name: string) =>
    `pg_catalog.create_distributed_table('data."${name}"', 'app_id'`;
  const truncate = (name: string) =>
    `truncate_local_data_after_distributing_table('data."${name}"')`;
  const order = [
    "pg_advisory_xact_lock",
    "set local client_min_messages",
    "in access exclusive mode",
    "errcode = 'RH002'",
    ...tables.map((name) => count("before", name)),
    "create_reference_table('rowhouse.tag_seed')",
    'drop constraint "projects__first__fkey"',
    ...["projects", "todos"].map(distribute),
    'add constraint "projects__first__fkey"',
    PROPAGATED,
    "select 'functions'",
    'revoke all on function api."todos_get"(uuid) from public',
    ...["projects", "todos"].map(truncate),
    ...tables.map((name) => count("after", name)),
    "the nodes have other rows",
    "'convert_to_citus'",
    "where moment = 'after' group by name",
  ].flatMap((text) => positions(statements, text));
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  const inTurn = statements.indexOf(IN_TURN);
  expect(inTurn > -1 && inTurn < statements.findIndex((text) => text.includes("_table("))).toBe(
    true,
  );
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
  await using database = await makeDatabase();
  await withDatabase(database.adminUrl, async (admin) => {
    await admin.message(`create table if not exists ${ANCHOR} (); select 1`);
    await expect(admin.message(message)).rejects.toMatchObject({ signal: SIGNALS.catalogMoved });
  });
});

test("lists differ only in how statements are planned", () => {
  for (const { columns, name } of definitionOf(FIRST).tables) {
    const set = { ...toColumnSet({ name, columns }), walks: [] };
    const [single = "", distributed = ""] = DIALECT_NAMES.map((dialect) =>
      renderBody(set, "list", { dialect }),
    );
    expect(distributed.replace("force_custom_plan", "force_generic_plan")).toBe(single);
    expect(renderFunctions(set, EMPTY).join()).toContain("'$1', 'rowhouse.shards'");
  }
});
