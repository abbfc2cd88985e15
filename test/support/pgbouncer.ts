/** A real PgBouncer in transaction mode in front of a PostgreSQL, where the machine has one. @module */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const BINARY = "/usr/sbin/pgbouncer";
const ATTEMPTS = 5;

export type Bouncer = {
  /** The same connection string by way of the pooler. */
  toUrl: (url: string) => string;
  stop: () => Promise<void>;
};

export function hasBouncer(): boolean {
  return existsSync(BINARY);
}

/** Starts one that knows the logins of these connection strings, which are all of one server. */
export async function startBouncer(urls: readonly string[]): Promise<Bouncer> {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-bouncer-"));
  chmodSync(folder, 0o755);
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort();
    const child = run(folder, port, urls);
    if (await isReady(child)) {
      return {
        toUrl: (url) => {
          const made = new URL(url);
          made.host = `127.0.0.1:${port}`;
          return made.href;
        },
        stop: async () => {
          child.kill("SIGKILL");
          if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
          rmSync(folder, { recursive: true });
        },
      };
    }
    if (attempt === ATTEMPTS) throw new Error("Cannot start PgBouncer");
  }
}

function run(folder: string, port: number, urls: readonly string[]): ChildProcess {
  const [first] = urls.map((url) => new URL(url));
  if (first === undefined) throw new Error("PgBouncer needs a server");
  const users = new Map(urls.map((url) => [new URL(url).username, new URL(url).password]));
  const lines = [...users].map(
    ([name, password]) => `"${decodeURIComponent(name)}" "${decodeURIComponent(password)}"\n`,
  );
  writeFileSync(join(folder, "users.txt"), lines.join(""));
  writeFileSync(
    join(folder, "pgbouncer.ini"),
    `[databases]
* = host=${first.hostname} port=${first.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${join(folder, "users.txt")}
pool_mode = transaction
default_pool_size = 10
max_client_conn = 500
`,
  );
  return spawn(BINARY, [join(folder, "pgbouncer.ini")], {
    stdio: ["ignore", "ignore", "pipe"],
    ...findAccount(),
  });
}

/** PgBouncer refuses to run as root. */
function findAccount(): { uid: number; gid: number } | object {
  if (process.getuid?.() !== 0) return {};
  const read = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: read("-u"), gid: read("-g") };
}

async function isReady(child: ChildProcess): Promise<boolean> {
  let output = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    if (output.length < 10_000) output += chunk.toString();
  });
  while (child.exitCode === null) {
    if (output.includes("process up")) return true;
    await Bun.sleep(10);
  }
  return false;
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  if (typeof address === "string" || address === null) throw new Error("No port is free");
  return address.port;
}
