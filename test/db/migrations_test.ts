/**
 * The service's SQL: constants that it shares with the code, the format of its files, and functions that verify a proof
 * first.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { BY_APP } from "../../src/db/citus/anchor.ts";
import { fillConstants } from "../../src/db/code/mod.ts";
import { readCode } from "../../src/db/code/statements.ts";
import {
  defineVisitorFunctions,
  readActions,
  renderDispatcher,
} from "../../src/db/code/visitor_functions.ts";
import { DIALECTS } from "../../src/db/dialects.ts";
import { APP_SETTING } from "../../src/db/isolation.ts";
import { readRun } from "../../src/db/migrations/long_step.ts";
import { checksum, type MeasuredLock, MIGRATIONS } from "../../src/db/migrations/mod.ts";
import { ROLE_NAMES } from "../../src/db/migrations/roles.ts";
import { openDatabase, readRows, SIGNALS, TENANT_POLICY } from "../../src/db/mod.ts";
import { DEV_KEY_NAME, DEV_SCHEMA } from "../../src/db/provision.ts";
import { SIGNAL_START } from "../../src/db/signals.ts";
import { REPLAY } from "../../src/db/sql_constants.ts";
import { SCOPE_BITS, SCOPES } from "../../src/principal.ts";
import { LATENCY_BUCKETS } from "../../src/std/latency.ts";
import { TABLE_LENGTH } from "../../src/tables/catalog/functions.ts";
import { makeEmptyDatabase } from "../support/cluster.ts";
import { measureLocks } from "../support/measure_locks.ts";
import { openTestService, type TestService } from "../support/service.ts";

const files = [
  ...(await readAll("**/*.sql", "src/db/code")),
  ...(await readAll("*.sql", "src/db/migrations")),
];
const statements = await readAll("**/*.sql", "src");
const code = await readAll("**/*.{ts,tsx}", "src");
const textOf = (name: string) =>
  files.find((file) => file.name.endsWith(`${name}.sql`))?.text ?? "";
/** Replaces line breaks, which have no meaning in SQL. */
const flatten = (text: string) => text.replaceAll(/\s+/g, " ").replaceAll(/(?<=\() | (?=\))/g, "");

async function readAll(pattern: string, cwd: string): Promise<{ name: string; text: string }[]> {
  const names = [...new Bun.Glob(pattern).scanSync({ cwd })].sort();
  return Promise.all(
    names.map(async (name) => ({ name, text: await Bun.file(`${cwd}/${name}`).text() })),
  );
}

describe("SQLSTATEs", () => {
  const known = Object.entries(SIGNALS).map(([name, code]) => ({ name, code }));
  const pattern = new RegExp(`'(${SIGNAL_START}\\d{3})'`, "g");
  const raised = new Set(
    files.flatMap(({ text }) => [...text.matchAll(pattern)].map(([, code = ""]) => code)),
  );
  // Generated SQL and single statements use the signal's name.
  const raisedByCode = new Set(
    code.flatMap(({ text }) =>
      [...text.matchAll(/errcode = '\$\{SIGNALS\.(\w+)\}'/g)].map(([, name]) => name),
    ),
  );

  test("in .sql files match db/signals.ts", () => {
    expect(raised.size).toBeGreaterThan(10);
    expect([...raised].filter((code) => known.every((signal) => signal.code !== code))).toEqual([]);
  });

  test("of db/signals.ts are all raised", () => {
    const silent = known.filter(({ name, code }) => !raised.has(code) && !raisedByCode.has(name));
    expect(silent).toEqual([]);
  });

  test("of db/signals.ts are all different", () => {
    expect(new Set(known.map(({ code }) => code)).size).toBe(known.length);
  });

  test("are used by name in the code", () => {
    const literal = new RegExp(`["'\`]${SIGNAL_START}\\d{3}["'\`]`);
    const signals = code.filter(({ name }) => name === "db/signals.ts");
    expect(signals.map(({ text }) => literal.test(text))).toEqual([true]);
    const users = code.filter(({ name, text }) => name !== "db/signals.ts" && literal.test(text));
    expect(users.map(({ name }) => name)).toEqual([]);
  });
});

const quoted = (texts: readonly string[]) => texts.map((text) => `'${text}'`).join(", ");
const bits = Object.entries(SCOPE_BITS);
const buckets = Array.from({ length: LATENCY_BUCKETS }, (_, index) => index + 1);

test.each([
  {
    fact: "lengths of functions' names",
    file: "push_reads",
    sql: `left(table_name, ${TABLE_LENGTH})`,
  },
  { fact: "marks of dev", file: "console/home", sql: `nspname = '${DEV_SCHEMA}'` },
  { fact: "names of dev's keys", file: "console/home", sql: `name = '${DEV_KEY_NAME}'` },
  { fact: "scopes", file: "0011_rules_scope", sql: `check (scopes <@ array[${quoted(SCOPES)}])` },
  {
    fact: "bits of scopes",
    file: "keys",
    sql: bits
      .map(([scope, bit]) => `case when '${scope}' = any(scopes) then ${bit} else 0 end`)
      .join(" + "),
  },
  { fact: "policies of proofs", file: "keys", sql: `with check (${TENANT_POLICY.written})` },
  {
    fact: "policies of stored responses",
    file: "idempotency",
    sql: `using (${TENANT_POLICY.written})`,
  },
  { fact: "settings of the app", file: "keys", sql: `set_config('${APP_SETTING}', app::text` },
  { fact: "letters of whole responses", file: "idempotency", sql: `then '${REPLAY.whole}' ||` },
  { fact: "letters of short responses", file: "idempotency", sql: `else '${REPLAY.short}' ||` },
  { fact: "letters of a mismatch", file: "idempotency", sql: `then '${REPLAY.mismatch}'` },
  { fact: "letters of a full table", file: "idempotency", sql: `return '${REPLAY.full}'` },
  {
    fact: "latencies that are summed",
    file: "console/home",
    sql: `jsonb_build_array(${buckets.map((index) => `coalesce(sum(latencies[${index}]), 0)`).join(", ")})`,
  },
  { fact: "roles", file: "roles", sql: `array[${quoted(ROLE_NAMES)}]` },
])("$fact in $file are the same in SQL and in code", ({ file, sql }) => {
  expect(flatten(textOf(file)).includes(flatten(sql))).toBe(true);
});

test("an unknown constant in an SQL file is an error", () => {
  expect(fillConstants(`length(id) = \${ID_LENGTH}`)).toBe("length(id) = 16");
  expect(() => fillConstants(`\${UNKNOWN}`)).toThrow("cannot use UNKNOWN");
});

describe("files", () => {
  test("start with their purpose", () => {
    expect(files.length).toBeGreaterThan(30);
    expect(files.filter(({ text }) => !/^-- [A-Z]/.test(text)).map(({ name }) => name)).toEqual([]);
  });

  test("have lines of max 100 characters", () => {
    const long = statements.flatMap(({ name, text }) =>
      text.split("\n").flatMap((line, at) => (line.length > 100 ? [`${name}:${at + 1}`] : [])),
    );
    expect(long).toEqual([]);
  });

  test("of tables have no constants, whose value could change", () => {
    const numbered = files.filter(({ name }) => /^\d{4}_/.test(name));
    expect(numbered.map(({ name }) => name)).toEqual(MIGRATIONS.map(({ name }) => `${name}.sql`));
    expect(numbered.filter(({ text }) => text.includes("${"))).toEqual([]);
  });
});

describe("a change of a table", () => {
  const FROZEN = "test/db/frozen.json";
  const LOCKS = "src/db/migrations/locks.json";

  test("is a new file: a file that was landed never changes", async () => {
    const recorded: Record<string, string> = await Bun.file(FROZEN).json();
    const now = Object.fromEntries(
      MIGRATIONS.map((migration) => [migration.name, checksum(migration)]),
    );
    const edited = Object.keys(recorded).filter((name) => now[name] !== recorded[name]);
    expect(
      edited.map(
        (name) =>
          `${name}.sql is frozen, because databases have applied it: restore it, and change the table in a new file with the next number`,
      ),
    ).toEqual([]);
    if (process.env["FREEZE"] === "1") {
      await Bun.write(FROZEN, `${JSON.stringify(now, null, 2)}\n`);
      return;
    }
    const added = Object.keys(now).filter((name) => !(name in recorded));
    expect(
      added.map(
        (name) => `${name}.sql is not recorded: run FREEZE=1 bun test test/db/migrations_test.ts`,
      ),
    ).toEqual([]);
    expect(MIGRATIONS.map(({ number }) => number)).toEqual(MIGRATIONS.map((_, index) => index + 1));
  });

  test("that a cluster distributes is made on every node", () => {
    const ofNodes = /^alter table (rowhouse\.\w+)/gm;
    const changed = MIGRATIONS.slice(1).flatMap(({ sql }) => [
      ...[...sql.matchAll(ofNodes)].filter(([, name = ""]) => BY_APP.some((own) => own === name)),
    ]);
    expect(changed.length).toBeGreaterThan(4);
    const rendered = MIGRATIONS.slice(1).map(({ sql }) => DIALECTS.citus.runMigration(sql));
    const forwarded = /propagation = 'on'; [^;]+; execute 'alter table rowhouse\./g;
    expect(rendered.join("\n").match(forwarded)).toHaveLength(changed.length);
  });

  test("has the locks that the plan of an upgrade lists, as PostgreSQL takes them", async () => {
    const empty = await makeEmptyDatabase();
    const admin = openDatabase({ url: empty.url, connections: 1, prepare: true, name: "locks" });
    try {
      const measured: Record<string, MeasuredLock[]> = {};
      for (const migration of MIGRATIONS) {
        const locks = await measureLocks(admin, migration);
        if (locks.length > 0) measured[migration.name] = locks;
      }
      if (process.env["FREEZE"] === "1")
        await Bun.write(LOCKS, `${JSON.stringify(measured, null, 2)}\n`);
      expect(await Bun.file(LOCKS).json()).toEqual(measured);
    } finally {
      await admin.close();
      await empty.drop();
    }
  });

  test.each([
    "alter table rowhouse.apps add column note text;",
    "create table rowhouse.notes (id uuid);",
    "create index on rowhouse.apps (slug);",
    "drop table rowhouse.apps;",
    "create type rowhouse.note as (text text);",
    "create sequence rowhouse.notes;",
    "do $$ begin alter table rowhouse.apps add column note text; end $$;",
    "insert into rowhouse.apps (slug) values ('a');",
    "alter function rowhouse.f() set jit = off;",
  ])("cannot be in the code: %s", (statement) => {
    expect(() => readCode(`-- A comment; and more.\n${statement}`)).toThrow(
      "a table changes only by a new numbered file in src/db/migrations/ (CONTRIBUTING.md)",
    );
  });

  const INDEX = "-- runs: concurrently\ncreate index concurrently a on rowhouse.apps (slug);";
  const BATCH =
    "-- runs: in batches\ndelete from rowhouse.apps where id in (select id from rowhouse.apps limit 9);";

  test.each([
    { name: "two statements", sql: `${INDEX}\nselect 1;` },
    { name: "an index that blocks writes", sql: INDEX.replace("index concurrently", "index") },
    { name: "a change of all rows", sql: BATCH.replace(" limit 9", "") },
    { name: "an unknown way", sql: "-- runs: at night\nselect 1;" },
  ])("cannot run outside a transaction with $name", ({ sql }) => {
    expect([INDEX, BATCH].map((known) => readRun({ name: "0009_long", sql: known }))).toEqual([
      "concurrently",
      "in batches",
    ]);
    expect(() => readRun({ name: "0009_long", sql })).toThrow("0009_long.sql");
  });
});

test("the code defines a function once", () => {
  const text = "create function rowhouse.f(a text) returns text language sql as $$ select ';' $$;";
  expect(Object.keys(readCode(text).functions)).toEqual(["f"]);
  expect(() => readCode(`${text}\n${text.replace("a text", "a uuid")}`)).toThrow(
    "a function with other arguments needs another name",
  );
});

describe("a function that visitors call", () => {
  const sql = `-- proves: admin, recent sign-in
create function rowhouse.console_one(wanted text) returns text as $$
declare
  found_one text;
begin
  return 'one';
end
$$;`;

  test("checks the proof before its first variable and its body", () => {
    const [, declared = ""] = defineVisitorFunctions(sql).split("declare\n");
    expect(declared.trim()).toStartWith("who uuid := rowhouse.check_console(");
    expect(declared).toContain("'admin', true);\n  found_one text;\nbegin\n");
  });

  test.each([
    { name: "an unknown proof", text: sql.replace("admin", "anyone") },
    { name: "a function with a language", text: sql.replace("as $$", "language plpgsql as $$") },
    { name: "a function without a begin", text: sql.replace("begin\n", "") },
    { name: "a missing function", text: "-- proves: admin\nselect 1;" },
  ])("is rejected with $name", ({ text }) => {
    expect(() => defineVisitorFunctions(text)).toThrow();
  });

  const action = `-- action: admin, recent sign-in
--   wanted = rowhouse.held(who, person uuid)
create function rowhouse.end_one(wanted text, reason text,
  actor text) returns integer
language sql set search_path = pg_catalog, pg_temp as $$
  select 1
$$;
comment on function rowhouse.end_one is 'null result';`;

  test("of an action runs in the dispatcher, after the proof and in the visitor's name", () => {
    const lasting = action.replace("end_one", "see_one").replace(", recent sign-in", "");
    const written = renderDispatcher(readActions(`${action}\n\n${lasting}`));
    const body = flatten(written.slice(written.indexOf("declare")));
    expect(body).toStartWith(
      "declare who uuid := rowhouse.check_console(visitor, 'admin', action not in ('see_one')); result jsonb; begin case action when 'end_one' then",
    );
    expect(body).toContain(
      "result := to_jsonb(rowhouse.end_one(rowhouse.held(who, (input ->> 'person')::uuid), (input ->> 'reason')::text, who::text));",
    );
  });

  test.each([
    { name: "an unknown proof", text: action.replace("admin", "anyone") },
    { name: "an unknown argument", text: action.replace("   wanted", "   wantd") },
    { name: "an argument without an expression", text: action.replace(" = ", " ") },
    { name: "a missing language", text: action.replace("language sql", "") },
    { name: "a label without quotes", text: action.replace("sign-in", "sign-in; logs ended one") },
    { name: "a missing function", text: "-- action: admin\nselect 1;" },
  ])("of an action is rejected with $name", ({ text }) => {
    expect(() => [defineVisitorFunctions(text), readActions(text)]).toThrow();
  });

  type Labeled = { line: string; logged: ReturnType<typeof readActions>[number]["logged"] };
  test.each<Labeled>([
    { line: '; logs "ended one"', logged: [["end_one", { label: "ended one" }]] },
    {
      line: '; logs end = "ended", a change',
      logged: [["end", { label: "ended", isChange: true }]],
    },
    { line: "", logged: [] },
  ])(
    "of an action has its label in the log, but not in the migration: $line",
    ({ line, logged }) => {
      const labeled = action.replace("sign-in", `sign-in${line}`);
      expect(readActions(labeled).map((found) => found.logged)).toEqual([logged]);
      expect(defineVisitorFunctions(labeled)).toBe(defineVisitorFunctions(action));
    },
  );

  test("is the only kind that the Console's login can call", () => {
    const granting = files.flatMap(({ name, text }) =>
      [...text.matchAll(/grant (?:(?!;)[\s\S])*?\bto\b(?:(?!;)[\s\S])*rowhouse_console/g)].map(
        ([grant]) => `${name}: ${flatten(grant)}`,
      ),
    );
    expect(granting).toEqual([
      expect.stringContaining("schema_rights.sql: grant usage on schema rowhouse to "),
    ]);
  });
});

describe("in PostgreSQL", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService();
  });
  afterAll(() => service.close());

  test("every function compiles without a warning", async () => {
    const { admin } = service.service;
    const found = await readRows<{ definition: string }>(
      admin,
      `select pg_get_functiondef(oid) as definition from pg_proc
      where pronamespace in ('rowhouse'::regnamespace, 'find'::regnamespace)`,
    );
    expect(found.length).toBeGreaterThan(150);
    const definitions = found.map(({ definition }) => `${definition};`).join("\n");
    await admin.message(`set local check_function_bodies = on;
      set local plpgsql.extra_errors = 'all';
      ${definitions}
      select 1`);
  });
});
