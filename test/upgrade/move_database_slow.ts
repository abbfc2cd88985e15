/** `rowhouse admin move-database`: databases of older baselines, with everything that apps and people rely on. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adminMoveDatabaseCommands } from "../../src/cli/admin/move_database.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { dumpCatalog } from "../support/catalog_dump.ts";
import { clusterUrls, PUSH_LOGIN, withDatabase } from "../support/cluster.ts";
import { runCommand, runHere, startCommand } from "../support/command.ts";
import {
  type DebianCluster,
  hasDebianPostgres,
  startDebianCluster,
} from "../support/debian_cluster.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { type Jar, submitSignIn, visit } from "../support/people.ts";
import { enterFactor, makeAuthenticator } from "../support/second_factor.ts";
import { openTestService } from "../support/service.ts";
import { findMisfitsOf } from "../support/tour/commands.ts";
import { loadOlder, OLDER, type OlderFacts } from "./older.ts";

const NEXT = "rowhouse_next";
/** The commands of the help's example. */
const COMMANDS = (adminMoveDatabaseCommands[0]?.example ?? "")
  .split("\n")
  .map((line) => line.split(" ").slice(1));

let folder: string;
let debian: DebianCluster | undefined;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rowhouse-move-"));
  if (hasDebianPostgres) debian = await startDebianCluster({ password: crypto.randomUUID() });
}, 60_000);
afterAll(async () => {
  await debian?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const inDatabase = (url: string, name: string) =>
  Object.assign(new URL(url), { pathname: `/${name}` }).href;
const drop = (root: string, name: string) =>
  withDatabase(root, (admin) => admin.message(`drop database if exists ${name} with (force)`));
const move = (url: string, ...flags: string[]) =>
  runHere(["admin", "move-database", NEXT, ...flags], { folder, env: { ADMIN_DATABASE_URL: url } });

/** All rows of a database as one digest. */
async function digest(url: string): Promise<string> {
  return await withDatabase(url, async (admin) => {
    const tables = await admin.message<{ name: string }>(
      `select format('%I.%I', nspname, relname) as name from pg_class
      join pg_namespace on pg_namespace.oid = relnamespace
      where nspname in ('rowhouse', 'data') and relkind = 'r' order by 1`,
    );
    const digests = [];
    for (const { name } of tables)
      digests.push(
        ...(await admin.message(
          `select '${name}' as name, count(*) as rows, md5(string_agg(t::text, '|' order by t::text)) from ${name} as t`,
        )),
      );
    return JSON.stringify(digests);
  });
}

describe.each([{ server: "15" }, { server: "of the run" }])(
  "on PostgreSQL $server",
  ({ server }) => {
    const root = () => (server === "15" ? debian?.url : clusterUrls()?.admin) ?? "";

    test.each(OLDER.map((revision) => ({ revision })))(
      "a database of $revision keeps its rows, keys, passwords, factors and sessions",
      async ({ revision }) => {
        if (root() === "") return;
        const name = `older_${revision}`;
        const { url, facts } = await loadOlder(root(), { revision, name });
        try {
          const before = await digest(url);
          const rejected = await runHere(["admin", "list-apps"], {
            folder,
            env: { ADMIN_DATABASE_URL: url },
          });
          if (revision !== "7aa4ae30")
            expect(rejected.err).toContain("rowhouse admin move-database");
          expect(COMMANDS).toHaveLength(2);
          const [dryRun = [], run = []] = COMMANDS;
          const env = { ADMIN_DATABASE_URL: url };
          const planned = await runHere([...dryRun, "--json"], { folder, env });
          expect(JSON.parse(planned.out)).toMatchObject({ from: name, isDryRun: true });
          const moved = await runHere([...run, "--json"], { folder, env });
          expect(moved).toMatchObject({ code: 0 });
          const ran = { name: "admin move-database", argv: run.slice(1), outcome: moved };
          expect(await findMisfitsOf([ran])).toEqual([]);
          expect(JSON.parse(moved.out).tables).toEqual(JSON.parse(planned.out).tables);
          expect(await digest(url)).toBe(before);
          await compareWithFresh(root());
          await serveMoved(root(), facts);
          expect(await move(url)).toMatchObject({
            code: 1,
            err: expect.stringContaining("not empty"),
          });
        } finally {
          await drop(root(), NEXT);
          await drop(root(), name);
        }
      },
      120_000,
    );
  },
);

describe("of an older database", () => {
  const root = () => clusterUrls()?.admin ?? "";
  let url: string;
  let name: string;
  beforeEach(async () => {
    name = `older_${crypto.randomUUID().slice(-12)}`;
    ({ url } = await loadOlder(root(), { revision: "54a9feb9", name }));
  }, 60_000);
  afterEach(async () => {
    await drop(root(), NEXT);
    await drop(root(), name);
  });
  const run = (text: string, at = url) =>
    withDatabase(at, (admin) => admin.message<Record<string, unknown>>(`${text}; select 1`));

  // Each runs when its table is read, written, planned or defined.
  test("code in the schemas data and api runs only with the rights of a login that can push", async () => {
    await withDatabase(url, (admin) =>
      admin.message(`set role rowhouse_tables;
      create table data.ran (login text, is_strong boolean);
      grant all on data.ran to public;
      create function data.evil(value text) returns text language plpgsql volatile as $evil$ begin
        insert into data.ran select session_user, rolsuper or rolcreaterole or rolbypassrls
          from pg_catalog.pg_roles where rolname = session_user;
        begin execute format('alter role %I superuser', '${PUSH_LOGIN}'); exception when others then null; end;
        begin execute 'select count(*) from rowhouse.users'; insert into data.ran values ('read people', true);
          exception when others then null; end;
        return value;
      end $evil$;
      create function data.evil_trigger() returns trigger language plpgsql as $evil$ begin
        perform data.evil('trigger'); return new; end $evil$;
      create function data.is_evil(value text) returns boolean language sql immutable as $evil$
        select data.evil(value) is not null $evil$;
      create trigger evil before insert or update on data.todos for each row execute function data.evil_trigger();
      alter table data.todos add constraint planted check (data.is_evil(title)) not valid;
      alter table data.projects alter column name set default data.evil('default');
      create index evil on data.projects ((data.is_evil(name)));
      create operator data.=== (leftarg = text, rightarg = text, function = pg_catalog.texteq);
      create type data.mood as enum ('a');
      create function data.to_mood(value text) returns data.mood language sql as $evil$ select data.evil(value); select 'a'::data.mood $evil$;
      create cast (text as data.mood) with function data.to_mood(text) as implicit;
      alter table data.only_beta rename to real_beta;
      create view data.only_beta as select app_id, id, data.evil(note) as note from data.real_beta;
      create function api.evil() returns text language sql security definer as $evil$ select data.evil('api') $evil$;
      truncate data.ran;
      select 1`),
    );
    const moved = await move(url, "--json");
    expect(moved).toMatchObject({ code: 0 });
    const { leftBehind } = JSON.parse(moved.out) as { leftBehind: string[] };
    for (const thing of ["evil", "planted", "mood", "ran", "===", "real_beta", "only_beta"])
      expect(leftBehind.join("\n")).toContain(thing);
    const ran = await withDatabase(url, (admin) =>
      admin.message<{ login: string; is_strong: boolean }>("select distinct * from data.ran"),
    );
    expect(ran.length).toBeGreaterThan(0);
    for (const { login, is_strong } of ran) {
      expect(login).toMatch(/^rowhouse_tables_[0-9a-f]{16}$/);
      expect(is_strong).toBe(false);
    }
    const planted = await withDatabase(inDatabase(root(), NEXT), (admin) =>
      admin.message(`select proname::text as name from pg_proc where proname ~ 'evil|mood'
        union all select relname::text from pg_class where relname ~ 'evil|real_beta|^ran$'
        union all select conname::text from pg_constraint where conname = 'planted'
        union all select typname::text from pg_type where typname = 'mood'
        union all select tgname::text from pg_trigger where tgname = 'evil'`),
    );
    expect(planted).toEqual([]);
  }, 60_000);

  test("a value without a place in this release is named before anything is moved", async () => {
    await run(`alter table rowhouse.users add column shoe_size integer;
      create table rowhouse.wishes (id integer primary key);
      alter table data.todos alter column title type varchar`);
    const rejected = await move(url);
    expect(rejected.code).toBe(1);
    for (const text of ["shoe_size", "rowhouse.wishes", "table todos / column title / type"])
      expect(rejected.err).toContain(text);
    const found = await run(
      `select from pg_database where datname = '${NEXT}'; select count(*)::text as found from pg_database where datname = '${NEXT}'`,
    );
    expect(found).toBeDefined();
    expect(
      await runHere(["admin", "list-apps"], {
        folder,
        env: { ADMIN_DATABASE_URL: inDatabase(root(), NEXT) },
      }),
    ).toMatchObject({
      code: 1,
      err: expect.stringContaining("does not exist"),
    });
  }, 60_000);

  test("a process that serves it is named", async () => {
    await run(
      "insert into rowhouse.processes (id, role, started_at, minute) values (gen_random_uuid(), 'all', now(), now())",
    );
    expect(await move(url)).toMatchObject({
      code: 1,
      err: expect.stringContaining("1 process used"),
    });
  }, 60_000);

  test("rows that this release would not store stay behind, and are counted", async () => {
    await run(`insert into rowhouse.stored_requests (id, at, method, route, status, ms)
      values (gen_random_uuid(), now(), 'GET', '/x y', 500, 1)`);
    const moved = await move(url, "--json");
    expect(JSON.parse(moved.out).leftBehind).toContain(
      "rows of rowhouse.stored_requests that this release would not store: 1",
    );
  }, 60_000);

  test("a killed move leaves it unchanged, and is completed by the next", async () => {
    await run(`insert into rowhouse.throttle (key, attempts, ends_at)
      select 'k' || number, 1, now() from generate_series(1, 50000) as numbers (number)`);
    const before = await digest(url);
    const env = { ADMIN_DATABASE_URL: url };
    for (const wait of [200, 400, 700, 1000, 1500, 2500]) {
      const running = startCommand(["admin", "move-database", NEXT], { folder, env });
      await Bun.sleep(wait);
      await running.kill("SIGKILL");
      const next = {
        folder,
        env: {
          ADMIN_DATABASE_URL: inDatabase(root(), NEXT),
          DATABASE_URL: inDatabase(root(), NEXT),
          IDENTITY_SECRET: TEST_IDENTITY_SECRET,
        },
      };
      for (const command of [["admin", "list-apps"], ["serve"]]) {
        const rejected = await runCommand(command, next);
        if (rejected.code !== 0) continue;
        throw new Error(`${command} accepted a part of a database: ${rejected.out}`);
      }
    }
    expect(await digest(url)).toBe(before);
    // Sessions of the last process can be ending.
    let last = "";
    await eventually(
      async () => {
        const { code, err } = await move(url);
        last = err;
        return code === 0;
      },
      { describe: () => last },
    );
    expect(await digest(url)).toBe(before);
  }, 120_000);
});

/** The new database has the definitions and rights of one that migrate has just set up, and tables of apps. */
async function compareWithFresh(root: string) {
  const fresh = "rowhouse_fresh";
  await withDatabase(root, (admin) => admin.message(`create database ${fresh} template template0`));
  try {
    const set = await runHere(["migrate"], {
      folder,
      env: { ADMIN_DATABASE_URL: inDatabase(root, fresh), PREVIEW: "live" },
    });
    expect(set.err).toBe("");
    const [moved = {}, wanted = {}] = await Promise.all(
      [NEXT, fresh].map((name) => withDatabase(inDatabase(root, name), dumpCatalog)),
    );
    for (const [kind, lines] of Object.entries(wanted))
      expect(moved[kind]?.filter((line) => !/todos|projects|only_beta/.test(line))).toEqual([
        ...lines,
      ]);
  } finally {
    await drop(root, fresh);
  }
}

/** Uses the moved database as apps and people do. */
async function serveMoved(
  root: string,
  { keys, lists, people, password, session, totp }: OlderFacts,
) {
  const inNext = (url: string) => inDatabase(url, NEXT);
  const env = { ADMIN_DATABASE_URL: inNext(root) };
  const service = await openTestService({
    cluster: { admin: root, serving: root, prepare: true },
    ...{ toServingUrl: inNext, toAdminUrl: inNext },
    service: { previews: ["live"] },
  });
  try {
    const alpha = { id: "", slug: "alpha", key: keys.alpha };
    const apps = { alpha, beta: { id: "", slug: "beta", key: keys.beta } };
    for (const { app, table, text } of lists)
      expect((await service.call(apps[app], `/v1/data/db/${table}?limit=100`)).text).toBe(text);
    // A repeated request gets the stored response.
    const again = await service.call(alpha, "/v1/data/db/projects", {
      ...{ method: "POST", headers: { "idempotency-key": "first-project" } },
      json: { name: 'Home ünï\u2028\\x "q"' },
    });
    expect(again).toMatchObject({ status: 201, text: expect.stringContaining("Home") });
    const [app] = await withDatabase(inNext(root), (admin) =>
      admin.message<{ id: string }>("select id::text from rowhouse.apps where slug = 'alpha'"),
    );
    const pushed = await service.pushSchema(
      { ...alpha, id: app?.id ?? "" },
      defineSchema({ projects: { name: t.string().required().unique(), more: t.string() } }),
    );
    expect(pushed.steps).toHaveLength(1);
    const browser: Jar = new Map(session);
    expect((await visit(service, browser, "/account")).text).toContain("<h1>Profile</h1>");
    const signedIn = await submitSignIn(service, new Map(), {
      email: people.administrator.email,
      password,
    });
    expect(signedIn.status).toBe(303);
    const jar: Jar = new Map();
    await submitSignIn(service, jar, { email: people.withApp.email, password });
    const entered = await enterFactor(service, jar, {
      code: makeAuthenticator(totp).code({ steps: 1 }),
    });
    expect(entered.status).toBe(303);
    const audit = await runHere(["admin", "audit", "--json"], { folder, env });
    expect(audit.out).toContain("set_live_on");
    const doctor = await runHere(["doctor", "--operator", "--json"], {
      folder,
      env: {
        ...env,
        DATABASE_URL: inNext(service.database.servingUrl),
        IDENTITY_SECRET: TEST_IDENTITY_SECRET,
        PREVIEW: "live",
        COOKIE_DOMAIN: "example.org",
      },
    });
    const failed = JSON.parse(doctor.out).findings.filter(
      ({ level }: { level: string }) => level === "fail",
    );
    expect(failed).toEqual([]);
  } finally {
    await service.close();
  }
}
