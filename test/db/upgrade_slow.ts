/** A database that an earlier release set up gets the tables and the code of this one, and then equals a new database. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ADAPTED, ON_SHARDS_NAMES } from "../../src/db/citus/functions.ts";
import { MIGRATIONS } from "../../src/db/migrations/mod.ts";
import {
  ANCHOR,
  type Database,
  type Migrated,
  type MigrationPlan,
  migrate,
  planMigrate,
  UpgradeError,
} from "../../src/db/mod.ts";
import { type CatalogDump, dumpCatalog } from "../support/catalog_dump.ts";
import { makeEmptyDatabase, withDatabase } from "../support/cluster.ts";
import { runCommand } from "../support/command.ts";
import { readAll } from "../support/read_all.ts";
import { share } from "../support/share.ts";
import { type Program, unpackProgram } from "../upgrade/packed.ts";

/** The number of the last file of 0.1.0. */
const LAST = 7;
const LATER = MIGRATIONS.filter(({ number }) => number > LAST);

/** Constraints that a later file replaces by wider ones. */
const WIDENED = ["; api_keys_scopes_check;"];
/** What 0.1.0 kept for processes of builds before it. */
const KEPT_BY_IT = ["rowhouse.add_statistics", "rowhouse.use_key", "rowhouse.use_keys"];

let previous: Program;
beforeAll(async () => {
  previous = await unpackProgram("0.1.0");
});
afterAll(() => previous.remove());

/** As an operator of 0.1.0 did it. */
async function setUpBefore(url: string): Promise<void> {
  const env = { ADMIN_DATABASE_URL: url };
  const { code, err } = await runCommand(["migrate"], {
    ...previous,
    program: previous.folder,
    env,
  });
  if (code !== 0) throw new Error(err);
}

/** Without the settings of the cluster's logins, which the command `migrate` changes. */
async function dump(admin: Database): Promise<CatalogDump> {
  const { settings: _, ...catalog } = await dumpCatalog(admin);
  return catalog;
}

/** Runs on an empty database, or on a copy of one. */
async function withEmpty<Result>(
  task: (admin: Database) => Promise<Result>,
  original?: { url: string },
): Promise<Result> {
  await using empty = await makeEmptyDatabase(original?.url);
  return await withDatabase(empty.url, task);
}

/** Databases that the tests copy: as 0.1.0 set it up, new, and new for processes of earlier releases until `migrate --contract`. */
const former = await share(makeEmptyDatabase());
const migrated = await share(makeEmptyDatabase());
const kept = await share(makeEmptyDatabase());
let fresh: CatalogDump;
beforeAll(async () => {
  await setUpBefore(former.url);
  await withDatabase(migrated.url, (admin) => migrate(admin));
  fresh = await withDatabase(kept.url, async (admin) => {
    await migrate(admin, { keepsEarlier: true });
    return await dump(admin);
  });
});

describe("a database of 0.1.0", () => {
  let empty: Awaited<ReturnType<typeof makeEmptyDatabase>>;
  let before: CatalogDump;
  let after: CatalogDump;
  let plan: MigrationPlan;
  let done: Migrated;
  beforeAll(async () => {
    empty = await makeEmptyDatabase(former.url);
    await withDatabase(empty.url, async (admin) => {
      before = await dump(admin);
      plan = await planMigrate(admin);
      expect(await dump(admin)).toEqual(before);
      done = await migrate(admin);
      after = await dump(admin);
    });
  });
  afterAll(() => empty.drop());

  test("is changed as the plan lists it", () => {
    expect(done.applied).toEqual(LATER.map(({ name }) => name));
    expect(plan.files.map(({ name }) => name)).toEqual(done.applied);
    expect(plan.code?.changes).toEqual(done.code ?? null);
    expect(Object.keys(done.code?.functions ?? {}).length).toBeGreaterThan(0);
  });

  test("equals a new database after migrate", () => {
    expect(fresh["functions"]?.length).toBeGreaterThan(300);
    expect(after).toEqual(fresh);
  });

  test("keeps its tables, and records each file", async () => {
    const kinds = ["relations", "columns", "constraints", "indexes", "sequences", "types"];
    for (const kind of kinds) {
      expect(before[kind]?.length).toBeGreaterThan(1);
      // Later files add tables and columns; rights are code.
      const tables = (lines: readonly string[] = []) =>
        lines.map((line) => line.replace(/; [^;]* has .*$/, ""));
      const later = new Set(tables(after[kind]));
      const gone = tables(before[kind]).filter((line) => !later.has(line));
      expect(gone.filter((line) => !WIDENED.some((name) => line.includes(name)))).toEqual([]);
    }
    const record = await withDatabase(empty.url, (admin) =>
      readAll(admin, "select number, name from rowhouse.service_migrations order by number"),
    );
    expect(record).toEqual(MIGRATIONS.map(({ number, name }) => ({ number, name })));
  });

  test("has every function that the earlier release calls, with the same arguments and result", () => {
    const read = (dump: CatalogDump) =>
      new Map(
        (dump["functions"] ?? [])
          .filter((line) =>
            /(service|gateway|data|identity|console|rows|tables) has EXECUTE/.test(line),
          )
          .map((line) => {
            const [, signature = ""] = /FUNCTION (rowhouse\.[\s\S]*?)\n LANGUAGE/.exec(line) ?? [];
            return [/rowhouse\.\w+/.exec(signature)?.[0] ?? "", signature];
          }),
      );
    const [had, has] = [read(before), read(after)];
    expect(had.size).toBeGreaterThan(140);
    const gone = [...had].flatMap(([name, signature]) =>
      has.get(name) === signature || KEPT_BY_IT.includes(name)
        ? []
        : [
            `${name} changed, but processes of the earlier release still call it during an upgrade: define the new form under another name, and keep this one until the next release (CONTRIBUTING.md)`,
          ],
    );
    expect(gone).toEqual([]);
  });

  test("has every action and setting that the earlier release stores", () => {
    for (const kind of ["auditActions", "appSwitches"]) {
      const read = (dump: CatalogDump) => (dump[kind] ?? []).map((line) => JSON.parse(line).name);
      const has = new Set(read(after));
      expect(read(before).length).toBeGreaterThan(1);
      expect(
        read(before).filter((name) => !has.has(name)),
        "keep it until the next release (CONTRIBUTING.md)",
      ).toEqual([]);
    }
  });
});

/** Differs after any change of the catalogs or of these rows. */
const STATE = `select (select json_agg(json_build_array(oid, xmin)) from pg_catalog.pg_proc) as functions,
  (select json_agg(json_build_array(oid, xmin)) from pg_catalog.pg_trigger) as triggers,
  (select json_agg(json_build_array(oid, xmin)) from pg_catalog.pg_policy) as policies,
  (select json_agg(json_build_array(oid, xmin)) from pg_catalog.pg_class) as tables,
  (select json_agg(json_build_array(oid, xmin)) from pg_catalog.pg_namespace) as schemas,
  (select json_agg(json_build_array(objoid, xmin)) from pg_catalog.pg_description) as comments,
  (select json_agg(xmin) from rowhouse.audit_actions) as actions,
  (select json_agg(xmin) from rowhouse.app_switches) as switches`;

describe("code", () => {
  /** Changes of a database, after which its code is not that of this release. */
  const CHANGES = {
    "an edited function":
      "create or replace function rowhouse.utc_text(at timestamptz) returns text language sql as $$ select 'never' $$",
    "a missing function": "drop function rowhouse.read_limits(integer)",
    "a function with another result":
      "drop function rowhouse.list_origins(); create function rowhouse.list_origins() returns text language sql as $$ select 'none' $$",
    "a function with other arguments, which another calls":
      "drop function rowhouse.is_factor_overdue(uuid) cascade; create function rowhouse.is_factor_overdue(who uuid, at timestamptz) returns boolean language sql as $$ select true $$",
    "a function with another owner":
      "alter function rowhouse.targets_of(uuid) owner to rowhouse_rows",
    "a function with another search path": "alter function rowhouse.find_app(text) reset all",
    "another comment": "comment on function rowhouse.find_app_id is 'never'",
    "an unknown function":
      "create function rowhouse.stray() returns text language sql as $$ select 'stray' $$",
    "an unknown trigger":
      "create trigger stray before insert on rowhouse.apps for each row execute function rowhouse.raise_version('apps')",
    "an unknown trigger with its function":
      "create function rowhouse.stray_trigger() returns trigger language plpgsql as $$ begin return null; end $$; create trigger stray before insert on rowhouse.audit for each row execute function rowhouse.stray_trigger()",
    "an edited trigger":
      "drop trigger raise_version on rowhouse.apps; create trigger raise_version after insert on rowhouse.apps for each statement execute function rowhouse.raise_version('keys')",
    "a disabled trigger": "alter table rowhouse.targets disable trigger raise_version",
    "an unknown policy": "create policy stray on rowhouse.proofs using (true)",
    "an edited policy": "alter policy tenant on rowhouse.proofs using (true)",
    "a missing policy": "drop policy tenant on rowhouse.changes",
    "an unknown right": "grant select, update (slug) on rowhouse.apps to public",
    "a right to a function":
      "grant execute on function rowhouse.create_app to rowhouse_service with grant option",
    "a missing right": "revoke execute on function rowhouse.use_caller_key from rowhouse_service",
    "a right in a schema": "grant create on schema rowhouse to rowhouse_service",
    "an unknown action":
      "insert into rowhouse.audit_actions (name, is_change) values ('stray', true)",
    "an edited setting": "update rowhouse.app_switches set proof_bit = 4096 where name = 'live'",
  };

  test("is replaced where it differs, as the plan lists it, and then equals a new database", async () => {
    await withEmpty(async (admin) => {
      for (const change of Object.values(CHANGES)) {
        const before = await readAll(admin, STATE);
        await admin.message(`${change}; select 1`);
        expect(await readAll(admin, STATE)).not.toEqual(before);
      }
      await admin.message("update rowhouse.code set digest = 'sha256:0'; select 1");
      const changed = await dump(admin);
      const plan = await planMigrate(admin);
      expect(await dump(admin)).toEqual(changed);

      const { code } = await migrate(admin);
      expect(await dump(admin)).toEqual(fresh);
      expect(plan.code?.changes).toEqual(code ?? null);
      expect(code).toMatchObject({
        functions: {
          "rowhouse.utc_text(timestamp with time zone)": "changed",
          "rowhouse.read_limits(integer)": "new",
          "rowhouse.stray()": "dropped",
        },
        triggers: { "apps.stray": "dropped", "targets.raise_version": "changed" },
        policies: { "proofs.tenant": "changed", "changes.tenant": "new" },
      });
      expect(await migrate(admin)).toEqual({ applied: [], code: undefined, later: undefined });
    }, kept);
  });

  test("is repaired although the database records it, and a run that finds nothing locks nothing", async () => {
    await withEmpty(async (admin) => {
      for (const change of Object.values(CHANGES)) {
        await admin.message(`${change}; select 1`);
        expect((await planMigrate(admin)).code === undefined).toBe(
          change.startsWith("insert") || change.startsWith("update"),
        );
        expect((await migrate(admin)).code).toBeDefined();
      }
      expect(await dump(admin)).toEqual(fresh);
      const before = await readAll(admin, STATE);
      expect(await migrate(admin)).toMatchObject({ code: undefined });
      expect(await readAll(admin, STATE)).toEqual(before);
    }, kept);
  }, 120_000);

  test("of a distributed database has the forms for nodes, and keeps what belongs to the nodes", async () => {
    await withEmpty(async (admin) => {
      // A database is distributed if it has this table.
      await admin.message(`create table ${ANCHOR} (app_id uuid primary key);
        alter table ${ANCHOR} owner to rowhouse_owner; grant select, delete on ${ANCHOR} to rowhouse_rows;
        create function rowhouse.hold_new_nodes() returns void language sql as $$ select $$;
        update rowhouse.code set digest = 'sha256:0'; select 1`);
      const { code } = await migrate(admin);
      const [changed, added] = [
        [
          "delete_proof",
          "delete_stored",
          "drop_tables",
          "enter_app",
          "is_listening",
          "had_filters",
        ],
        ["drop_part", "find_node_issues", ...ON_SHARDS_NAMES],
      ];
      const functions = Object.entries(code?.functions ?? {}).map(
        ([signature, change]) => `${/\w+(?=\()/.exec(signature)?.[0]} ${change}`,
      );
      expect(functions.sort()).toEqual(
        [
          ...[...changed, ...Object.keys(ADAPTED)].map((name) => `${name} changed`),
          ...added.map((name) => `${name} new`),
        ].sort(),
      );
      const granted = new Set(code?.granted.map(([, what = ""]) => /\w+(?=\()/.exec(what)?.[0]));
      expect([...granted].sort()).toEqual([...added].sort());
      expect(code).toMatchObject({ triggers: {}, policies: {}, revoked: [] });
      await admin.message("update rowhouse.code set digest = 'sha256:0'; select 1");
      expect((await migrate(admin)).code).toMatchObject({
        functions: {},
        granted: [],
        revoked: [],
      });
    }, migrated);
  });

  test("keeps an action of the audit log that still has entries", async () => {
    await withEmpty(async (admin) => {
      await admin.message(`insert into rowhouse.audit_actions (name, is_change) values ('stray', true);
        insert into rowhouse.audit (actor, action) values ('test', 'stray');
        update rowhouse.code set digest = 'sha256:0'; select 1`);
      await migrate(admin);
      const left = await readAll(
        admin,
        "select name from rowhouse.audit_actions where name = 'stray'",
      );
      expect(left).toEqual([{ name: "stray" }]);
    }, migrated);
  });
});

describe("an operator's objects", () => {
  const F = "create function rowhouse.my_f() returns int language sql immutable as 'select 1';";
  const TRIGGERED = "for each row execute function suppress_redundant_updates_trigger()";

  /** Objects that an upgrade drops or leaves alone, with the lines that stay. */
  const HARMLESS = {
    "a procedure": "create procedure rowhouse.my_proc(a int) language sql as 'select 1'",
    "an aggregate over a function":
      "create function rowhouse.my_sf(int, int) returns int language sql immutable as 'select $1 + $2'; create aggregate rowhouse.my_agg(int) (sfunc = rowhouse.my_sf, stype = int)",
    "a trigger with a dot": `create trigger "a.b" before insert on rowhouse.apps ${TRIGGERED}`,
    "a policy with a dot": `create policy "p.q" on rowhouse.apps for select using (true)`,
    "a policy that uses a function": `${F} create policy mine on rowhouse.apps using (rowhouse.my_f() = 1)`,
    "an overload with a quoted name": `create function rowhouse.prove_key(a int) returns int language sql as 'select 1'; create function rowhouse."quoted "" name"() returns int language sql as 'select 1'`,
    "a parsed function that calls the release's": `create function rowhouse.mine() returns text begin atomic select rowhouse.utc_text(null); end`,
    "rights that were granted on": `create role "x1 ""q" nologin; create role x1_mon nologin; grant usage on schema rowhouse to x1_mon;
      grant select on all tables in schema rowhouse to x1_mon with grant option; set local role x1_mon;
      grant select on rowhouse.apps to "x1 ""q"; grant select on rowhouse.proofs to rowhouse_service; reset role`,
  };

  test.each(Object.entries(HARMLESS))("%s in the schema is removed", async (_, sql) => {
    await withEmpty(async (admin) => {
      await admin.message(`${sql}; select 1`);
      await planMigrate(admin);
      await migrate(admin);
      expect(await dump(admin)).toEqual(fresh);
      await admin.message(`drop role if exists "x1 ""q"; drop role if exists x1_mon; select 1`);
    }, former);
  });

  const KEPT = {
    "an extension": "create extension pg_stat_statements schema rowhouse",
    "a table with the name of a probe": "create table rowhouse.code_probe (a int)",
    "a table with a dot": `create table rowhouse."x.y" (a int); create trigger t before insert on rowhouse."x.y" ${TRIGGERED}; alter table rowhouse."x.y" owner to rowhouse_owner`,
    "a superuser's view with rights":
      "create view rowhouse.my_view as select id from rowhouse.apps; grant select on rowhouse.my_view to rowhouse_all_login, public",
    "a view that uses the release's function":
      "create view public.uses as select rowhouse.utc_text(now()) as at",
    "a parsed function that calls the release's": `create function public.mine() returns text begin atomic select rowhouse.utc_text(null); end`,
  };

  test.each(Object.entries(KEPT))("%s does not prevent an upgrade", async (_, sql) => {
    await withEmpty(async (admin) => {
      await admin.message(`${sql.replace("rowhouse_all_login", "rowhouse_service")}; select 1`);
      await planMigrate(admin);
      await migrate(admin);
      const catalog = await dump(admin);
      expect(catalog["functions"]).toEqual(expect.arrayContaining([...(fresh["functions"] ?? [])]));
      expect(catalog["policies"]).toEqual([...(fresh["policies"] ?? [])]);
      const before = await readAll(admin, STATE);
      expect(await migrate(admin)).toMatchObject({ code: undefined });
      expect(await readAll(admin, STATE)).toEqual(before);
    }, former);
  });

  /** The files of the next release. */
  const NEXT = [
    ...MIGRATIONS,
    {
      ...{ number: 9999, name: "9999_next", locks: [] },
      sql: "create table rowhouse.added (id uuid primary key); alter table rowhouse.processes add column added text;",
    },
  ];
  /** Objects in the way, and what the error names. */
  const BLOCKERS: Record<string, { sql: string; names: string[] }> = {
    "views that use a function": {
      sql: `${F} create view public."my view" as select rowhouse.my_f() as a; create materialized view rowhouse.mv as select rowhouse.my_f() as a`,
      names: ['view public."my view"', "materialized view rowhouse.mv", "rowhouse.my_f()"],
    },
    "an aggregate outside": {
      sql: "create function rowhouse.my_sf(int, int) returns int language sql immutable as 'select $1 + $2'; create aggregate public.my_agg(int) (sfunc = rowhouse.my_sf, stype = int)",
      names: ["public.my_agg(integer)", "rowhouse.my_sf(integer,integer)"],
    },
    "a parsed function outside": {
      sql: `${F} create function public.at2() returns int begin atomic select rowhouse.my_f(); end`,
      names: ["function public.at2()", "rowhouse.my_f()"],
    },
    "a default and a check outside": {
      sql: `${F} create table public.t (a int default rowhouse.my_f(), check (a = rowhouse.my_f()))`,
      names: [
        "default value for column a of table public.t",
        "constraint t_a_check on table public.t",
      ],
    },
    "an index on a table of the service": {
      sql: "create function rowhouse.low(text) returns text language sql immutable as 'select $1'; create index mine on rowhouse.apps (rowhouse.low(slug))",
      names: ["index rowhouse.mine", "rowhouse.low(text)"],
    },
    "a view that uses another form of a function": {
      sql: "drop function rowhouse.utc_text(timestamptz) cascade; create function rowhouse.utc_text(at timestamptz) returns int language sql as 'select 1'; create view public.v as select rowhouse.utc_text(now()) as at",
      names: ["view public.v", "rowhouse.utc_text(timestamp with time zone)"],
    },
    "a table with the name of a new one": {
      sql: "create table rowhouse.added (x int)",
      names: ["table rowhouse.added"],
    },
    "a type with the name of a new table": {
      sql: "create domain rowhouse.added as int",
      names: ["type rowhouse.added"],
    },
    "a column with the name of a new one": {
      sql: `alter table rowhouse.processes add column added int; ${F} create view public.v as select rowhouse.my_f()`,
      names: ["column added of table rowhouse.processes", "view public.v"],
    },
  };

  test.each(Object.entries(BLOCKERS))(
    "%s: rejected with every name by the plan and the upgrade, which change nothing",
    async (_, { sql, names }) => {
      await withEmpty(async (admin) => {
        await admin.message(`${sql}; select 1`);
        const before = await readAll(admin, STATE);
        const read = (run: Promise<unknown>) =>
          run.then(
            () => "succeeded",
            (error) => `${error instanceof UpgradeError} ${error.message}`,
          );
        const said = await read(planMigrate(admin, { migrations: NEXT }));
        expect(await read(migrate(admin, { migrations: NEXT }))).toBe(said);
        for (const name of names) expect(said).toContain(name);
        expect(said).toStartWith("true Objects that are not Rowhouse's are in the way");
        expect(await readAll(admin, STATE)).toEqual(before);
      }, migrated);
    },
  );

  test("in the way of a renewal are rejected by both", async () => {
    await withEmpty(async (admin) => {
      await admin.message(`${F} create view public.v as select rowhouse.my_f() as a; select 1`);
      const before = await readAll(admin, STATE);
      const says = "view public.v uses the function rowhouse.my_f(), which this release drops";
      await expect(planMigrate(admin)).rejects.toThrow(says);
      await expect(migrate(admin)).rejects.toThrow(says);
      expect(await readAll(admin, STATE)).toEqual(before);
    }, migrated);
  });

  test("in a new database's schemas are named", async () => {
    await withEmpty(async (admin) => {
      await admin.message("create schema data; select 1");
      await expect(planMigrate(admin)).rejects.toThrow("schema data has a name");
      await expect(migrate(admin)).rejects.toThrow("schema data has a name");
    });
  });
});
