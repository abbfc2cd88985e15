/**
 * Rules reach the database with their push: the functions of the views of all tables of the app change in its transaction, and
 * no function of an earlier rule remains.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import type { Definition, TableDefinition } from "../../src/schema/mod.ts";
import {
  endpointsOfSet,
  functionName,
  hashColumnSet,
  type ViewSet,
  viewSetsOf,
} from "../../src/tables/catalog/mod.ts";
import { makeCheckBodies, readDrift } from "../../src/tables/mod.ts";
import { citusUrl } from "../support/citus.ts";
import {
  dumpDatabase,
  freshName,
  postChange,
  postDefinition,
  postSteps,
  readDeclared,
  readMigrations,
} from "../support/push.ts";
import { declareRules } from "../support/rules.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const PREVIEWS = ["browser"] as const;
const SITE = { dialect: "plain", previews: PREVIEWS } as const;

let service: TestService;
beforeAll(async () => {
  service = await openTestService({ service: { previews: PREVIEWS } });
});
afterAll(() => service.close());

const admin = () => service.service.admin;

type Rules = object | null;
type Names = { teams: string; members: string; todos: string };

const freshNames = (): Names => ({
  teams: freshName("teams"),
  members: freshName("members"),
  todos: freshName("todos"),
});

const READ_TEAMS = { allow: { member: { read: true } } };
const OWN = { owner: "me" };
const RULES = {
  allow: {
    lead: { read: true, create: true, update: true },
    member: { read: [OWN], create: { status: "open" }, update: OWN, delete: OWN },
  },
  owner: ["owner"],
  only: { cost: ["lead"] },
};

type Declared = { rules?: Rules; teamRules?: Rules; columns?: object; indexes?: string[][] };

/** An app with teams, memberships and todos. */
function declare(
  { teams, members, todos }: Names,
  { rules = RULES, teamRules = READ_TEAMS, columns = {}, indexes = [] }: Declared = {},
): Definition {
  const tables = declareRules({
    [teams]: { columns: { name: "string" }, ...(teamRules && { rules: teamRules }) },
    [members]: { columns: { person: "uuid", team: { kind: "ref", table: teams } } },
    [todos]: {
      columns: {
        owner: "uuid",
        status: { kind: "enum", values: ["open", "done"] },
        team: { kind: "ref", table: teams },
        cost: "number",
        ...columns,
      },
      indexes,
      ...(rules && { rules }),
    },
  });
  return { version: 1, tables };
}

async function push(app: TestApp, definition: Definition): Promise<string[]> {
  const { status, json, text } = await postDefinition(service, app, definition);
  if (status !== 200) throw new Error(`${text}\n${service.log.slice(-2).join("\n")}`);
  return (json as { steps: string[] }).steps;
}

/** The functions of the schema `api` that begin with the name of a table, and their transactions. */
async function readFunctions(tables: readonly string[]): Promise<Map<string, string>> {
  const rows = await admin().query<{ name: string; xmin: string }>(
    "select proname as name, xmin::text from pg_proc where pronamespace = 'api'::regnamespace and substring(proname from '^(.*)__[0-9a-f]{16}_') = any (string_to_array($1, ' ')) order by 1",
    [tables.map((name) => name.slice(0, 32)).join(" ")],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return new Map(rows.map(({ name, xmin }) => [name, xmin]));
}

async function readViews({ id }: TestApp): Promise<string[]> {
  const rows = await admin().query<{ view: string }>(
    "select table_name || ' ' || hash as view from rowhouse.views where app_id = $1 order by 1",
    [id],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return rows.map(({ view }) => view);
}

const viewSets = ({ id }: TestApp, tables: readonly TableDefinition[], name: string) =>
  viewSetsOf(id, tables, name);
const namesOf = (set: ViewSet) =>
  endpointsOfSet(set, SITE).map((endpoint) => functionName(set, endpoint));

/** Every function that an app's tables need for people, as declared. */
async function listWanted(app: TestApp): Promise<string[]> {
  const tables = await readDeclared(admin(), app);
  return tables.flatMap(({ name }) => viewSets(app, tables, name).flatMap(namesOf)).sort();
}

/** The functions of views among those of the tables: all others are of column sets. */
async function readViewFunctions(app: TestApp, tables: readonly string[]): Promise<string[]> {
  const sets = await admin().query<{ start: string }>(
    "select left(table_name, 32) || '__' || hash || '_' as start from rowhouse.column_sets",
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  const others = await admin().query<{ start: string }>(
    "select left(table_name, 32) || '__' || hash || '_' as start from rowhouse.views where app_id <> $1",
    [app.id],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  const isKnown = (name: string) =>
    [...sets, ...others].some(({ start }) => name.startsWith(start));
  return [...(await readFunctions(tables)).keys()].filter((name) => !isKnown(name)).sort();
}

/** The database has exactly the functions and records that the app's rules need, and nothing differs from the record. */
async function expectExact(app: TestApp, names: Names): Promise<void> {
  const tables = await readDeclared(admin(), app);
  const wanted = await listWanted(app);
  expect(await readViewFunctions(app, Object.values(names))).toEqual(wanted);
  expect(await readViews(app)).toEqual(
    tables
      .flatMap(({ name }) =>
        viewSets(app, tables, name).map((set) => `${name} ${hashColumnSet(set)}`),
      )
      .sort(),
  );
  expect(await readDrift(admin())).toEqual([]);
  expect(await makeCheckBodies(admin())("")).toEqual([]);
}

describe.skipIf(citusUrl() !== undefined)("the functions of rules", () => {
  test("are created with the push, one set for each group of roles with the same rights", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    expect(await push(app, declare(names))).toContainEqual(expect.stringContaining(names.todos));
    const tables = await readDeclared(admin(), app);
    expect(viewSets(app, tables, names.todos)).toHaveLength(2);
    expect(await readViews(app)).toHaveLength(3);
    await expectExact(app, names);
  });

  test("of a tightened rule replace the looser ones, also in tables whose rules depend on it", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    const readable = {
      allow: { member: { read: [{ team: { readable: true } }] }, lead: { read: true } },
    };
    await push(app, declare(names, { rules: readable }));
    const before = await readViews(app);
    await push(
      app,
      declare(names, {
        rules: readable,
        teamRules: { allow: { member: { read: [{ name: "a" }] } } },
      }),
    );
    const after = await readViews(app);
    // Leads do not read teams, before and after.
    const isOfTodos = (view: string) => view.startsWith(`${names.todos} `);
    const kept = after.filter((view) => before.includes(view));
    expect([kept.length, kept.every(isOfTodos)]).toEqual([1, true]);
    const added = after.filter((view) => !before.includes(view));
    expect(added.filter(isOfTodos)).toHaveLength(1);
    await expectExact(app, names);
  });

  test("of unchanged tables are not replaced", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    await push(app, declare(names));
    const before = await readFunctions(Object.values(names));
    const former = await readViews(app);
    await push(app, declare(names, { rules: { ...RULES, setBy: { status: ["lead"] } } }));
    // Leads can still set the status: their rights have not changed.
    expect((await readViews(app)).filter((view) => !former.includes(view))).toHaveLength(1);
    const after = await readFunctions(Object.values(names));
    const changed = [...after].filter(([name, xmin]) => before.get(name) !== xmin);
    const added = (await listWanted(app)).filter((name) => !before.has(name));
    expect(changed.map(([name]) => name).sort()).toEqual(added);
    expect(added.every((name) => name.startsWith(names.todos))).toBe(true);
  });

  test("of two apps on one table are apart: no push of one changes rules or functions of the other", async () => {
    const names = freshNames();
    const [one, other] = [await service.makeApp(), await service.makeApp()];
    await push(one, declare(names));
    const before = await readFunctions(Object.values(names));
    const declared = await readDeclared(admin(), one);
    const loose = { allow: { member: "everything" } };
    await push(other, declare(names, { rules: loose, teamRules: loose }));
    await expectExact(one, names);
    await expectExact(other, names);
    await push(other, declare(names, { rules: null, teamRules: null }));
    await push(one, declare(names, { rules: RULES }));
    expect(await readDeclared(admin(), one)).toEqual(declared);
    const after = await readFunctions(Object.values(names));
    expect(after).toEqual(before);
    expect(await readViews(other)).toEqual([]);
  });

  test("follow new columns and indexes of the owner, also those of other apps", async () => {
    const names = freshNames();
    const [owner, user] = [await service.makeApp(), await service.makeApp()];
    for (const app of [owner, user]) await push(app, declare(names));
    const before = await listWanted(user);
    await push(owner, declare(names, { columns: { note: "string" } }));
    await expectExact(owner, names);
    await push(owner, declare(names, { columns: { note: "string" }, indexes: [["status", "id"]] }));
    await expectExact(owner, names);
    await expectExact(user, names);
    expect(await listWanted(user)).toEqual(before);
  });

  test("never show a column that the app no longer declares", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    const columns = { secret: "string" };
    await push(app, declare(names, { columns, rules: { ...RULES, only: { secret: ["lead"] } } }));
    await push(app, declare(names, { rules: RULES }));
    const tables = await readDeclared(admin(), app);
    const todos = viewSets(app, tables, names.todos);
    expect(todos.map(({ view }) => view.hidden.includes("secret"))).toEqual([true, true]);
    await expectExact(app, names);
  });

  test("of a table that the app no longer declares are dropped, and its rules end", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    const definition = declare(names);
    await push(app, definition);
    const tables = definition.tables.filter(({ name }) => name !== names.todos);
    await push(app, { ...definition, tables });
    const declared = await readDeclared(admin(), app);
    expect(declared.find(({ name }) => name === names.todos)?.rules).toBeUndefined();
    await expectExact(app, names);
    expect((await listWanted(app)).filter((name) => name.startsWith(names.todos))).toEqual([]);
  });

  test("follow an explicit change of a table, a column or a type", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    const where = { team: { memberOf: names.members } };
    const rules = { allow: { member: { read: [OWN, where] } }, owner: ["owner"] };
    await push(app, declare(names, { rules }));
    const to = freshName("crew");
    for (const change of [
      { kind: "rename_table", table: names.members, to },
      { kind: "rename_column", table: names.todos, column: "owner", to: "boss" },
      { kind: "rename_column", table: to, column: "person", to: "who" },
      { kind: "drop_column", table: names.todos, column: "cost" },
      { kind: "drop_value", table: names.todos, column: "status", value: "done" },
    ]) {
      const { status, text } = await postChange(service, app, change);
      expect([status, text.slice(0, 300)]).toEqual([200, expect.any(String)]);
      await expectExact(app, { ...names, members: to });
    }
    const [, , todos] = (await readDeclared(admin(), app)).toSorted((a, b) =>
      a.name < b.name ? -1 : 1,
    );
    expect(todos?.rules).toEqual({
      allow: { member: { read: [{ boss: "me" }, { team: { memberOf: to } }] } },
      owner: ["boss"],
    });
    const former = await readFunctions([names.members]);
    expect([...former.keys()]).toEqual([]);
  });
});

describe.skipIf(citusUrl() !== undefined)("a push with rules", () => {
  test.each([
    { name: "a column", change: { kind: "drop_column", column: "owner" } },
    { name: "a value", change: { kind: "drop_value", column: "status", value: "open" } },
    {
      name: "a type",
      change: { kind: "retype_column", column: "status", type: { kind: "json" } },
    },
  ])("rejects the end of $name that rules use, and writes nothing", async ({ change }) => {
    const names = freshNames();
    const app = await service.makeApp();
    await push(app, declare(names));
    const before = await dumpDatabase(admin());
    const { status, json } = await postChange(service, app, { ...change, table: names.todos });
    expect([status, Object(json).error]).toEqual([409, "incompatible_schema"]);
    expect(await dumpDatabase(admin())).toBe(before);
  });

  test("changes only comments of its migration, with a line for each right", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    await push(app, declare(names, { rules: null }));
    const steps = await push(app, declare(names));
    const last = (await readMigrations(service, app)).at(-1);
    expect(last?.sql).toBe("");
    expect(steps.length).toBeGreaterThan(0);
    for (const step of steps) expect(last?.text).toContain(`--   ${step}\n`);
    expect(await push(app, declare(names))).toEqual([]);
  });

  test("is replayed by another service with the same rules and functions", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    await push(app, declare(names, { teamRules: null }));
    await push(app, declare(names));
    const migrations = await readMigrations(service, app);
    const other = await openTestService({ service: { previews: PREVIEWS } });
    try {
      const there = await other.makeApp();
      for (const { text } of migrations)
        expect((await postSteps(other, there, [{ kind: "migration", text }])).status).toBe(200);
      expect(await readDeclared(other.service.admin, there)).toEqual(
        await readDeclared(admin(), app),
      );
      expect(await readDrift(other.service.admin)).toEqual([]);
    } finally {
      await other.close();
    }
  });

  test("of several processes at once leaves one state, without functions of the others", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    await push(app, declare(names));
    const variants = [{ status: "open" }, { status: "done" }, { owner: "me", status: "open" }];
    await Promise.all(
      variants.map((read) =>
        postDefinition(service, app, declare(names, { rules: { allow: { member: { read } } } })),
      ),
    );
    await expectExact(app, names);
  });

  test("is rejected without the preview, by name, and writes nothing", async () => {
    const other = await openTestService({ service: { previews: [] } });
    try {
      const app = await other.makeApp();
      const before = await dumpDatabase(other.service.admin);
      const { status, json, text } = await postDefinition(other, app, declare(freshNames()));
      expect([status, Object(json).error]).toEqual([409, "incompatible_schema"]);
      expect(text).toContain("PREVIEW=browser");
      expect(await dumpDatabase(other.service.admin)).toBe(before);
    } finally {
      await other.close();
    }
  });
});
