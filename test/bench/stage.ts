/**
 * The stage: a migrated database with apps, keys and rows, filled in bulk by the administrator, on the PostgreSQL that
 * `ADMIN_DATABASE_URL` names or on an embedded one that is as durable as in production.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { issueKey } from "../../src/accounts/mod.ts";
import { startCluster } from "../../src/db/embedded/mod.ts";
import { type Database, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { push } from "../../src/push/mod.ts";
import { clusterUrls, makeDatabase, type TestDatabase, withDatabase } from "../support/cluster.ts";
import { definitionOf } from "../support/service.ts";
import { appId, appIdSql, rowIdSql, type Size } from "./names.ts";

/** What the rows look like: every common kind, about 300 bytes of JSON. */
export const SCHEMA = defineSchema({
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

/** A body of a create. */
export const NEW_ROW = {
  title: "Paint the fence",
  status: "doing",
  position: 7,
  price: "12.50",
  notes: "Two coats, and mind the roses along the southern side of the service",
  due_at: "2026-03-04T05:06:07+00:00",
};
export const CHANGE = { done: true, position: 8 };

export type StageApp = { number: number; id: string; key: string };

export type Stage = {
  database: TestDatabase;
  /** A login that may read and write the table itself, under row security: for the ways that are not the service's. */
  plainUrl: string;
  size: Size;
  /** The apps that the load speaks for. */
  apps: readonly StageApp[];
  version: string;
};

const PLAIN_LOGIN = "rowhouse_bench_plain";
const PLAIN_PASSWORD = "bench plain password";
/** Apps that get a key, at the most: each costs a statement. */
const MAX_KEYS = 500;

/** Runs `use` with a PostgreSQL, which is stopped after it when it was started for it. */
export async function withCluster<Result>(use: () => Promise<Result>): Promise<Result> {
  if (clusterUrls() !== undefined) return use();
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-bench-"));
  await Bun.$`chmod 755 ${folder}`.quiet();
  const settings = ["max_connections=300", "shared_buffers=1GB", "max_wal_size=4GB"];
  const cluster = await startCluster({
    dataDir: join(folder, "postgres"),
    durable: true,
    settings,
  });
  process.env["ADMIN_DATABASE_URL"] = cluster.url;
  try {
    return await use();
  } finally {
    delete process.env["ADMIN_DATABASE_URL"];
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs `use` with a filled stage, which is dropped after it. */
export async function withStage<Result>(
  size: Size,
  use: (stage: Stage) => Promise<Result>,
): Promise<Result> {
  const database = await makeDatabase();
  try {
    return await withDatabase(database.adminUrl, async (admin) =>
      use(await fill(admin, database, size)),
    );
  } finally {
    await database.drop();
  }
}

async function fill(admin: Database, database: TestDatabase, size: Size): Promise<Stage> {
  await admin.message(`insert into rowhouse.apps (id, slug)
    select ${appIdSql("n")}, 'bench-' || n from generate_series(1, ${size.apps}) as n; select 1`);
  const first = { id: appId(1), slug: "bench-1" };
  const definition = definitionOf(SCHEMA);
  await push(
    { admin, log: () => undefined },
    { app: first, definition, options: { dryRun: false } },
  );
  await admin.message(
    `insert into rowhouse.registrations (app_id, table_name, definition, version)
    select ${appIdSql("n")}, r.table_name, r.definition, r.version
    from generate_series(2, ${size.apps}) as n, rowhouse.registrations as r; select 1`,
  );
  await fillRows(admin, size);
  const plainUrl = await makePlainLogin(admin, database);
  const [row] = await admin.query<{ version: string }>(
    "select current_setting('server_version') as version",
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return {
    database,
    plainUrl,
    size,
    apps: await makeKeys(admin, size),
    version: row?.version ?? "",
  };
}

async function fillRows(admin: Database, { apps, rows }: Size): Promise<void> {
  await admin.message(
    `insert into data.tasks (app_id, id, title, status, done, position, price, notes, due_at)
    select ${appIdSql("a")}, ${rowIdSql(`(a - 1)::bigint * ${rows} + n`)}, 'Task ' || n || ' of app ' || a,
      (array['open', 'doing', 'done'])[1 + n % 3]::data.tasks__status__enum, n % 3 = 2, n, n * 0.25,
      'Two coats, and mind the roses along the southern side of service ' || a, timestamptz '2026-01-01' + n * interval '1 minute'
    from generate_series(1, ${apps}) as a, generate_series(1, ${rows}) as n; select 1`,
    { timeoutMs: 3_600_000 },
  );
  await admin.query("vacuum (analyze) data.tasks", [], { retry: "unsafe", queue: SERVICE_QUEUE });
  await admin.query("checkpoint", [], { retry: "unsafe", queue: SERVICE_QUEUE });
}

/** By membership: a service does not serve a table that is granted to anybody else than the tenant. */
async function makePlainLogin(admin: Database, database: TestDatabase): Promise<string> {
  await admin.message(`do $$ begin
    if not exists (select from pg_roles where rolname = '${PLAIN_LOGIN}') then
      create role ${PLAIN_LOGIN} login password '${PLAIN_PASSWORD}';
    end if; end $$;
    grant rowhouse_tenant to ${PLAIN_LOGIN};
    grant usage on schema rowhouse to ${PLAIN_LOGIN};
    grant select on rowhouse.api_keys to ${PLAIN_LOGIN}; select 1`);
  const url = new URL(database.servingUrl);
  url.username = PLAIN_LOGIN;
  url.password = PLAIN_PASSWORD;
  return url.href;
}

/** Keys for apps spread over all of them. */
async function makeKeys(admin: Database, size: Size): Promise<StageApp[]> {
  const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));
  const count = Math.min(size.apps, MAX_KEYS);
  const made: StageApp[] = [];
  for (let index = 0; index < count; index++) {
    const number = 1 + Math.floor((index * size.apps) / count);
    const { text } = await issueKey(
      { admin, randomBytes, keyPrefix: "rh" },
      {
        slug: `bench-${number}`,
        name: "bench",
        scopes: ["data:read", "data:write"],
        expiresAt: undefined,
      },
    );
    made.push({ number, id: appId(number), key: text });
  }
  return made;
}
