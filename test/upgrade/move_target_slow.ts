/** `rowhouse admin move-database`: which databases it accepts as the new one, and that it changes no other. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasTables } from "../../src/db/mod.ts";
import { dumpCatalog } from "../support/catalog_dump.ts";
import { clusterUrls, withDatabase } from "../support/cluster.ts";
import { runCommand, runHere } from "../support/command.ts";
import { loadOlder } from "./older.ts";

const SOURCE = `older_${crypto.randomUUID().slice(-12)}`;
const NEXT = `next_${crypto.randomUUID().slice(-12)}`;
const root = () => clusterUrls()?.admin ?? "";
const toUrl = (name: string) => Object.assign(new URL(root()), { pathname: `/${name}` }).href;
const drop = (name: string) =>
  withDatabase(root(), (admin) => admin.message(`drop database if exists ${name} with (force)`));
const create = (options = "") =>
  withDatabase(root(), (admin) => admin.message(`create database ${NEXT} ${options}`));
const run = (text: string, name?: string) =>
  withDatabase(name === undefined ? root() : toUrl(name), (admin) =>
    admin.message(`${text}; select 1`),
  );

let folder: string;
const env = () => ({ ADMIN_DATABASE_URL: toUrl(SOURCE) });
const move = (name: string, ...flags: string[]) =>
  runHere(["admin", "move-database", ...flags, "--", name], { folder, env: env() });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rowhouse-target-"));
  await loadOlder(root(), { revision: "54a9feb9", name: SOURCE });
}, 60_000);
afterAll(async () => {
  await drop(NEXT);
  await drop(SOURCE);
  rmSync(folder, { recursive: true, force: true });
});

const listDatabases = () =>
  withDatabase(root(), (admin) =>
    admin.message<{ name: string }>("select datname::text as name from pg_database order by 1"),
  );

/** All that a move could change: definitions, rows, other objects and settings. */
const readWhole = (name: string) =>
  withDatabase(toUrl(name), async (admin) => [
    (await hasTables(admin)) && (await dumpCatalog(admin)),
    await admin.message(
      `select 'database' as kind, pg_database::text as value from pg_database where datname = current_database()
      union all select 'setting', pg_db_role_setting::text from pg_db_role_setting
        where setdatabase = (select oid from pg_database where datname = current_database())
      union all select 'schema', pg_namespace::text from pg_namespace where nspname !~ '^pg_(toast_)?temp_'
      union all select 'relation', pg_class.oid::text || ' ' || relname || ' ' || relfilenode from pg_class where oid >= 16384
      union all select 'function', oid::regprocedure::text from pg_proc where oid >= 16384
      union all select 'operator', oid::regoperator::text from pg_operator where oid >= 16384
      union all select 'cast', pg_cast::text from pg_cast where oid >= 16384
      union all select 'publication', pubname from pg_publication
      union all select 'large object', oid::text from pg_largeobject_metadata
      union all select 'row', xml.value from (select query_to_xml('select * from public.precious', true, false, '')::text
        where to_regclass('public.precious') is not null) as xml (value)
      union all select 'row', xml.value from (select query_to_xml('select * from data.precious', true, false, '')::text
        where to_regclass('data.precious') is not null) as xml (value)
      order by 1, 2`,
    ),
  ]);

const PRECIOUS = "create table public.precious as select 'gold' as metal";
const NESTED = "create table data.precious as select 'gold' as metal";
const MARK = "create schema rowhouse_moving";

const REJECTED: {
  target: string;
  isMigrated?: true;
  sql?: string;
  says: string[];
}[] = [
  { target: "that migrate has just set up", isMigrated: true, says: ["not empty", "rowhouse"] },
  {
    target: "that migrate has set up, with a table and a view of other people",
    isMigrated: true,
    sql: `${NESTED}; create view public.v as select id from rowhouse.apps`,
    says: ["not empty"],
  },
  {
    target: "whose unfinished move has a view of other people",
    isMigrated: true,
    sql: `${MARK}; create view public.v as select id from rowhouse.apps`,
    says: ["not empty", "it has view v."],
  },
  {
    target: "whose unfinished move has a table of other people in its schemas",
    isMigrated: true,
    sql: `${NESTED}; ${MARK}`,
    says: ["not empty", "it has table data.precious."],
  },
  {
    target: "with a mark and a table",
    sql: `${MARK}; ${PRECIOUS}`,
    says: ["it has table precious."],
  },
  { target: "with a table", sql: PRECIOUS, says: ["not empty", "it has table precious."] },
  { target: "of dev", sql: "create schema rowhouse_dev", says: ["schema rowhouse_dev"] },
  { target: "with an empty schema data", sql: "create schema data", says: ["schema data"] },
  {
    target: "with a function",
    sql: "create function public.f() returns integer language sql return 1",
    says: ["it has function f()."],
  },
  {
    target: "with a composite type",
    sql: "create type public.pair as (one text, two text)",
    says: ["pair"],
  },
  { target: "with a publication", sql: "create publication p", says: ["publication p"] },
  {
    target: "with a cast",
    sql: "create cast (text as point) with inout",
    says: ["cast from text to point"],
  },
  { target: "with a large object", sql: "select lo_create(0)", says: ["large object"] },
  {
    target: "with seven tables",
    sql: Array.from({ length: 7 }, (_, number) => `create table public.t${number} ()`).join(";"),
    says: ["table t0", "and 1 more"],
  },
];

describe.each([
  { kind: "a dry run", flags: ["--dry-run"] },
  { kind: "a move", flags: [] as string[] },
])("$kind", ({ flags }) => {
  test.each(REJECTED)(
    "rejects a database $target, and does not change it",
    async ({ isMigrated, sql, says }) => {
      await create();
      try {
        if (isMigrated)
          await runHere(["migrate"], { folder, env: { ADMIN_DATABASE_URL: toUrl(NEXT) } });
        if (sql !== undefined) await run(sql, NEXT);
        const [before, databases] = [await readWhole(NEXT), await listDatabases()];
        const rejected = await move(NEXT, ...flags);
        expect(rejected.code).toBe(1);
        for (const text of says) expect(rejected.err).toContain(text);
        expect(await readWhole(NEXT)).toEqual(before);
        expect(await listDatabases()).toEqual(databases);
      } finally {
        await drop(NEXT);
      }
    },
    60_000,
  );

  test.each(["", MARK])(
    "rejects a database that a session uses: %p",
    async (sql) => {
      await create();
      try {
        await run(sql || "select 1", NEXT);
        const before = await readWhole(NEXT);
        await withDatabase(toUrl(NEXT), async (other) => {
          await other.message("select 1 as one");
          expect(await move(NEXT, ...flags)).toMatchObject({
            code: 1,
            err: expect.stringContaining("in use by"),
          });
        });
        expect(await readWhole(NEXT)).toEqual(before);
      } finally {
        await drop(NEXT);
      }
    },
    60_000,
  );

  test.each([
    { name: "template1", says: "is one of PostgreSQL itself" },
    { name: "template0", says: "is one of PostgreSQL itself" },
    { name: "postgres", says: "is one of PostgreSQL itself" },
    { name: NEXT, set: "is_template = true", says: "is a template" },
    { name: NEXT, set: "allow_connections = false", says: "accepts no connections" },
    { name: SOURCE, says: "name a new one" },
    { name: "", says: "needs a name" },
    { name: "n".repeat(64), says: "more than 63 bytes" },
    { name: "é".repeat(32), says: "more than 63 bytes" },
    { name: "a\nb", says: "control character" },
    { name: "a\u0085b", says: "control character" },
    { name: "..", says: "has no address" },
  ])(
    "rejects the name $name: $says",
    async ({ name, set, says }) => {
      if (set !== undefined) await create(set);
      try {
        const databases = await listDatabases();
        const before = name === "template1" ? await readWhole(name) : undefined;
        const rejected = await move(name, ...flags);
        expect(rejected.code).toBe(1);
        expect(rejected.err).toContain(says);
        expect(rejected.err).not.toContain("Internal");
        if (before !== undefined) expect(await readWhole(name)).toEqual(before);
        expect(await listDatabases()).toEqual(databases);
      } finally {
        if (set !== undefined) {
          await run(`alter database ${NEXT} is_template false`);
          await drop(NEXT);
        }
      }
    },
    60_000,
  );
});

test.each([{ sql: undefined }, { sql: "select 1" }, { sql: MARK }])(
  "a dry run neither creates nor changes a new database that can be used: $sql",
  async ({ sql }) => {
    try {
      if (sql !== undefined) {
        await create();
        await run(sql, NEXT);
      }
      const before = sql === undefined ? [] : await readWhole(NEXT);
      const databases = await listDatabases();
      expect(await move(NEXT, "--dry-run")).toMatchObject({ code: 0 });
      expect(await listDatabases()).toEqual(databases);
      if (sql !== undefined) expect(await readWhole(NEXT)).toEqual(before);
    } finally {
      await drop(NEXT);
    }
  },
  60_000,
);

test("a move starts over in what an unfinished one left", async () => {
  try {
    const moved = await move(NEXT, "--json");
    expect(moved.code).toBe(0);
    await run(`${MARK}; delete from rowhouse.sessions`, NEXT);
    expect(await move(NEXT, "--json")).toEqual(moved);
  } finally {
    await drop(NEXT);
  }
}, 60_000);

test("of two moves to one new name at once, one is completed and the other rejected", async () => {
  try {
    const argv = ["admin", "move-database", NEXT, "--allow-sessions"];
    const ended = await Promise.all([1, 2].map(() => runCommand(argv, { folder, env: env() })));
    expect(ended.map(({ code }) => code).sort()).toEqual([0, 1]);
    for (const { err } of ended) expect(err).not.toMatch(/violated|Internal|^\s+at /m);
  } finally {
    await drop(NEXT);
  }
}, 120_000);

test.each([
  { flags: [] as string[], says: `The database "${NEXT}" cannot be created` },
  { flags: ["--dry-run"], says: 'The database "rowhouse_dry_run_' },
])(
  "an administrator without the right to create databases reads so: $flags",
  async ({ flags, says }) => {
    const login = `creator_${crypto.randomUUID().slice(-12)}`;
    await run(`create role ${login} login createrole password 'secret';
    grant rowhouse_owner, rowhouse_rows to ${login}`);
    try {
      const url = Object.assign(new URL(toUrl(SOURCE)), { username: login, password: "secret" });
      const rejected = await runHere(["admin", "move-database", NEXT, ...flags], {
        folder,
        env: { ADMIN_DATABASE_URL: url.href },
      });
      expect(rejected.code).toBe(1);
      expect(rejected.err).toContain(says);
      expect(rejected.err).toContain("right to create databases");
    } finally {
      await run(`drop role ${login}`);
    }
  },
  60_000,
);

test("sessions of the old database are named, and allowed by a flag", async () => {
  await withDatabase(toUrl(SOURCE), async (other) => {
    await other.message("select 1 as one");
    expect(await move(NEXT, "--dry-run")).toMatchObject({
      code: 1,
      err: expect.stringContaining("--allow-sessions"),
    });
    expect(await move(NEXT, "--dry-run", "--allow-sessions")).toMatchObject({ code: 0 });
  });
}, 60_000);
