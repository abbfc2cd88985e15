/** A fresh PostgreSQL of the system's own, with its tools, run by an unprivileged account. @module */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findAccount } from "./account.ts";
import { findFreePort } from "./free_port.ts";

/** The environment variable that names the folder of its programs; default: those of version 15. */
export const POSTGRES_BIN = "POSTGRES_BIN";
export const DEBIAN_BIN = process.env[POSTGRES_BIN] || "/usr/lib/postgresql/15/bin";

const SETTINGS = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "max_connections=300",
  "fsync=off",
];

/** Whether this machine has it. */
export const hasDebianPostgres = existsSync(join(DEBIAN_BIN, "pg_dump"));

export type DebianCluster = { url: string; stop: () => Promise<void> };

/** A tool of the same version; its output. @throws {Error} with what it says */
export function runTool(name: string, words: readonly string[], input?: string): string {
  return execFileSync(join(DEBIAN_BIN, name), words, {
    encoding: "utf8",
    maxBuffer: 1 << 26,
    stdio: ["pipe", "pipe", "pipe"],
    ...(input === undefined ? {} : { input }),
  });
}

export type DebianOptions = {
  /** That of the administrator, and every login is asked for its own; none: every login is let in. */
  password?: string;
  /** More server settings, such as `log_statement=all`. */
  settings?: readonly string[];
};

export async function startDebianCluster(options: DebianOptions = {}): Promise<DebianCluster> {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-debian-"));
  const account = findAccount();
  if (account !== undefined) chownSync(folder, account.uid, account.gid);
  const data = join(folder, "data");
  const as = { ...account, cwd: folder, stdio: "ignore" } as const;
  const form = ["-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"];
  const words = ["-D", data, ...form, ...toAuth(folder, options)];
  execFileSync(join(DEBIAN_BIN, "initdb"), words, as);
  const port = await findFreePort();
  const settings = [...SETTINGS, ...(options.settings ?? [])];
  const flags = ["-D", data, "-p", String(port), ...settings.flatMap((one) => ["-c", one])];
  const server = spawn(join(DEBIAN_BIN, "postgres"), flags, as);
  while (!isReady(port)) {
    if (server.exitCode !== null) throw new Error(`Cannot start the PostgreSQL of ${DEBIAN_BIN}`);
    await Bun.sleep(20);
  }
  const secret = options.password === undefined ? "" : `:${encodeURIComponent(options.password)}`;
  return {
    url: `postgres://postgres${secret}@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await end(server);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** How logins prove who they are, in the words of initdb. */
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
