/** A PgBouncer in transaction mode in front of the tests' cluster, which tests can pause, kill and restart. @module */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { findAccount } from "./account.ts";
import { findFreePort } from "./free_port.ts";

export type Pooler = {
  /** Returns the connection string with the pooler's host and port. */
  toUrl: (url: string) => string;
  /** Runs a command of PgBouncer's console, such as `PAUSE` or `SHOW POOLS`. */
  command: (text: string) => Promise<readonly Record<string, unknown>[]>;
  /** Kills it without a shutdown. */
  kill: () => Promise<void>;
  /** Starts it again on the same port. */
  start: () => Promise<void>;
  close: () => Promise<void>;
};

export type PoolerOptions = {
  /** Connections to PostgreSQL per user and database. */
  poolSize: number;
  /** The maximum number of clients. */
  clients: number;
  /** Users that can connect, with their passwords. */
  users: Readonly<Record<string, string>>;
  /** The query for passwords of all other users, and the user of `users` that runs it. */
  ask?: { user: string; query: string };
};

/** Some distributions install it in sbin. */
export const PGBOUNCER =
  Bun.which("pgbouncer") ?? Bun.which("pgbouncer", { PATH: "/usr/sbin:/usr/local/sbin" });

const CONSOLE_USER = "console";

export async function startPooler(targetUrl: string, options: PoolerOptions): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-pgbouncer-"));
  const port = await findFreePort();
  const target = new URL(targetUrl);
  const users = { ...options.users, [CONSOLE_USER]: crypto.randomUUID() };
  writeFileSync(join(folder, "users.txt"), toUserList(users));
  writeFileSync(join(folder, "pgbouncer.ini"), toSettings({ folder, port, target, options }));
  const account = findAccount();
  if (account !== undefined)
    for (const name of ["", "users.txt", "pgbouncer.ini"])
      chownSync(join(folder, name), account.uid, account.gid);
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    if (PGBOUNCER === null) throw new Error("No pgbouncer is installed");
    child = spawn(PGBOUNCER, [join(folder, "pgbouncer.ini")], { stdio: "ignore", ...account });
    while (!(await isListening(port))) await Bun.sleep(10);
  };
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  await start();
  return {
    toUrl: (url) => {
      const target = new URL(url);
      target.host = `127.0.0.1:${port}`;
      return target.href;
    },
    command: async (text) => {
      const { [CONSOLE_USER]: password } = users;
      const sql = postgres({
        host: "127.0.0.1",
        port,
        database: "pgbouncer",
        username: CONSOLE_USER,
        password: password ?? "",
        max: 1,
        fetch_types: false,
      });
      try {
        return [...(await sql.unsafe(text))];
      } finally {
        await sql.end({ timeout: 1 });
      }
    },
    kill,
    start,
    close: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function toUserList(users: Readonly<Record<string, string>>): string {
  return Object.entries(users)
    .map(([name, password]) => `"${name}" "${password.replaceAll('"', '""')}"\n`)
    .join("");
}

type Settings = { folder: string; port: number; target: URL; options: PoolerOptions };

function toSettings({ folder, port, target, options }: Settings): string {
  const { ask } = options;
  return `[databases]
* = host=${target.hostname} port=${target.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(folder, "users.txt")}
${ask === undefined ? "" : `auth_user = ${ask.user}\nauth_query = ${ask.query}`}
admin_users = ${CONSOLE_USER}
stats_users = ${target.username}
pool_mode = transaction
default_pool_size = ${options.poolSize}
max_client_conn = ${options.clients}
server_idle_timeout = 5
query_wait_timeout = 3
server_login_retry = 1
server_connect_timeout = 2
`;
}

async function isListening(port: number): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } });
    socket.end();
    return true;
  } catch {
    return false; // not yet
  }
}
