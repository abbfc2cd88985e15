/** A fresh PostgreSQL of the system's own, with its tools, run by an unprivileged account. @module */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "./free_port.ts";

const BIN = "/usr/lib/postgresql/15/bin";

/** Whether this machine has it. */
export const hasDebianPostgres = existsSync(join(BIN, "pg_dump"));

export type DebianCluster = { url: string; stop: () => Promise<void> };

/** A tool of the same version; its output. @throws {Error} with what it says */
export function runTool(name: string, words: readonly string[], input?: string): string {
  return execFileSync(join(BIN, name), words, {
    encoding: "utf8",
    maxBuffer: 1 << 26,
    stdio: ["pipe", "pipe", "pipe"],
    ...(input === undefined ? {} : { input }),
  });
}

export async function startDebianCluster(): Promise<DebianCluster> {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-debian-"));
  const account = findAccount();
  if (account !== undefined) chownSync(folder, account.uid, account.gid);
  const data = join(folder, "data");
  const options = { ...account, cwd: folder, stdio: "ignore" } as const;
  execFileSync(
    join(BIN, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
    options,
  );
  const port = await findFreePort();
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"];
  const flags = ["-D", data, "-p", String(port), ...settings.flatMap((one) => ["-c", one])];
  const server = spawn(join(BIN, "postgres"), flags, options);
  while (!isReady(port)) {
    if (server.exitCode !== null) throw new Error("Cannot start PostgreSQL 15");
    await Bun.sleep(20);
  }
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await end(server);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function end(server: ChildProcess): Promise<void> {
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

/** PostgreSQL refuses to run as root. */
function findAccount(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const read = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: read("-u"), gid: read("-g") };
}
