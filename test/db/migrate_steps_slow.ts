/** Migrations of a later release, with injected files: applied in order, once, resumably, and without blocking requests. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { MIGRATIONS, type ServiceMigration } from "../../src/db/migrations/mod.ts";
import { MIGRATE_LOCK } from "../../src/db/migrations/roles.ts";
import {
  compareMigrations,
  type Database,
  migrate,
  openDatabase,
  planMigrate,
  type TableLock,
} from "../../src/db/mod.ts";
import { dumpCatalog } from "../support/catalog_dump.ts";
import { makeEmptyDatabase, withDatabase } from "../support/cluster.ts";
import { measureLocks } from "../support/measure_locks.ts";
import { readAll } from "../support/read_all.ts";
import { share } from "../support/share.ts";
import { isFull } from "../support/tier.ts";

/** Migrated once; the tests copy it. */
const original = await share(makeEmptyDatabase());
await withDatabase(original.url, (database) => migrate(database));
let empty: Awaited<ReturnType<typeof makeEmptyDatabase>>;
let admin: Database;
beforeEach(async () => {
  empty = await makeEmptyDatabase(original.url);
  admin = openDatabase({ url: empty.url, connections: 3, prepare: true, name: "rowhouse test" });
});
afterEach(async () => {
  await admin.close();
  await empty.drop();
});

const file = (number: number, name: string, sql: string): ServiceMigration => ({
  number,
  name: `${String(number).padStart(4, "0")}_${name}`,
  sql,
  locks: [],
});

/** With the locks that PostgreSQL takes for them in another database. */
async function measure(files: readonly ServiceMigration[]): Promise<ServiceMigration[]> {
  await using other = await makeEmptyDatabase(original.url);
  return await withDatabase(other.url, async (own) => {
    const measured: ServiceMigration[] = [];
    for (const one of files) measured.push({ ...one, locks: await measureLocks(own, one) });
    return [...MIGRATIONS, ...measured];
  });
}

const ADDED = file(
  9001,
  "column",
  "-- Adds a column.\nalter table rowhouse.throttle add column place text;\ncreate table rowhouse.places (name text primary key);\ninsert into rowhouse.throttle select 'key ' || number, 1, now() from generate_series(1, 25) as numbers (number);",
);
const INDEXED = file(
  9002,
  "index",
  "-- Adds an index.\n-- runs: concurrently\ncreate index concurrently throttle__place__idx on rowhouse.throttle (place);",
);
const FILLED = file(
  9003,
  "fill",
  `-- Fills the column.
-- runs: in batches
update rowhouse.throttle set place = 'unknown; so far'
where key in (select key from rowhouse.throttle where place is null order by key limit 4);`,
);
const LATER = [...MIGRATIONS, ADDED, INDEXED, FILLED];
const NAMES = [ADDED, INDEXED, FILLED].map(({ name }) => name);

const readFilled = () =>
  readAll<{ filled: number; valid: boolean[] }>(
    admin,
    `select (select count(*) from rowhouse.throttle where place = 'unknown; so far')::int as filled,
      (select json_agg(indisvalid) from pg_index where indexrelid = to_regclass('rowhouse.throttle__place__idx')) as valid`,
  );
const DONE = [{ filled: 25, valid: [true] }];

test("are applied in order, once", async () => {
  const lines: string[] = [];
  const runs = await Promise.all(
    [1, 2].map(() =>
      migrate(admin, { migrations: LATER, report: (line) => void lines.push(line) }),
    ),
  );
  expect(runs.flatMap(({ applied }) => applied).sort()).toEqual(NAMES);
  expect(await readFilled()).toEqual(DONE);
  expect((await migrate(admin, { migrations: LATER })).applied).toEqual([]);
  const record = await readAll<{ name: string }>(
    admin,
    "select name from rowhouse.service_migrations where number >= 9000 order by number",
  );
  expect(record.map(({ name }) => name)).toEqual(NAMES);
});

const STARTS = [
  // A reduced run ends after every third message of the set-up.
  { start: "an empty database", from: undefined, migrations: MIGRATIONS, step: isFull() ? 1 : 3 },
  { start: "an earlier release", from: original.url, migrations: LATER, step: 1 },
];

test.each(STARTS)(
  "of $start that end after any message are completed by the next run",
  async ({ from, migrations, step }) => {
    for (let sent = 0; ; sent += step) {
      await using other = await makeEmptyDatabase(from);
      const isDone = await withDatabase(other.url, async (own) => {
        let left = sent;
        const killed: Database = {
          ...own,
          message: async (...call) => {
            if (left-- === 0) throw new Error("killed");
            return await own.message(...call);
          },
        };
        const first = await migrate(killed, { migrations }).catch(() => undefined);
        await migrate(own, { migrations });
        const [state] = await readAll(
          own,
          `select count(*)::int as numbers, (select digest <> '' from rowhouse.code) as code,
          (select indisvalid from pg_index where indexrelid = to_regclass('rowhouse.throttle__place__idx')) as valid
        from rowhouse.service_migrations`,
        );
        const valid = migrations === LATER ? true : null;
        expect(state).toEqual({ numbers: migrations.length, code: true, valid });
        return first !== undefined;
      });
      if (isDone) break;
      expect(sent).toBeLessThan(40);
    }
  },
  600_000,
);

test("replace an index whose build was interrupted", async () => {
  await migrate(admin, { migrations: [...MIGRATIONS, ADDED] });
  await admin.message("update rowhouse.throttle set place = 'same'; select 1");
  const build = admin.message(
    "create unique index concurrently throttle__place__idx on rowhouse.throttle (place)",
  );
  await expect(build).rejects.toThrow();
  expect(await readFilled()).toEqual([{ filled: 0, valid: [false] }]);

  await migrate(admin, { migrations: [...MIGRATIONS, ADDED, INDEXED] });
  expect(await readFilled()).toEqual([{ filled: 0, valid: [true] }]);
});

test("that fail leave the database as it was", async () => {
  const before = await dumpCatalog(admin);
  const broken = file(9001, "broken", `${ADDED.sql}\nselect 1 / 0;`);
  await expect(migrate(admin, { migrations: [...MIGRATIONS, broken] })).rejects.toThrow();
  expect(await dumpCatalog(admin)).toEqual(before);
  expect((await compareMigrations(admin)).missing).toEqual([]);
});

test("with another text than the applied one are an error that names the number", async () => {
  await migrate(admin, { migrations: [...MIGRATIONS, ADDED] });
  const edited = { ...ADDED, sql: `${ADDED.sql} -- edited` };
  const before = await dumpCatalog(admin);
  await expect(migrate(admin, { migrations: [...MIGRATIONS, edited] })).rejects.toThrow(
    "another text of migration 9001",
  );
  expect(await dumpCatalog(admin)).toEqual(before);
});

type Task = (end: () => Promise<void>) => Promise<void>;

/** Runs `task` while another transaction holds the locks of `statement`; `end` ends that transaction. */
async function whileLocked(statement: string, task: Task) {
  const holder = admin
    .message(`${statement}; select pg_sleep(120)`, { timeoutMs: 120_000, queue: "holder" })
    .catch(() => undefined);
  const activity = `from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
  const end = async () => {
    await readAll(admin, `select pg_cancel_backend(pid) ${activity}`);
    await holder;
  };
  while ((await readAll(admin, `select ${activity}`)).length === 0);
  await task(end).finally(end);
}

describe("while a long transaction reads a table", () => {
  const whileRead = (tables: string[], task: Task) =>
    whileLocked(`lock table ${tables.join(", ")} in access share mode`, task);

  test("a migration waits in short steps, and requests do not wait behind it", async () => {
    await whileRead(["rowhouse.throttle"], async (end) => {
      let reads = 0;
      const { applied } = await migrate(admin, {
        migrations: [...MIGRATIONS, ADDED],
        report: (line) => {
          if (!line.startsWith("Waiting")) return;
          void readAll(admin, "select count(*) from rowhouse.throttle").then(async () => {
            reads += 1;
            await end();
          });
        },
      });
      expect(applied).toEqual([ADDED.name]);
      expect(reads).toBe(1);
    });
  });

  test("an upgrade that cannot lock a table changes nothing, also not its earlier files", async () => {
    const first = file(9001, "first", "create table rowhouse.places (name text primary key);");
    const second = file(9002, "second", "alter table rowhouse.throttle add column place text;");
    const before = await dumpCatalog(admin);
    await whileRead(["rowhouse.throttle"], async () => {
      let waits = 0;
      const failing: Database = {
        ...admin,
        message: (...call) => {
          if (waits > 0) throw new Error("ended");
          return admin.message(...call);
        },
      };
      const run = migrate(failing, {
        migrations: [...MIGRATIONS, first, second],
        report: () => {
          waits += 1;
        },
      });
      await expect(run).rejects.toThrow("ended");
    });
    expect(await dumpCatalog(admin)).toEqual(before);
  });

  test("code is renewed without waiting, if no trigger or policy of the table changes", async () => {
    const tables = await readAll<{ name: string }>(
      admin,
      "select oid::regclass::text as name from pg_class where relnamespace = 'rowhouse'::regnamespace and relkind = 'r'",
    );
    await admin.message(`drop function rowhouse.list_origins();
      grant update on rowhouse.apps to rowhouse_service;
      update rowhouse.code set digest = 'sha256:0'; select 1`);
    await whileRead(
      tables.map(({ name }) => name),
      async () => {
        const lines: string[] = [];
        const { code } = await migrate(admin, { report: (line) => void lines.push(line) });
        expect(code?.functions).toEqual({ "rowhouse.list_origins()": "new" });
        expect(lines).toEqual([]);
      },
    );
  });
});

test("are listed with their locks before they run", async () => {
  const before = await dumpCatalog(admin);
  const migrations = await measure([ADDED, INDEXED, FILLED]);
  expect(await planMigrate(admin, { migrations })).toEqual({
    later: undefined,
    code: undefined,
    files: [
      {
        name: "9001_column",
        runs: "in one transaction",
        locks: [
          {
            table: "rowhouse.throttle",
            mode: "ACCESS EXCLUSIVE",
            blocks: "reads and writes",
            isLong: true,
          },
        ],
      },
      {
        name: "9002_index",
        runs: "concurrently",
        locks: [
          {
            table: "rowhouse.throttle",
            mode: "SHARE UPDATE EXCLUSIVE",
            blocks: "nothing",
            isLong: true,
          },
        ],
      },
      {
        name: "9003_fill",
        runs: "in batches",
        locks: [
          { table: "rowhouse.throttle", mode: "ROW EXCLUSIVE", blocks: "nothing", isLong: true },
        ],
      },
    ],
  });
  expect(await dumpCatalog(admin)).toEqual(before);
});

describe("are planned", () => {
  const REFERRING = file(
    9001,
    "reference",
    `create table rowhouse.notes (app_id uuid primary key references rowhouse.apps (id) on delete cascade,
      parent uuid references rowhouse.notes (app_id));
    create index notes__parent__idx on rowhouse.notes (parent);`,
  );

  test.each([
    { name: "reads", mode: "access share", added: ADDED, table: "throttle" },
    { name: "writes", mode: "row exclusive", added: REFERRING, table: "apps" },
  ])("while a long transaction $name a table that they lock", async ({ mode, added, table }) => {
    const before = await dumpCatalog(admin);
    const migrations = await measure([added]);
    await whileLocked(`lock table rowhouse.${table} in ${mode} mode`, async () => {
      const { files, code } = await planMigrate(admin, { migrations });
      expect(files[0]?.locks[0]?.table).toBe(`rowhouse.${table}`);
      expect(code).toBeUndefined();
    });
    expect(await dumpCatalog(admin)).toEqual(before);
  });

  test("before the code, if it needs a file that locks a table", async () => {
    await admin.message("drop table rowhouse.changes cascade; select 1");
    const written = file(9001, "written", "update rowhouse.apps set slug = slug;");
    const { code } = await planMigrate(admin, { migrations: await measure([written]) });
    expect(code).toEqual({ changes: null, locks: [] });
  });

  test.each<{ sql: string; lock: TableLock }>([
    {
      sql: "drop index rowhouse.audit__at__idx;",
      lock: {
        table: "rowhouse.audit",
        mode: "ACCESS EXCLUSIVE",
        blocks: "reads and writes",
        isLong: false,
      },
    },
    {
      sql: "truncate rowhouse.nonces;",
      lock: {
        table: "rowhouse.nonces",
        mode: "ACCESS EXCLUSIVE",
        blocks: "reads and writes",
        isLong: true,
      },
    },
    {
      sql: "do $$ begin lock table rowhouse.apps in exclusive mode; end $$;",
      lock: { table: "rowhouse.apps", mode: "EXCLUSIVE", blocks: "writes", isLong: false },
    },
    {
      sql: "alter table rowhouse.audit alter column action set not null, add check (action <> '');",
      lock: {
        table: "rowhouse.audit",
        mode: "ACCESS EXCLUSIVE",
        blocks: "reads and writes",
        isLong: true,
      },
    },
    {
      sql: "alter table rowhouse.throttle alter column attempts type bigint;",
      lock: {
        table: "rowhouse.throttle",
        mode: "ACCESS EXCLUSIVE",
        blocks: "reads and writes",
        isLong: true,
      },
    },
  ])("with the locks that PostgreSQL takes: $sql", async ({ sql, lock }) => {
    const migrations = await measure([file(9001, "any", sql)]);
    const { files } = await planMigrate(admin, { migrations });
    expect(files.map(({ locks }) => locks)).toEqual([[lock]]);
  });

  test.each([
    {
      name: "another migrate",
      holds: `do $$ begin perform ${MIGRATE_LOCK}; end $$`,
      says: "Another rowhouse migrate is running: try again when it has ended",
    },
    {
      name: "a lock",
      holds: "lock table rowhouse.targets in access exclusive mode",
      says: "Cannot list the steps: another transaction has locked rowhouse.targets; end it (pg_stat_activity), then try again",
    },
  ])("only without $name", async ({ holds, says }) => {
    await admin.message("update rowhouse.code set digest = 'sha256:0'; select 1");
    await whileLocked(holds, async () => {
      await expect(planMigrate(admin, { patienceMs: 100 })).rejects.toThrow(says);
    });
  });
});
