/**
 * Checks that a service behind PgBouncer, with pushes and pages, uses no session state. The evidence is PostgreSQL's log
 * of every statement, its locks, and the state of the pooler's sessions.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Database, openDatabase, readRows } from "../../src/db/mod.ts";
import {
  CONSOLE_LOGIN,
  LOGIN,
  PASSWORD as LOGIN_PASSWORD,
  PUSH_LOGIN,
  withDatabase,
} from "../support/cluster.ts";
import {
  type DebianCluster,
  hasDebianPostgres,
  startDebianCluster,
} from "../support/debian_cluster.ts";
import { eventually } from "../support/eventually.ts";
import { PGBOUNCER, type Pooler, startPooler } from "../support/pgbouncer.ts";
import type { TestService } from "../support/service.ts";
import { findUnvisited, openToured, type Toured, tour } from "../support/tour/mod.ts";

const POOL = 2;
/** The pooler requires a password; the cluster does not. */
const ADMIN_PASSWORD = "an administrator's password";
/** Matches session state in a statement without the bodies of the functions that it creates. */
const SESSION_STATEMENTS = [
  /(^|;)\s*set\s+(?!local\b)/i,
  /(^|;)\s*(listen|unlisten|discard|prepare|deallocate|begin|start|declare|create\s+temp)\b/i,
];
const SESSION_LOCK = /pg_(try_)?advisory_lock(_shared)?\s*\(/i;
/** PgBouncer sends this statement when it assigns a server connection to another client. */
const OF_POOLER = /^SET application_name='[^']*';$/;

let cluster: DebianCluster;
let pooler: Pooler;
let toured: Toured;
let service: TestService;
/** Connections through the pooler as the serving login, the pushing login, the administrator and the Console's login. */
let sharers: Database[];

/** The number of log entries that are already checked. */
let seen = 0;

type Entry = { dbname?: string; application_name?: string; message?: string };

/** Returns the logged statements of this database, without the test's statements. */
async function readStatements(): Promise<string[]> {
  const [row] = await withDatabase(service.database.adminUrl, (admin) =>
    readRows<{ text: string }>(admin, "select pg_read_file('log/server.json') as text"),
  );
  return (row?.text ?? "")
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as Entry)
    .filter(
      (entry) =>
        entry.dbname === service.database.name && entry.application_name !== "rowhouse test",
    )
    .flatMap(
      (entry) => /^(?:statement|execute [^:]*): ([\s\S]*)$/.exec(entry.message ?? "")?.[1] ?? [],
    );
}

const PROBE = `select pg_backend_pid() as pid, concat_ws(' ',
    (select string_agg('setting ' || name, ' ') from pg_settings where source = 'session' and name <> 'application_name'),
    (select string_agg('channel ' || channel, ' ') from pg_listening_channels() as channel),
    (select string_agg('statement ' || name, ' ') from pg_prepared_statements where name <> ''),
    (select string_agg('table ' || relname, ' ') from pg_class where relnamespace = pg_my_temp_schema())) as left_over,
  pg_sleep(0.02)`;

/** Returns the session state in each of the pooler's sessions. */
async function readLeftOver(sharer: Database): Promise<string[]> {
  const found = new Map<number, string>();
  await eventually(async () => {
    const probes = Array.from({ length: 2 * POOL }, () =>
      readRows<{ pid: number; left_over: string }>(sharer, PROBE),
    );
    for (const [row] of await Promise.all(probes)) found.set(row?.pid ?? 0, row?.left_over ?? "");
    return found.size >= POOL;
  });
  return [...found.values()].filter((text) => text !== "");
}

/** Lists the locks and transactions of idle sessions. */
const IDLE_HOLDERS = `select coalesce(string_agg(distinct case when state = 'idle' then locktype else state end, ' '), '') as text
  from pg_stat_activity left join pg_locks using (pid)
  where datname = current_database() and application_name <> 'rowhouse test'
    and ((state = 'idle' and locktype = 'advisory') or state like 'idle in transaction%')`;

function needsSession(text: string): boolean {
  if (OF_POOLER.test(text)) return false;
  const own = text.replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, "");
  return SESSION_LOCK.test(text) || SESSION_STATEMENTS.some((pattern) => pattern.test(own));
}

/** Returns every sign of session state: statements, locks and leftovers. */
async function findSessionUse(): Promise<string[]> {
  const statements = (await readStatements()).slice(seen).filter(needsSession);
  const holders = await withDatabase(service.database.adminUrl, (admin) =>
    readRows<{ text: string }>(admin, IDLE_HOLDERS),
  );
  const held = holders.map(({ text }) => text).filter((text) => text !== "");
  // Do not probe a session with an open transaction: the probe would wait for the transaction.
  if (held.length > 0) return [...statements, ...held];
  const left = await Promise.all((sharers ?? []).map(readLeftOver));
  return [...statements, ...left.flat()];
}

describe.skipIf(PGBOUNCER === null || !hasDebianPostgres)("PostgreSQL behind PgBouncer", () => {
  beforeAll(async () => {
    cluster = await startDebianCluster({
      settings: [
        "logging_collector=on",
        "log_destination=jsonlog",
        "log_directory=log",
        "log_filename=server.log",
        "log_statement=all",
      ],
    });
    const admin = new URL(cluster.url);
    admin.password = ADMIN_PASSWORD;
    pooler = await startPooler(cluster.url, {
      poolSize: POOL,
      clients: 60,
      users: {
        [admin.username]: ADMIN_PASSWORD,
        [LOGIN]: LOGIN_PASSWORD,
        [PUSH_LOGIN]: LOGIN_PASSWORD,
        [CONSOLE_LOGIN]: LOGIN_PASSWORD,
      },
    });
    toured = await openToured({
      shape: "one",
      cluster: { admin: admin.href, serving: admin.href, prepare: false },
      toServingUrl: pooler.toUrl,
      toAdminUrl: pooler.toUrl,
    });
    service = toured.service;
    const { servingUrl, pushUrl, adminUrl, consoleUrl } = service.database;
    sharers = [servingUrl, pushUrl, adminUrl, consoleUrl].map((url) =>
      openDatabase({ url: pooler.toUrl(url), connections: 5, prepare: false, name: "sharer" }),
    );
  }, 120_000);
  afterAll(async () => {
    await Promise.all((sharers ?? []).map((sharer) => sharer.close(1)));
    await toured?.close();
    await pooler?.close();
    await cluster?.stop();
  });

  test("has run every route without session state", async () => {
    const responses = await tour(toured);
    expect(responses.filter(({ status }) => status >= 400).map(({ text }) => text)).toEqual([]);
    expect(findUnvisited(toured)).toEqual([]);
    await eventually(async () => (await readStatements()).some((text) => text.includes("api.")));
    const logged = (await readStatements()).join("\n");
    for (const term of ["_list", "_create", "create table", "read_page_session", "finish_sign_in"])
      expect(logged).toContain(term);
    expect(await findSessionUse()).toEqual([]);
  });

  test.each([
    { text: "set statement_timeout = 12345", expected: "setting statement_timeout" },
    {
      text: "select set_config('statement_timeout', '12345', false)",
      expected: "setting statement_timeout",
    },
    { text: "listen elsewhere", expected: "channel elsewhere" },
    { text: "select pg_advisory_lock(1)", expected: "advisory", asAdmin: true },
    {
      text: "do $$ begin perform pg_advisory_lock(2); end $$",
      expected: "advisory",
      asAdmin: true,
    },
    { text: "prepare mine as select 1", expected: "statement mine" },
    { text: "create temporary table mine (id int)", expected: "table mine", asAdmin: true },
    { text: "begin", expected: "idle in transaction" },
  ])("the check detects $text", async ({ text, expected, asAdmin = false }) => {
    seen = (await readStatements()).length;
    expect(await findSessionUse()).toEqual([]);
    await sharers[asAdmin ? 2 : 0]?.message(text);
    await eventually(async () => (await readStatements()).slice(seen).includes(text));
    expect((await findSessionUse()).join("\n")).toContain(expected);
    await withDatabase(service.database.adminUrl, (admin) =>
      readRows(
        admin,
        `select pg_terminate_backend(pid, 20000) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`,
      ),
    );
  });

  test.each(["set statement_timeout = 1", "listen x", "begin", "select pg_advisory_lock(1)"])(
    "the check detects %p in the statement",
    (text) => expect(needsSession(text)).toBe(true),
  );
});
