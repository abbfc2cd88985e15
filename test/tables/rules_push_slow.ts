/**
 * Rules reach the database with their push: the functions of the views of all tables of the app change in its transaction, and
 * no function of an earlier rule remains.
 */
import { describe, expect, test } from "bun:test";
import { readSqlState, SIGNALS, SignalError } from "../../src/db/mod.ts";
import { viewSetsOf } from "../../src/tables/catalog/mod.ts";
import { readDrift, refreshFunctions } from "../../src/tables/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { withDatabase } from "../support/cluster.ts";
import { makePerson } from "../support/people.ts";
import { openToBrowsers } from "../support/person_keys.ts";
import {
  dumpDatabase,
  freshName,
  postChange,
  postDefinition,
  postSteps,
  readDeclared,
  readMigrations,
} from "../support/push.ts";
import {
  declareTodos,
  expectExact,
  freshNames,
  listWanted,
  OWN,
  pushRules,
  RULE_PREVIEWS,
  RULES,
  readFunctions,
  readViews,
} from "../support/rules_service.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ service: { previews: RULE_PREVIEWS } }));

const admin = () => service.service.admin;

describe.skipIf(citusUrl() !== undefined)("the functions of rules", () => {
  test("are created with the push, one set for each group of roles with the same rights", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    const { notes } = await pushRules(service, app, declareTodos(names));
    expect(notes.join("\n")).toContain(`\nRULES: ${names.members} has no rules`);
    const tables = await readDeclared(admin(), app);
    expect(viewSetsOf(app.id, tables, names.todos)).toHaveLength(2);
    expect(await readViews(service, app)).toHaveLength(3);
    await expectExact(service, app, names);
  });

  test("of a tightened rule replace the looser ones, also in tables whose rules depend on it", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    const readable = {
      allow: { member: { read: [{ team: { readable: true } }] }, lead: { read: true } },
    };
    await pushRules(service, app, declareTodos(names, { rules: readable }));
    const before = await readViews(service, app);
    await pushRules(
      service,
      app,
      declareTodos(names, {
        rules: readable,
        teamRules: { allow: { member: { read: [{ name: "a" }] } } },
      }),
    );
    const after = await readViews(service, app);
    // Leads do not read teams, before and after.
    const isOfTodos = (view: string) => view.startsWith(`${names.todos} `);
    const kept = after.filter((view) => before.includes(view));
    expect([kept.length, kept.every(isOfTodos)]).toEqual([1, true]);
    const added = after.filter((view) => !before.includes(view));
    expect(added.filter(isOfTodos)).toHaveLength(1);
    await expectExact(service, app, names);
  });

  test("of a former rule cannot be called by a stolen login after the push", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    await pushRules(
      service,
      app,
      declareTodos(names, { rules: { allow: { member: "everything" } } }),
    );
    const get = (await listWanted(service, app)).find((name) => /^todos.*_get$/.test(name));
    const call = () =>
      withDatabase(service.database.servingUrl, (login) =>
        login.message(`select api."${get}"('${app.id}', '', '${crypto.randomUUID()}', 1000)`),
      ).catch((error: unknown) =>
        error instanceof SignalError ? error.signal : readSqlState(error),
      );
    // The function exists, and rejects a caller without a key of a person.
    expect(await call()).toBe(SIGNALS.keyRejected);
    await pushRules(service, app, declareTodos(names));
    expect(await call()).toBe("42883");
  });

  test("of unchanged tables are not replaced", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    await pushRules(service, app, declareTodos(names));
    const before = await readFunctions(service, names);
    const former = await readViews(service, app);
    await pushRules(
      service,
      app,
      declareTodos(names, { rules: { ...RULES, setBy: { status: ["lead"] } } }),
    );
    // Leads can still set the status: their rights have not changed.
    expect((await readViews(service, app)).filter((view) => !former.includes(view))).toHaveLength(
      1,
    );
    const after = await readFunctions(service, names);
    const changed = [...after].filter(([name, xmin]) => before.get(name) !== xmin);
    const added = (await listWanted(service, app)).filter((name) => !before.has(name));
    expect(changed.map(([name]) => name).sort()).toEqual(added);
    expect(added.every((name) => name.startsWith(names.todos))).toBe(true);
  });

  test("of two apps on one table are apart: no push of one changes rules or functions of the other", async () => {
    const names = freshNames();
    const [one, other] = [await service.makeApp(), await service.makeApp()];
    await pushRules(service, one, declareTodos(names));
    const before = await readFunctions(service, names);
    const declared = await readDeclared(admin(), one);
    const loose = { allow: { member: "everything" } };
    await pushRules(service, other, declareTodos(names, { rules: loose, teamRules: loose }));
    await expectExact(service, one, names);
    await expectExact(service, other, names);
    await pushRules(service, other, declareTodos(names, { rules: null, teamRules: null }));
    await pushRules(service, one, declareTodos(names, { rules: RULES }));
    expect(await readDeclared(admin(), one)).toEqual(declared);
    const after = await readFunctions(service, names);
    expect(after).toEqual(before);
    expect(await readViews(service, other)).toEqual([]);
  });

  test("follow new columns and indexes of the owner, also those of other apps", async () => {
    const names = freshNames();
    const [owner, user] = [await service.makeApp(), await service.makeApp()];
    for (const app of [owner, user]) await pushRules(service, app, declareTodos(names));
    const before = await listWanted(service, user);
    await pushRules(service, owner, declareTodos(names, { columns: { note: "string" } }));
    await expectExact(service, owner, names);
    await pushRules(
      service,
      owner,
      declareTodos(names, { columns: { note: "string" }, indexes: [["owner", "id"]] }),
    );
    await expectExact(service, owner, names);
    await expectExact(service, user, names);
    expect(await listWanted(service, user)).toEqual(before);
  });

  test("do not depend on the order in which PostgreSQL stores the columns of a rule", async () => {
    const names = freshNames();
    const [owner, user] = [await service.makeApp(), await service.makeApp()];
    // Stored as JSON, shorter names come first.
    const columns = { z: "number" };
    const all = { ...OWN, status: "open", team: { memberOf: names.members }, z: 1 };
    const rules = { allow: { member: { read: all, create: all, update: all, delete: all } } };
    for (const app of [owner, user])
      await pushRules(service, app, declareTodos(names, { columns, rules }));
    await expectExact(service, user, names);
    expect(await refreshFunctions(admin())).toEqual([]);
    const indexed = declareTodos(names, { columns, rules, indexes: [["owner", "id"]] });
    // Other rights do not change.
    expect((await pushRules(service, owner, indexed)).steps).toEqual([
      expect.stringContaining("add index"),
    ]);
    await expectExact(service, user, names);
    expect(await refreshFunctions(admin())).toEqual([]);
  });

  test("never show a column that the app no longer declares", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    const columns = { secret: "string" };
    await pushRules(
      service,
      app,
      declareTodos(names, { columns, rules: { ...RULES, only: { secret: ["lead"] } } }),
    );
    await pushRules(service, app, declareTodos(names, { rules: RULES }));
    const tables = await readDeclared(admin(), app);
    const todos = viewSetsOf(app.id, tables, names.todos);
    expect(todos.map(({ view }) => view.hidden.includes("secret"))).toEqual([true, true]);
    await expectExact(service, app, names);
  });

  test("of a table that the app no longer declares are dropped, and its rules end", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    const definition = declareTodos(names);
    await pushRules(service, app, definition);
    const tables = definition.tables.filter(({ name }) => name !== names.todos);
    await pushRules(service, app, { ...definition, tables });
    const declared = await readDeclared(admin(), app);
    expect(declared.find(({ name }) => name === names.todos)?.rules).toBeUndefined();
    await expectExact(service, app, names);
    expect((await listWanted(service, app)).filter((name) => name.startsWith(names.todos))).toEqual(
      [],
    );
  });

  test("follow an explicit change of a table, a column or a type", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    const where = { team: { memberOf: names.members } };
    const rules = { allow: { member: { read: [OWN, where] } }, owner: ["owner"] };
    await pushRules(service, app, declareTodos(names, { rules }));
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
      await expectExact(service, app, { ...names, members: to });
    }
    const [, , todos] = (await readDeclared(admin(), app)).toSorted((a, b) =>
      a.name < b.name ? -1 : 1,
    );
    expect(todos?.rules).toEqual({
      allow: { member: { read: [{ boss: "me" }, { team: { memberOf: to } }] } },
      owner: ["boss"],
    });
    const former = await readFunctions(service, { ...names, teams: to, todos: to });
    expect([...former.keys()].filter((name) => name.startsWith(names.members))).toEqual([]);
  });
});

describe.skipIf(citusUrl() !== undefined)("a push with rules", () => {
  test.each([
    { name: "a column", change: { kind: "drop_column", column: "owner" } },
    { name: "a value", change: { kind: "drop_value", column: "status", value: "open" } },
    { name: "a type", change: { kind: "retype_column", column: "status", type: { kind: "json" } } },
  ])("rejects the end of $name that rules use, and writes nothing", async ({ change }) => {
    const names = freshNames();
    const app = await service.makeApp();
    await pushRules(service, app, declareTodos(names));
    const before = await dumpDatabase(admin());
    const { status, json } = await postChange(service, app, { ...change, table: names.todos });
    expect([status, Object(json).error]).toEqual([409, "incompatible_schema"]);
    expect(await dumpDatabase(admin())).toBe(before);
  });

  test("changes only comments of its migration, with a line for each right", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    await pushRules(service, app, declareTodos(names, { rules: null }));
    const { steps } = await pushRules(service, app, declareTodos(names));
    const last = (await readMigrations(service, app)).at(-1);
    expect(last?.sql).toBe("");
    expect(steps).toContain(
      `~ member can change ${names.todos} where owner is the person`.replace("~", "+"),
    );
    for (const step of steps) expect(last?.text).toContain(`--   ${step}\n`);
    await openToBrowsers(service, app);
    expect(await pushRules(service, app, declareTodos(names))).toMatchObject({
      steps: [],
      notes: [],
    });
  });

  test("are named as closed by each push, until browser access is on for the app", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    const closed = ({ notes }: { notes: string[] }) =>
      notes.filter((note) => note.includes(`rowhouse admin set-app ${app.slug} browser on`)).length;
    const without = declareTodos(names, { rules: null, teamRules: null });
    expect(closed(await pushRules(service, app, without))).toBe(0);
    expect(closed(await pushRules(service, app, declareTodos(names)))).toBe(1);
    expect(closed(await pushRules(service, app, declareTodos(names)))).toBe(1);
    await openToBrowsers(service, app);
    const tightened = declareTodos(names, { rules: { ...RULES, only: {} } });
    expect(closed(await pushRules(service, app, tightened))).toBe(0);
  });

  test("that lose a role name it, if people have it", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    await makePerson(service, { app, role: "lead" });
    await pushRules(service, app, declareTodos(names));
    const { member } = RULES.allow;
    const lost = async (rules: object, teamRules: object) =>
      (await pushRules(service, app, declareTodos(names, { rules, teamRules }))).notes.filter(
        (note) => note.includes("no rule names anymore"),
      );
    const kept = { allow: { lead: { read: true } } };
    expect(await lost({ ...RULES, allow: { member }, only: {} }, kept)).toEqual([]);
    const found = await lost(
      { ...RULES, allow: {}, only: {}, owner: [] },
      { allow: { viewer: { read: true } } },
    );
    expect(found).toEqual([expect.stringContaining("people have the role lead")]);
  });

  test("is replayed by another service with the same rules and functions", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    await pushRules(service, app, declareTodos(names, { teamRules: null }));
    await pushRules(service, app, declareTodos(names));
    const migrations = await readMigrations(service, app);
    await using other = await openTestService({ service: { previews: RULE_PREVIEWS } });
    const there = await other.makeApp();
    for (const { text } of migrations)
      expect((await postSteps(other, there, [{ kind: "migration", text }])).status).toBe(200);
    expect(await readDeclared(other.service.admin, there)).toEqual(
      await readDeclared(admin(), app),
    );
    expect(await readDrift(other.service.admin)).toEqual([]);
  });

  test("joins diverged histories with the rules of the project's schema only", async () => {
    const names = freshNames();
    const [project, app] = [await service.makeApp(), await service.makeApp()];
    const loose = { allow: { member: "everything" } };
    await pushRules(service, project, declareTodos(names, { rules: loose, teamRules: loose }));
    const former = await readMigrations(service, project);
    const definition = declareTodos(names, { teamRules: null });
    const tables = definition.tables.filter(({ name }) => name === names.teams);
    await pushRules(service, app, { ...definition, tables });
    const { status, text } = await postSteps(service, app, [
      {
        kind: "join",
        migrations: former.map((migration) => migration.text),
        definition,
        declared: definition,
      },
    ]);
    expect([status, text.slice(0, 300)]).toEqual([200, expect.any(String)]);
    const declared = await readDeclared(admin(), app);
    expect(declared.flatMap(({ rules }) => rules ?? [])).toEqual(
      definition.tables.flatMap(({ rules }) => rules ?? []),
    );
    await expectExact(service, app, names);
  });

  test("of several processes at once leaves one state, without functions of the others", async () => {
    const names = freshNames();
    const app = await service.makeApp();
    await pushRules(service, app, declareTodos(names));
    const variants = [{ status: "open" }, { status: "done" }, { owner: "me", status: "open" }];
    await Promise.all(
      variants.map((read) =>
        postDefinition(
          service,
          app,
          declareTodos(names, { rules: { allow: { member: { read } } } }),
        ),
      ),
    );
    await expectExact(service, app, names);
  });

  test("is rejected without the preview, by name, and writes nothing", async () => {
    await using other = await openTestService({ service: { previews: [] } });
    const app = await other.makeApp();
    const before = await dumpDatabase(other.service.admin);
    const { status, json, text } = await postDefinition(other, app, declareTodos(freshNames()));
    expect([status, Object(json).error]).toEqual([409, "incompatible_schema"]);
    // Once, although several tables have rules.
    expect(text.match(/PREVIEW=browser/g)).toHaveLength(1);
    expect(await dumpDatabase(other.service.admin)).toBe(before);
  });
});
