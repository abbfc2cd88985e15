/** A fresh cluster of the installed PostgreSQL, with its tools, run by an unprivileged account. @module */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findAccount } from "./account.ts";
import { findFastFolder } from "./fast_folder.ts";
import { findFreePort } from "./free_port.ts";

/** The oldest supported version, beside which {@linkcode POSTGRES_BIN} can name a newer one. */
export const OLDEST_BIN = "/usr/lib/postgresql/15/bin";

/** Names the folder of PostgreSQL's programs; default: version 15. */
export const POSTGRES_BIN = "POSTGRES_BIN";
export const DEBIAN_BIN = process.env[POSTGRES_BIN] || OLDEST_BIN;

const SETTINGS = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "max_connections=300",
  "fsync=off",
];

/** Whether the programs are installed. */
export const hasDebianPostgres = existsSync(join(DEBIAN_BIN, "pg_dump"));

/** Whether Debian's package of the extension `plpgsql_check` for PostgreSQL 15 is installed. */
export const hasPlpgsqlCheck = existsSync(
  "/usr/share/postgresql/15/extension/plpgsql_check.control",
);

export type DebianCluster = {
  url: string;
  data: string;
  /** Ends the server and keeps its data. */
  end: () => Promise<void>;
  /** Ends the server and deletes its data. */
  stop: () => Promise<void>;
};

/** Runs a tool of the same version and returns its output. @throws {Error} with its messages */
export function runTool(name: string, args: readonly string[], input?: string): string {
  return execFileSync(join(DEBIAN_BIN, name), args, {
    encoding: "utf8",
    maxBuffer: 1 << 26,
    stdio: ["pipe", "pipe", "pipe"],
    ...(input === undefined ? {} : { input }),
  });
}

export type DebianOptions = {
  /** The administrator's password; logins then need theirs too. Default: every login is accepted without a password. */
  password?: string;
  /** The folder of PostgreSQL's programs. Default: {@linkcode DEBIAN_BIN}. */
  bin?: string;
  /** The data of an earlier cluster. Default: a new cluster. */
  data?: string;
  /** More server settings, such as `log_statement=all`. */
  settings?: readonly string[];
};

export async function startDebianCluster(options: DebianOptions = {}): Promise<DebianCluster> {
  const { bin = DEBIAN_BIN } = options;
  const data = options.data ?? createCluster(bin, options);
  const folder = dirname(data);
  // A server that connects to another one reads files of its home.
  const env = { ...process.env, HOME: folder };
  const as = { ...findAccount(), cwd: folder, stdio: "ignore", env } as const;
  const port = await findFreePort();
  const settings = [...SETTINGS, ...(options.settings ?? [])];
  const flags = [
    ...["-D", data, "-p", String(port)],
    ...settings.flatMap((setting) => ["-c", setting]),
  ];
  const server = spawn(join(bin, "postgres"), flags, as);
  while (!isReady(port)) {
    if (server.exitCode !== null) throw new Error(`Cannot start the PostgreSQL of ${bin}`);
    await Bun.sleep(20);
  }
  const secret = options.password === undefined ? "" : `:${encodeURIComponent(options.password)}`;
  return {
    url: `postgres://postgres${secret}@127.0.0.1:${port}/postgres`,
    data,
    end: () => end(server),
    stop: async () => {
      await end(server);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the folder of its data. */
function createCluster(bin: string, options: DebianOptions): string {
  const folder = mkdtempSync(join(findFastFolder(), "rowhouse-debian-"));
  const account = findAccount();
  if (account !== undefined) chownSync(folder, account.uid, account.gid);
  const data = join(folder, "data");
  const format = ["-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"];
  const args = ["-D", data, ...format, ...toAuth(folder, options)];
  execFileSync(join(bin, "initdb"), args, { ...account, cwd: folder, stdio: "ignore" });
  return data;
}

/** Returns initdb's arguments for the authentication of logins. */
function toAuth(folder: string, { password }: DebianOptions): string[] {
  if (password === undefined) return ["-A", "trust"];
  const file = join(folder, "password");
  writeFileSync(file, password);
  return ["-A", "scram-sha-256", `--pwfile=${file}`];
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return;
  const ended = once(server, "exit");
  server.kill("SIGINT");
  await ended;
}

function isReady(port: number): boolean {
  try {
    runTool("pg_isready", ["-h", "127.0.0.1", "-p", String(port), "-q"]);
    return true;
  } catch {
    return false; // not yet
  }
}
