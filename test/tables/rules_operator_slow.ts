/** Rules in the hands of an operator: ends of uses, deletions, archives, and what a killed push leaves. */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, quoteLiteral } from "../../src/db/mod.ts";
import { hashColumnSet, makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { makeCheckBodies, refreshFunctions } from "../../src/tables/mod.ts";
import { openAdmin } from "../support/admin.ts";
import { citusUrl } from "../support/citus.ts";
import { dumpDatabase, readDeclared } from "../support/push.ts";
import { pushDefinition } from "../support/push_steps.ts";
import { declareRules } from "../support/rules.ts";
import {
  declareTodos,
  expectExact,
  freshNames,
  listViewSets,
  listWanted,
  type Names,
  OWN,
  pushRules,
  RULE_PREVIEWS,
  RULES,
  readViews,
} from "../support/rules_service.ts";
import { type TestApp, type TestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

// The tests plant functions, which would stop the service.
const options = { ...UNGUARDED, previews: RULE_PREVIEWS };
const admin = await share(openAdmin({ PREVIEW: "browser" }, { service: options }));

const service = (): TestService => admin.service;

async function makeTodos(
  rules: object | null | ((names: Names) => object) = RULES,
): Promise<{ app: TestApp; names: Names }> {
  const names = freshNames();
  const app = await service().makeApp();
  const declared = typeof rules === "function" ? rules(names) : rules;
  await pushRules(service(), app, declareTodos(names, { rules: declared }));
  return { app, names };
}

/** Every issue of the guard: of the database, and of the bodies of functions. */
async function listGuardIssues(): Promise<readonly string[]> {
  const { issues } = await makeIsolationCheck(service().service.admin)();
  return [...issues, ...(await makeCheckBodies(service().service.admin)(""))];
}

describe.skipIf(citusUrl() !== undefined)("rules", () => {
  test("of a table end before the app's use of it, also if only memberships of another table need it", async () => {
    const { app, names } = await makeTodos(({ members }) => ({
      allow: { member: { read: [{ team: { memberOf: members } }] } },
    }));
    const rejected = await admin.run("end-registration", app.slug, names.todos, "--yes");
    expect(rejected.code).not.toBe(0);
    expect(rejected.err).toContain("declares rules for the table");
    const members = await admin.run("end-registration", app.slug, names.members, "--yes");
    expect(members.code).not.toBe(0);
    await expectExact(service(), app, names);

    const definition = declareTodos(names);
    const tables = definition.tables.filter(({ name }) => name === names.teams);
    await pushRules(service(), app, { ...definition, tables });
    for (const name of [names.todos, names.members])
      expect(await admin.run("end-registration", app.slug, name, "--yes")).toMatchObject({
        code: 0,
      });
    expect((await readDeclared(service().service.admin, app)).map(({ name }) => name)).toEqual([
      names.teams,
    ]);
    expect(await readViews(service(), app)).toHaveLength(1);
    expect(await listGuardIssues()).toEqual([]);
  });

  test("of an app leave nothing when it is deleted, at no step and in no table of another owner", async () => {
    const owner = await makeTodos();
    const { names } = owner;
    const app = await service().makeApp();
    const own = freshNames();
    const { tables } = declareTodos(names);
    const all = { version: 1, tables: [...tables, ...declareTodos(own).tables] } as const;
    await pushRules(service(), app, { ...all, tables: all.tables.toSorted(byName) });
    expect(await readViews(service(), app)).toHaveLength(6);
    for (let step = 0; ; step++) {
      if (step > 600) throw new Error("The deletion does not end");
      const [row] = await service().query<{ is_done: boolean; job: string | null }>(
        "select is_done, job::text from rowhouse.delete_app_step($1, 'test')",
        [app.slug],
      );
      expect(await listGuardIssues()).toEqual([]);
      if (row?.is_done === true) break;
      if (row?.job != null) await Bun.sleep(20);
    }
    expect(await readViews(service(), app)).toEqual([]);
    await expectExact(service(), owner.app, names);
  });

  test("are in an archive, also those of columns that the app no longer declares", async () => {
    const names = freshNames();
    const app = await service().makeApp();
    const rules = { ...RULES, only: { ...RULES.only, secret: ["lead"] } };
    await pushRules(service(), app, declareTodos(names, { columns: { secret: "string" }, rules }));
    await pushRules(service(), app, declareTodos(names));
    const declared = await readDeclared(service().service.admin, app);
    const folder = mkdtempSync(join(tmpdir(), "rowhouse-rules-"));
    try {
      const file = join(folder, "app.archive");
      expect(await admin.run("export-app", app.slug, file)).toMatchObject({ code: 0 });
      const slug = `${app.slug}-2`;
      expect(await admin.run("import-app", file, "--as", slug)).toMatchObject({ code: 0 });
      const [row] = await service().query<{ id: string }>(
        "select id from rowhouse.apps where slug = $1",
        [slug],
      );
      const copy = { ...app, id: row?.id ?? "", slug };
      expect(await readDeclared(service().service.admin, copy)).toEqual(declared);
      await expectExact(service(), copy, names);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("of a push that is killed do not exist", async () => {
    const { app, names } = await makeTodos();
    const before = await dumpDatabase(service().service.admin);
    const killed: Database = {
      ...service().pushing,
      message: (text, options) => service().pushing.message(`${text};\nselect 1 / 0`, options),
    };
    const definition = declareTodos(names, { rules: { allow: { member: "everything" } } });
    const pushed = pushDefinition(
      { admin: killed, log: () => undefined },
      { app, definition, options: { dryRun: false } },
    );
    await expect(pushed).rejects.toThrow();
    expect(await dumpDatabase(service().service.admin)).toBe(before);
    await expectExact(service(), app, names);
  });

  test("of a plan from before another app's push do not come back with it", async () => {
    const names = freshNames();
    const { members: companies, teams, todos } = names;
    const [owner, user] = [await service().makeApp(), await service().makeApp()];
    const readable = (column: string, ...more: object[]) => ({
      allow: { member: { read: [{ [column]: { readable: true } }, ...more] } },
    });
    /** The views of todos follow the rules of companies, which the table of todos does not reference. */
    const declare = (isRuled: boolean, companyRules: object, indexes: string[][]) => ({
      version: 1 as const,
      tables: declareRules({
        [companies]: { columns: { name: "string" }, ...(isRuled && { rules: companyRules }) },
        [teams]: {
          columns: { company: { kind: "ref", table: companies } },
          ...(isRuled && { rules: readable("company") }),
        },
        [todos]: {
          columns: { owner: "uuid", team: { kind: "ref", table: teams } },
          indexes,
          ...(isRuled && { rules: readable("team", OWN) }),
        },
      }),
    });
    const all = { allow: { member: { read: true } } };
    await pushRules(service(), owner, declare(false, all, []));
    await pushRules(service(), user, declare(true, all, []));
    const tightened = declare(true, { allow: { member: { read: { name: "a" } } } }, []);
    let isFirst = true;
    const late: Database = {
      ...service().pushing,
      // The owner has planned: now the user's functions are replaced.
      message: async (text, options) => {
        const isStale = isFirst;
        isFirst = false;
        if (isStale) await pushRules(service(), user, tightened);
        return await service().pushing.message(text, options);
      },
    };
    await pushDefinition(
      { admin: late, log: () => undefined },
      {
        app: owner,
        definition: declare(false, all, [["owner", "id"]]),
        options: { dryRun: false },
      },
    );
    expect(isFirst).toBe(false);
    await expectExact(service(), user, names);
    await expectExact(service(), owner, names);
  });
});

describe.skipIf(citusUrl() !== undefined)("the guard rejects", () => {
  const FUNCTION = (name: string) =>
    `create function api."${name}"() returns text language plpgsql security definer as 'begin return null; end'`;

  test("a function of a view that no push recorded", async () => {
    const { names } = await makeTodos();
    const name = `${names.todos.slice(0, 32)}__0123456789abcdef_get`;
    await service().service.admin.message(`${FUNCTION(name)}; select 1`);
    expect(await listGuardIssues()).toContain(
      `Function api.${name} must be one that a push recorded`,
    );
    await service().service.admin.message(`drop function api."${name}"(); select 1`);
    expect(await listGuardIssues()).toEqual([]);
  });

  test("a function of a view with another body", async () => {
    const { app, names } = await makeTodos();
    const [name] = (await listWanted(service(), app)).filter((one) => one.endsWith("_get"));
    if (name === undefined) throw new Error("No function");
    const open = `create or replace function api."${name}"(uuid, bytea, uuid, integer) returns text language plpgsql volatile security definer as 'begin return (select row_to_json(t)::text from data.${names.todos} as t where id = $3); end'`;
    await service().pushing.message(`set local role rowhouse_tables; ${open}; select 1`);
    expect(await listGuardIssues()).toEqual([
      `Function api.${name}(uuid, bytea, uuid, integer) must have the body that this release generates`,
    ]);
    expect(await refreshFunctions(service().service.admin)).toHaveLength(1);
    await expectExact(service(), app, names);
  });

  test("a function of a recorded view that the app's rules do not have", async () => {
    const { app, names } = await makeTodos();
    const [set] = await listViewSets(service(), app);
    if (set === undefined) throw new Error("No view");
    const loose = { ...set, view: { ...set.view, read: [{}], roles: ["anyone"] } };
    const hash = hashColumnSet(loose);
    const name = `${set.name.slice(0, 32)}__${hash}_get`;
    const view = JSON.stringify([{ table: set.name, hash, definition: loose }]);
    await service().pushing.message(
      `set local role rowhouse_tables; ${FUNCTION(name)}; select rowhouse.record_views('${app.id}', ${quoteLiteral(view)}::jsonb, '[]')`,
    );
    expect(await makeCheckBodies(service().service.admin)("")).toContain(
      `Function api.${name}() must have the body that this release generates`,
    );
    await service().service.admin.message(`drop function api."${name}"(); select 1`);
    // The record without its function is renewed by migrate.
    expect(await refreshFunctions(service().service.admin)).toEqual([set.name]);
    await expectExact(service(), app, names);
  });
});

function byName(one: { name: string }, other: { name: string }): number {
  return one.name < other.name ? -1 : 1;
}
