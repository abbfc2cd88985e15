/**
 * The stage: a migrated database that the administrator fills with apps, keys and rows, on the PostgreSQL that
 * `ADMIN_DATABASE_URL` names or on an embedded PostgreSQL with production's durability.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster } from "../src/db/embedded/mod.ts";
import { type Database, SERVICE_QUEUE } from "../src/db/mod.ts";
import { issueKey } from "../src/records/apps/mod.ts";
import { defineSchema, type TableDefinition, t } from "../src/schema/mod.ts";
import {
  clusterUrls,
  makeDatabase,
  type TestDatabase,
  waitForDrops,
  withDatabase,
} from "../test/support/cluster.ts";
import { testDeps } from "../test/support/deps.ts";
import { pushDefinition } from "../test/support/push_steps.ts";
import { definitionOf } from "../test/support/service.ts";
import { parentOf } from "./cpu.ts";
import { appId, appIdSql, rowIdSql, type Size } from "./names.ts";

/** Rows with all common kinds, of about 300 bytes of JSON. */
const SCHEMA = defineSchema({
  tasks: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "doing", "done"]).required().default("open"),
      done: t.boolean().required().default(false),
      position: t.number(),
      price: t.decimal(),
      notes: t.string(),
      due_at: t.timestamp(),
    })
    .index("status"),
});

/** The only table of every app. */
export const TASKS = tableOf(SCHEMA);

/** A valid proof for every app, for calls without a key. */
export const PROOF = new Uint8Array(32).fill(7);

export type StageApp = { number: number; id: string; key: string };
export type Stage = {
  database: TestDatabase;
  /** A login that can read and write the table under row security, for sides other than the service. */
  plainUrl: string;
  size: Size;
  /** The apps in whose name the load calls. */
  apps: readonly StageApp[];
  version: string;
  /** PostgreSQL's first process, if it runs on this machine and its processes are visible. */
  postmaster: number | undefined;
};

const PLAIN_LOGIN = "rowhouse_bench_plain";
const PLAIN_PASSWORD = "bench plain password";
/** The maximum number of apps with a key: each key costs a statement. */
const MAX_KEYS = 500;
const FILL_MS = 3_600_000;
const ONCE = { retry: "unsafe", queue: SERVICE_QUEUE } as const;

/** Runs `use` with a PostgreSQL. Stops the PostgreSQL afterwards if this function started it. */
export async function withCluster<Result>(use: () => Promise<Result>): Promise<Result> {
  if (clusterUrls() !== undefined) return use();
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-bench-"));
  await Bun.$`chmod 755 ${folder}`.quiet();
  const settings = ["max_connections=300", "shared_buffers=1GB", "max_wal_size=4GB"];
  const dataDir = join(folder, "postgres");
  const cluster = await startCluster({ dataDir, durable: true, settings });
  process.env["ADMIN_DATABASE_URL"] = cluster.url;
  try {
    const result = await use();
    await waitForDrops();
    return result;
  } finally {
    delete process.env["ADMIN_DATABASE_URL"];
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs `use` with a filled stage, and drops the stage. */
export async function withStage<Result>(
  size: Size,
  use: (stage: Stage) => Promise<Result>,
): Promise<Result> {
  const database = await makeDatabase();
  try {
    return await withDatabase(database.adminUrl, async (admin) => {
      return await use(await fill(admin, database, size));
    });
  } finally {
    await database.drop();
  }
}

async function fill(admin: Database, database: TestDatabase, size: Size): Promise<Stage> {
  await admin.message(`insert into rowhouse.apps (id, slug)
    select ${appIdSql("n")}, 'bench-' || n from generate_series(1, ${size.apps}) as n; select 1`);
  const app = { id: appId(1), slug: "bench-1" };
  const request = { app, definition: definitionOf(SCHEMA), options: { dryRun: false } };
  await pushDefinition({ admin, log: () => undefined }, request);
  await admin.message(`insert into rowhouse.registrations (app_id, table_name, definition, version)
    select ${appIdSql("n")}, r.table_name, r.definition, r.version
    from generate_series(2, ${size.apps}) as n, rowhouse.registrations as r; select 1`);
  await admin.message(`insert into rowhouse.proofs (app_id, digest, scopes)
    select id, sha256(decode('${Buffer.from(PROOF).toString("hex")}', 'hex')), 3 from rowhouse.apps; select 1`);
  await fillRows(admin, size);
  const plainUrl = await makePlainLogin(admin, database);
  const [row] = await admin.query<{ version: string; pid: number }>(
    "select current_setting('server_version') as version, pg_backend_pid() as pid",
    [],
    ONCE,
  );
  const { version = "", pid = 0 } = row ?? {};
  const apps = await makeKeys(admin, size);
  return { database, plainUrl, size, apps, version, postmaster: parentOf(pid) };
}

function tableOf(schema: unknown): TableDefinition {
  const [table] = definitionOf(schema).tables;
  if (table === undefined) throw new Error("The schema of the stage has no table");
  return table;
}

async function fillRows(admin: Database, { apps, rows }: Size): Promise<void> {
  await admin.message(
    `insert into data.tasks (app_id, id, title, status, done, position, price, notes, due_at)
    select ${appIdSql("a")}, ${rowIdSql(`(a - 1)::bigint * ${rows} + n`)}, 'Task ' || n || ' of app ' || a,
      (array['open', 'doing', 'done'])[1 + n % 3]::data.tasks__status__enum, n % 3 = 2, n, n * 0.25,
      'Two coats, and mind the roses along the southern side of house ' || a, timestamptz '2026-01-01' + n * interval '1 minute'
    from generate_series(1, ${apps}) as a, generate_series(1, ${rows}) as n; select 1`,
    { timeoutMs: FILL_MS },
  );
  await admin.query("vacuum (analyze) data.tasks", [], ONCE);
  await admin.query("checkpoint", [], ONCE);
}

/** Creates a login that is a member of the tenant role. The service does not serve a table with grants to other roles. */
export async function makePlainLogin(admin: Database, database: TestDatabase): Promise<string> {
  await admin.message(`do $$ begin
    if not exists (select from pg_roles where rolname = '${PLAIN_LOGIN}') then
      create role ${PLAIN_LOGIN} login password '${PLAIN_PASSWORD}';
    end if; end $$;
    grant rowhouse_tenant to ${PLAIN_LOGIN}; select 1`);
  return Object.assign(new URL(database.servingUrl), {
    username: PLAIN_LOGIN,
    password: PLAIN_PASSWORD,
  }).href;
}

/** Issues keys for apps, spread over all apps. */
async function makeKeys(admin: Database, size: Size): Promise<StageApp[]> {
  const scopes = ["data:read", "data:write"] as const;
  const count = Math.min(size.apps, MAX_KEYS);
  const apps: StageApp[] = [];
  for (let index = 0; index < count; index++) {
    const number = 1 + Math.floor((index * size.apps) / count);
    const order = { slug: `bench-${number}`, name: "bench", scopes, expiresAt: undefined };
    const { text } = await issueKey(testDeps({ admin }), order);
    apps.push({ number, id: appId(number), key: text });
  }
  return apps;
}
