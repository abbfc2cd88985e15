/** The servers that the tests run against, each made for one run and gone after it. @module */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { startCluster } from "../../src/db/embedded.ts";
import { LOGIN, PASSWORD, SPLIT_ROLES, toLogin } from "../support/cluster.ts";
import { findFreePort } from "../support/free_port.ts";

export type Server = { env: Record<string, string>; stop: () => Promise<void> };
type Account = { uid: number; gid: number } | undefined;

const POSTGRES_15 = "/usr/lib/postgresql/15/bin";
const ADMIN_PASSWORD = crypto.randomUUID();

/** What `bun test` starts itself. */
export async function startEmbedded(): Promise<Server> {
  return { env: { ADMIN_DATABASE_URL: "", DATABASE_URL: "" }, stop: async () => undefined };
}

/** Debian's PostgreSQL 15. */
export async function startPostgres15(folder: string): Promise<Server> {
  const account = makeFolder(folder);
  const dataDir = join(folder, "data");
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, ADMIN_PASSWORD);
  const form = ["-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"];
  execFileSync(join(POSTGRES_15, "initdb"), ["-D", dataDir, `--pwfile=${passwordFile}`, ...form], {
    cwd: folder,
    ...account,
  });
  const port = await findFreePort();
  const settings = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=300",
    "fsync=off",
  ].flatMap((setting) => ["-c", setting]);
  const server = spawn(
    join(POSTGRES_15, "postgres"),
    ["-D", dataDir, "-p", `${port}`, ...settings],
    {
      cwd: folder,
      stdio: "ignore",
      ...account,
    },
  );
  await untilListening(port, server);
  const url = `postgres://postgres:${ADMIN_PASSWORD}@127.0.0.1:${port}/postgres`;
  return {
    env: { ADMIN_DATABASE_URL: url, DATABASE_URL: "", TEST_POSTGRES: "15" },
    stop: () => end(server, "SIGINT"),
  };
}

/** PgBouncer in transaction mode before an embedded PostgreSQL; migrations and pushes go past it. */
export async function startPooled(folder: string): Promise<Server> {
  const account = makeFolder(folder);
  const settings = ["max_connections=300"];
  const cluster = await startCluster({
    dataDir: join(folder, "postgres"),
    durable: false,
    settings,
  });
  const admin = new URL(cluster.url);
  const port = await findFreePort();
  const users = join(folder, "users.txt");
  const logins = [LOGIN, ...SPLIT_ROLES.map(toLogin)].map((login) => `"${login}" "${PASSWORD}"\n`);
  writeFileSync(users, `"postgres" "${admin.password}"\n${logins.join("")}`);
  const config = join(folder, "pgbouncer.ini");
  writeFileSync(config, renderPooler({ port, target: admin.port, users }));
  const pooler = spawn("pgbouncer", [config], {
    cwd: folder,
    stdio: "ignore",
    env: { PATH: `${process.env["PATH"]}:/usr/sbin` },
    ...account,
  });
  await untilListening(port, pooler);
  const serving = new URL(cluster.url);
  serving.port = String(port);
  return {
    env: {
      ADMIN_DATABASE_URL: cluster.url,
      DATABASE_URL: serving.href,
      DATABASE_PREPARE: "off",
      TEST_POOLER: "PgBouncer 1.18",
    },
    stop: async () => {
      await end(pooler, "SIGINT");
      await cluster.stop();
    },
  };
}

type Pooler = { port: number; target: string; users: string };

function renderPooler({ port, target, users }: Pooler): string {
  return `[databases]
* = host=127.0.0.1 port=${target}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
stats_users = postgres
max_client_conn = 1000
default_pool_size = 50
server_idle_timeout = 5
query_wait_timeout = 3
server_login_retry = 1
server_connect_timeout = 2
`;
}

/** A folder for the account that servers run as: none of them runs as root. */
function makeFolder(folder: string): Account {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  if (process.getuid?.() !== 0) return undefined;
  const read = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  const account = { uid: read("-u"), gid: read("-g") };
  chownSync(folder, account.uid, account.gid);
  return account;
}

async function untilListening(port: number, server: ChildProcess): Promise<void> {
  while (!(await accepts(port))) {
    if (server.exitCode !== null) throw new Error(`The server on port ${port} ended`);
    await Bun.sleep(50);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null) return;
  const ended = once(server, "exit");
  server.kill(signal);
  await ended;
}
