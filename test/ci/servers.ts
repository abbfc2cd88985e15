/** Servers for the tests, each started for one run. @module */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Cluster, startCluster } from "../../src/db/embedded/mod.ts";
import {
  APART_LOGIN,
  LOGIN,
  makeTemplate,
  PASSWORD,
  SPLIT_ROLES,
  toLogin,
  withDatabase,
} from "../support/cluster.ts";
import { startDebianCluster } from "../support/debian_cluster.ts";
import { findFastFolder } from "../support/fast_folder.ts";
import { startPooler } from "../support/pgbouncer.ts";

/** Autovacuum off: with hundreds of databases its launcher would start a worker every few milliseconds. */
const SETTINGS = ["max_connections=300", "max_wal_size=128MB", "autovacuum=off"];
/** Of the logins' passwords: each new connection of a test proves one. PostgreSQL 15 lacks the setting. */
const FAST_PASSWORDS = "scram_iterations=1";
/** The server's files, in its folder. */
const DATA = "postgres";

export type Server = { env: Record<string, string>; stop: () => Promise<void> };

/** Starts an embedded PostgreSQL, as `bun test` does; `prepared`: on a copy of this folder. */
export async function startEmbedded(prepared?: string): Promise<Server> {
  const folder = makeFolder();
  // With the owner of the files: the server does not run as root.
  if (prepared !== undefined) execFileSync("cp", ["-a", join(prepared, DATA), folder]);
  const cluster = await startTestCluster(join(folder, DATA));
  return {
    env: { ADMIN_DATABASE_URL: cluster.url, DATABASE_URL: "" },
    stop: async () => {
      await cluster.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns a folder with the files of a server with the template database. Two seconds of CPU that each copy saves. */
export async function prepareEmbedded(): Promise<string> {
  const folder = makeFolder();
  const { url, stop } = await startTestCluster(join(folder, DATA));
  await makeTemplate({ admin: url, serving: url, prepare: true });
  await stop();
  return folder;
}

function makeFolder(): string {
  const folder = mkdtempSync(join(findFastFolder(), "rowhouse-test-"));
  // The account that runs the server must be able to enter the folder.
  chmodSync(folder, 0o755);
  return folder;
}

export async function startPostgres15(): Promise<Server> {
  const { url, stop } = await startDebianCluster({
    password: crypto.randomUUID(),
    settings: [...SETTINGS, "synchronous_commit=off", "full_page_writes=off"],
  });
  return { env: { ADMIN_DATABASE_URL: url, DATABASE_URL: "", TEST_POSTGRES: "15" }, stop };
}

/** Starts PgBouncer in transaction mode in front of an embedded PostgreSQL. Migrations and pushes bypass PgBouncer. */
export async function startPooled(): Promise<Server> {
  const folder = makeFolder();
  const cluster = await startTestCluster(join(folder, DATA));
  const { username, password } = new URL(cluster.url);
  const logins = [LOGIN, APART_LOGIN, ...SPLIT_ROLES.map(toLogin)].map((login) => [
    login,
    PASSWORD,
  ]);
  const pooler = await startPooler(cluster.url, {
    poolSize: 50,
    clients: 1000,
    users: Object.fromEntries([[username, decodeURIComponent(password)], ...logins]),
  });
  return {
    env: {
      ADMIN_DATABASE_URL: cluster.url,
      DATABASE_URL: pooler.toUrl(cluster.url),
      DATABASE_PREPARE: "off",
      TEST_POOLER: "PgBouncer 1.18",
    },
    stop: async () => {
      await pooler.close();
      await cluster.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startTestCluster(dataDir: string): Promise<Cluster> {
  const settings = [...SETTINGS, FAST_PASSWORDS];
  const cluster = await startCluster({ dataDir, durable: false, settings });
  const { username, password } = new URL(cluster.url);
  // Stored before the setting, its password would take a connection longer than its first statement.
  await withDatabase(cluster.url, (admin) =>
    admin.message(`alter role ${username} password '${decodeURIComponent(password)}'; select 1`),
  );
  return cluster;
}
