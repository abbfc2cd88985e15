import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FUNCTIONS } from "../../src/db/citus/functions.ts";
import { type Cluster, startCluster } from "../../src/db/embedded/mod.ts";
import { MIGRATIONS } from "../../src/db/migrations/mod.ts";
import { ROLE_NAMES } from "../../src/db/migrations/roles.ts";
import { ANCHOR, RELEASE, readDialect, readRows, showRelease } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { dumpCatalog } from "../support/catalog_dump.ts";
import {
  makeDatabase,
  makeEmptyDatabase,
  SUPERUSER_SQL,
  withDatabase,
} from "../support/cluster.ts";
import { makeProject, runHere } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const project = await share(makeProject());
const database = await share(makeEmptyDatabase());

const migrate = (env: Record<string, string>, ...words: string[]) =>
  runHere(["migrate", ...words], { ...project, env });

/** Records in public.seen whether Citus would send a statement of this database to its nodes. */
const SEE = `
  create table public.seen (setting text);
  create function public.see() returns event_trigger language plpgsql security definer as $$
  begin
    insert into public.seen values (current_setting('citus.enable_ddl_propagation', true));
  end
  $$;
  create event trigger see on ddl_command_start execute function public.see();
  select 1`;

test("simultaneous runs apply each migration once, only on this server, and a later run changes nothing", async () => {
  await withDatabase(database.url, (admin) => admin.message(SEE));
  const env = { ADMIN_DATABASE_URL: database.url };
  const runs = await Promise.all([1, 2, 3].map(() => migrate(env, "--json")));
  expect(runs.map(({ code, err }) => [code, err])).toEqual(runs.map(() => [0, ""]));
  const applied = runs.flatMap(({ out }) => (JSON.parse(out) as { applied: string[] }).applied);
  expect(applied.length).toBeGreaterThan(0);
  expect(new Set(applied).size).toBe(applied.length);
  const seen = await withDatabase(database.url, (admin) =>
    readRows(admin, "select distinct setting from public.seen"),
  );
  expect(seen).toEqual([{ setting: "off" }]);
  expect(await migrate(env)).toEqual({ code: 0, out: "Nothing to do\n", err: "" });
});

describe("a database of another release", () => {
  const OURS = showRelease(RELEASE);
  const NUMBERS = MIGRATIONS.map(({ number }) => number);
  const NEWEST = `was upgraded by Rowhouse 9.1.0 (tables 9000), which does not let ${OURS} use it`;
  const UNKNOWN = `was upgraded by Rowhouse unknown (tables 9000), which does not let ${OURS} use it: install the release that upgraded it, or restore the backup from before the upgrade (docs/operating.md)`;
  const LATER =
    "insert into rowhouse.service_migrations (number, name, checksum) values (9000, 'later', 'sha256:0')";
  const edit = (number: number) =>
    `update rowhouse.service_migrations set checksum = 'sha256:0' where number = ${number}`;
  /** What the commands say, and what happened. */
  const BASELINES: Readonly<Record<string, readonly [says: string, sql: string]>> = {
    "a build before the first release": [
      "was set up by a build before 0.1.0, and cannot be upgraded: set up a new database, or run rowhouse dev --reset if it is the embedded database of rowhouse dev and its rows are not needed",
      edit(1),
    ],
    "an edited migration": [
      "has another text of migration 2 than this release: use the release that applied it, or a later one: an applied file never changes",
      edit(2),
    ],
    "a missing record": [
      `has migrations ${NUMBERS.filter((number) => number !== 2).join(", ")} without 2: its record was changed, so restore rowhouse.service_migrations from a backup (docs/operating.md)`,
      "delete from rowhouse.service_migrations where number = 2",
    ],
    "a later release whose record has no versions": [
      UNKNOWN,
      `${LATER}; update rowhouse.code set version = '9.1.0;reboot', tables = 9000, compatible_from = '$(reboot)'`,
    ],
    "a later release": [
      `${NEWEST}: install 8.0.0 (tables 8000) or later, or restore the backup from before the upgrade (docs/operating.md)`,
      `${LATER}; update rowhouse.code set version = '9.1.0', tables = 9000, compatible_from = '8.0.0', compatible_tables = 8000`,
    ],
    "an unknown release": [UNKNOWN, `${LATER}; delete from rowhouse.code`],
  };
  const COMMANDS = [["migrate"], ["migrate", "--dry-run"], ["serve"], ["admin", "list-apps"]];
  const readRecord = (url: string) =>
    withDatabase(url, (admin) =>
      readRows(admin, "select * from rowhouse.service_migrations order by number"),
    );

  test.each(Object.entries(BASELINES))(
    "by %s is rejected in one sentence with the next step",
    async (_, [says, sql]) => {
      await using other = await makeDatabase();
      await withDatabase(other.adminUrl, (admin) => admin.message(`${sql}; select 1`));
      const record = await readRecord(other.adminUrl);
      const env = {
        ADMIN_DATABASE_URL: other.adminUrl,
        DATABASE_URL: other.servingUrl,
        DATABASE_PREPARE: other.prepare ? "on" : "off",
        IDENTITY_SECRET: TEST_IDENTITY_SECRET,
        PORT: "0",
      };
      const runs = COMMANDS.map((words) => runHere(words, { ...project, env }));
      expect(await Promise.all(runs)).toEqual(
        COMMANDS.map(() => ({ code: 1, out: "", err: `This database ${says}\n` })),
      );
      expect(await readRecord(other.adminUrl)).toEqual(record);
    },
  );
});

describe("a database of a later release that lets this one serve", () => {
  test("is used, and not changed by migrate", async () => {
    await using later = await makeDatabase();
    const read = () => withDatabase(later.adminUrl, dumpCatalog);
    await withDatabase(later.adminUrl, (admin) =>
      admin.message(`insert into rowhouse.service_migrations (number, name, checksum) values (9000, '9000_later', 'sha256:0');
          create or replace function rowhouse.list_origins() returns table (slug text, app_id uuid, origin text, is_disabled boolean)
            language sql as $$ select 'later', null::uuid, 'later', false $$;
          update rowhouse.code set version = '9.1.0', tables = 9000, digest = 'sha256:0'; select 1`),
    );
    const before = await read();
    const env = { ADMIN_DATABASE_URL: later.adminUrl, DATABASE_URL: later.servingUrl };
    const says =
      "Nothing to do: the database was upgraded by Rowhouse 9.1.0 (tables 9000), which lets this release serve\n";
    expect(await migrate(env)).toEqual({ code: 0, out: says, err: "" });
    expect(await migrate(env, "--dry-run")).toEqual({ code: 0, out: says, err: "" });
    expect(await runHere(["admin", "list-apps"], { ...project, env })).toMatchObject({ code: 0 });
    const doctor = await runHere(["doctor"], { ...project, env });
    expect(doctor.out).toContain("the database was upgraded by Rowhouse 9.1.0 (tables 9000)");
    expect(await read()).toEqual(before);
  });
});

describe("migrate --dry-run", () => {
  test("lists every step for an empty database, and changes nothing", async () => {
    await using empty = await makeEmptyDatabase();
    const env = { ADMIN_DATABASE_URL: empty.url };
    const { code, out } = await migrate(env, "--dry-run");
    expect(code).toBe(0);
    expect(out).toContain(
      "0001_first_release, in one transaction: locks no table in use\n0002_code, in one transaction: locks no table in use\n",
    );
    expect(out).toContain("\n  new function rowhouse.list_origins()\n");
    const { files, code: planned } = JSON.parse((await migrate(env, "--dry-run", "--json")).out);
    expect(files).toHaveLength(MIGRATIONS.length);
    expect(Object.keys(planned.changes.functions).length).toBeGreaterThan(300);
    const schemas = await withDatabase(empty.url, (admin) =>
      readRows(admin, "select from pg_namespace where nspname = 'rowhouse'"),
    );
    expect(schemas).toEqual([]);
  });

  test("lists what differs in the code, and nothing after migrate", async () => {
    await using other = await makeDatabase();
    const env = { ADMIN_DATABASE_URL: other.adminUrl };
    expect(await migrate(env, "--dry-run")).toEqual({ code: 0, out: "Nothing to do\n", err: "" });
    await withDatabase(other.adminUrl, (admin) =>
      admin.message(`drop function rowhouse.list_origins(); drop trigger raise_version on rowhouse.apps;
          update rowhouse.code set digest = 'sha256:0'; select 1`),
    );
    const listed = `the service's functions and rights, in one transaction: locks rowhouse.apps (SHARE ROW EXCLUSIVE), which blocks writes, for milliseconds
  new function rowhouse.list_origins()
  new trigger apps.raise_version
  3 rights granted, 0 revoked
`;
    expect(await migrate(env, "--dry-run")).toEqual({ code: 0, out: listed, err: "" });
    expect((await migrate(env)).out).toBe("Renewed the service's functions and rights\n");
    expect((await migrate(env, "--dry-run")).out).toBe("Nothing to do\n");
  });
});

test("a dry run lists tables by the function of an earlier build, which reads no views and uses", async () => {
  await using service = await openTestService();
  await service.makeApp(defineSchema({ items: { title: t.string() } }));
  const { adminUrl } = service.database;
  await withDatabase(adminUrl, (admin) =>
    admin.message(`do $$ begin
      execute replace(replace(pg_get_functiondef('rowhouse.read_generated'::regproc),
        '''views''', '''later'''), '''uses''', '''latest''');
      execute (select replace(pg_get_functiondef(oid), '-- The endpoint', '-- An endpoint')
        from pg_proc where proname like 'items\\_\\_%\\_get');
      update rowhouse.code set digest = 'sha256:0';
    end $$; select 1`),
  );
  const dry = await migrate({ ADMIN_DATABASE_URL: adminUrl }, "--dry-run");
  expect([dry.code, dry.err]).toEqual([0, ""]);
  expect(dry.out).toContain("\n  changed function rowhouse.read_generated");
  expect(dry.out).toContain("\nfunctions of table items: locks no table\n");
});

test("simultaneous dry runs and migrate wait for each other", async () => {
  await using other = await makeDatabase();
  const env = { ADMIN_DATABASE_URL: other.adminUrl };
  await withDatabase(other.adminUrl, (admin) =>
    admin.message("update rowhouse.code set digest = 'sha256:0'; select 1"),
  );
  const runs = [["--dry-run"], ["--dry-run"], []];
  const outcomes = await Promise.all(runs.map((words) => migrate(env, ...words)));
  expect(outcomes.map(({ code, err }) => [code, err])).toEqual(runs.map(() => [0, ""]));
});

test.each([[], ["--dry-run"]])(
  "a database that allows only reads is named, %p",
  async (...words) => {
    await using other = await makeDatabase();
    await withDatabase(other.adminUrl, (admin) =>
      admin.message(`update rowhouse.code set digest = 'sha256:0'; do $$ begin
      execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$; select 1`),
    );
    const { code, err } = await migrate({ ADMIN_DATABASE_URL: other.adminUrl }, ...words);
    const says = "PostgreSQL allows only reads: connect to the primary server, or turn off";
    expect(err).toStartWith(`${says} default_transaction_read_only of the database "`);
    expect(code).toBe(1);
  },
);

test("a restored dump of a distributed database becomes a database of a single PostgreSQL", async () => {
  await using other = await makeDatabase();
  const env = { ADMIN_DATABASE_URL: other.adminUrl };
  await withDatabase(other.adminUrl, async (admin) => {
    const readFunctions = () =>
      readRows(
        admin,
        `select pg_get_functiondef(oid) as text, proowner::regrole::text as owner, proacl::text as grants
        from pg_proc where pronamespace = 'rowhouse'::regnamespace order by oid::regprocedure::text`,
      );
    const before = await readFunctions();
    await admin.message(
      `create table ${ANCHOR} (app_id uuid primary key); alter table ${ANCHOR} owner to rowhouse_owner; ${FUNCTIONS}; select 1`,
    );
    expect(await readFunctions()).not.toEqual(before);
    const rejections = [
      { words: ["migrate", "--citus"], says: "run rowhouse migrate without --citus first" },
      { words: ["admin", "convert-to-citus"], says: "run rowhouse migrate first" },
    ];
    for (const { words, says } of rejections)
      expect((await runHere(words, { ...project, env })).err).toContain(says);

    const { code, out } = await migrate(env);

    expect([code, out]).toEqual([
      0,
      expect.stringContaining("is now a plain PostgreSQL database\n"),
    ]);
    expect(await readFunctions()).toEqual(before);
    expect((await readDialect(admin)).hasNodes).toBe(false);
  });
  expect(await migrate(env)).toMatchObject({ code: 0, out: "Nothing to do\n" });
});

describe("a database error is reported in one message with the next step", () => {
  const web = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("") });
  afterAll(() => web.stop(true));
  const PORT = String(web.port);
  test.each(
    Object.entries<[parts: Partial<URL>, says: string, exits?: number]>({
      away: [
        { port: "1" },
        "Cannot reach PostgreSQL at 127.0.0.1:1: start it, or correct ADMIN_DATABASE_URL",
      ],
      "a host that does not exist": [
        { hostname: "nohost.invalid" },
        "its host is unknown: correct the host in ADMIN_DATABASE_URL",
      ],
      "a server that is no PostgreSQL": [
        { port: PORT },
        "it closed the connection: try again, check that it is PostgreSQL",
      ],
      "a server without TLS": [
        { port: PORT, search: "?sslmode=require" },
        "that sslmode in ADMIN_DATABASE_URL is what it accepts",
      ],
      "a wrong password": [{ password: "hunter2" }, "rejects the password of the role", 1],
      "a missing database": [
        { pathname: "/not_there" },
        'Database "not_there" does not exist: create it, or correct ADMIN_DATABASE_URL',
        1,
      ],
    }),
  )("%s", async (_, [parts, says, exits = 69]) => {
    const url = Object.assign(new URL(database.url), parts).href;
    const outcome = await migrate({ ADMIN_DATABASE_URL: url });
    expect(outcome.err).toContain(says);
    expect([outcome.code, outcome.out]).toEqual([exits, ""]);
    expect(outcome.err.trim()).not.toContain("\n");
    expect(outcome.err).not.toContain("hunter2");
  });
});

describe("without a superuser", () => {
  let cluster: Cluster;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "rowhouse-managed-"));
    chmodSync(folder, 0o755);
    cluster = await startCluster({ dataDir: join(folder, "postgres"), durable: false });
  });
  afterAll(async () => {
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const asRole = (role: string, name: string) => {
    const url = new URL(cluster.url);
    url.username = role;
    url.password = "pw";
    url.pathname = `/${name}`;
    return url.href;
  };

  test("CREATEROLE and the database's ownership are sufficient", async () => {
    await withDatabase(cluster.url, async (root) => {
      await root.message("create role managed_admin login createrole password 'pw'");
      await root.message("alter role managed_admin set createrole_self_grant = 'set, inherit'");
      await root.message("create database managed owner managed_admin");
      await root.message("create role poor_admin login password 'pw'");
      await root.message("create database poor");
    });
    const admin = asRole("managed_admin", "managed");
    await withDatabase(admin, async (managed) => {
      await managed.message("create role managed_login login password 'pw'");
    });
    const env = { ADMIN_DATABASE_URL: admin, DATABASE_URL: asRole("managed_login", "managed") };
    const first = await migrate(env);
    expect(first).toMatchObject({ code: 0, err: "" });
    expect(first.out).toContain('The role "managed_login" can serve\n');
    expect((await migrate(env)).code).toBe(0);
    expect(
      await withDatabase(admin, (managed) =>
        readRows(managed, "select rowhouse.find_issues() as issues"),
      ),
    ).toEqual([{ issues: [] }]);
    await withDatabase(env.DATABASE_URL, async (login) => {
      const rows = await readRows(login, "select name from rowhouse.versions");
      expect(rows.length).toBeGreaterThan(0);
    });
  });

  test("superuser.sql leaves the lock of migrate to the owner of the database, also before the first migrate", async () => {
    const roles = ROLE_NAMES.map(
      (role) => `grant ${role} to second_admin with admin true, inherit false, set false`,
    );
    await withDatabase(cluster.url, async (root) => {
      await root.message("create role second_admin login createrole password 'pw'");
      await root.message(`${roles.join("; ")}; select 1`);
      await root.message("create database second owner second_admin");
    });
    const second = asRole("second_admin", "second");
    const ofRoot = new URL(second);
    ofRoot.username = new URL(cluster.url).username;
    ofRoot.password = new URL(cluster.url).password;
    await withDatabase(ofRoot.href, (root) =>
      root.message(`${readFileSync(SUPERUSER_SQL, "utf8")}; select 1`),
    );
    for (let run = 1; run <= 2; run++)
      expect(await migrate({ ADMIN_DATABASE_URL: second })).toMatchObject({ code: 0, err: "" });
  });

  test("distributing rows lists the missing superuser right with all other missing requirements", async () => {
    const rejected = await convert();
    expect([rejected.code, rejected.out]).toEqual([1, ""]);
    expect(rejected.err.trim().split("\n")).toEqual([
      "Cannot distribute this database:",
      "  The role of ADMIN_DATABASE_URL must be a superuser: it sets up roles on every node",
      expect.stringMatching(/^ {2}The extension citus is missing/),
    ]);
  });

  test("distributing rows rejects a database with a table that no push created", async () => {
    const admin = asRole("managed_admin", "managed");
    await withDatabase(admin, (managed) =>
      managed.message("create table data.stray (id uuid); select 1"),
    );
    const rejected = await convert();
    await withDatabase(admin, (managed) => managed.message("drop table data.stray; select 1"));
    expect([rejected.code, rejected.out]).toEqual([1, ""]);
    expect(rejected.err).toContain("data.stray must have row security");
  });

  const convert = () =>
    runHere(["admin", "convert-to-citus", "--yes"], {
      ...project,
      env: { ADMIN_DATABASE_URL: asRole("managed_admin", "managed") },
    });

  test("a role's login can be set up without the settings of that role's process", async () => {
    const admin = asRole("managed_admin", "managed");
    for (const ROLE of ["gateway", "data", "identity"]) {
      const login = `managed_${ROLE}`;
      await withDatabase(admin, (managed) =>
        managed.message(`create role ${login} login password 'pw'`),
      );
      const env = { ADMIN_DATABASE_URL: admin, DATABASE_URL: asRole(login, "managed"), ROLE };
      const { code, out, err } = await migrate(env);
      expect([code, err]).toEqual([0, ""]);
      expect(out).toContain(`The role "${login}" can serve\n`);
      const served = await runHere(["serve"], { ...project, env });
      expect(served.code).toBe(1);
      expect(served.err).toContain(`must be set when ROLE is ${ROLE}`);
    }
    // As in docs/operating.md.
    await withDatabase(admin, async (managed) => {
      await managed.message("create role managed_push login password 'pw'");
      await managed.message("grant rowhouse_tables to managed_push");
    });
  });

  test("a role without rights is rejected with a list of the missing rights", async () => {
    const { code, err } = await migrate({ ADMIN_DATABASE_URL: asRole("poor_admin", "poor") });
    expect(err).toContain('The role "poor_admin" of ADMIN_DATABASE_URL lacks rights');
    expect([code, err.trim().includes("\n")]).toEqual([1, false]);
  });

  test("a missing login is named", async () => {
    const { code, err } = await migrate({
      ADMIN_DATABASE_URL: cluster.url,
      DATABASE_URL: asRole("nobody_here", "postgres"),
    });
    expect(err).toContain('The role "nobody_here" of DATABASE_URL does not exist: create it');
    expect(code).toBe(1);
  });
});
