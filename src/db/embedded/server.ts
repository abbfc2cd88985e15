/** The server of an embedded PostgreSQL: started on a free port, and found again after its supervisor was killed. @module */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { errorCode } from "../../std/network.ts";
import { type Binaries, collect, type Installation, StartError } from "./folder.ts";

const ATTEMPTS = 5;

export type ServerOptions = Installation & { settings: readonly string[] };

/** Starts the server on a free port; retries, because another process can use the port first. */
export async function start(
  binaries: Binaries,
  options: ServerOptions,
): Promise<{ server: ChildProcess; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort();
    const { server, output } = launch(binaries, { ...options, port });
    if (await isReady(server, output)) return { server, port };
    if (attempt === ATTEMPTS) throw new StartError(output());
  }
}

/** Starts the server again at the same port. */
export async function startOn(
  binaries: Binaries,
  options: ServerOptions & { port: number },
): Promise<ChildProcess> {
  const { server, output } = launch(binaries, options);
  if (!(await isReady(server, output))) throw new StartError(output());
  return server;
}

function launch(
  { postgres }: Binaries,
  { dataDir, account, durable, settings, port }: ServerOptions & { port: number },
): { server: ChildProcess; output: () => string } {
  const durability = durable ? [] : ["fsync=off", "synchronous_commit=off", "full_page_writes=off"];
  const all = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    ...durability,
    ...settings,
  ];
  const flags = ["-D", dataDir, "-p", String(port), ...all.flatMap((setting) => ["-c", setting])];
  const server = spawn(postgres, flags, { ...account, cwd: dataDir });
  return { server, output: collect(server) };
}

async function isReady(server: ChildProcess, output: () => string): Promise<boolean> {
  while (server.exitCode === null && server.signalCode === null) {
    if (output().includes("ready to accept connections")) return true;
    await Bun.sleep(10);
  }
  return false;
}

/** A free port below the range of ephemeral ports. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isFreePort(port)) return port;
  }
}

/** Not `once()` of node:events, which throws "error" events while waiting for another event. */
export function isFreePort(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
      .once("error", () => resolve(false))
      .once("listening", () => probe.close(() => resolve(true)))
      .listen(port, "127.0.0.1");
  });
}

/**
 * What PostgreSQL does on each signal, with the time for it. Committed rows stay in each case. Not SIGTERM, with which it waits
 * for its clients.
 */
const SHUTDOWNS = [
  { signal: "SIGINT", waitMs: 20_000 }, // fast: ends sessions, writes everything
  { signal: "SIGQUIT", waitMs: 10_000 }, // immediate: kills sessions, recovers at the next start
  { signal: "SIGKILL", waitMs: 10_000 },
] as const;
export type Shutdown = (typeof SHUTDOWNS)[number]["signal"];

const POLL_MS = 20;

/** Stops a server, with stronger signals if it hangs. @throws {StartError} it does not end */
export async function endServer(
  isRunning: () => boolean,
  send: (signal: Shutdown) => void,
  first: Shutdown = "SIGINT",
): Promise<void> {
  for (const { signal, waitMs } of SHUTDOWNS.slice(
    SHUTDOWNS.findIndex(({ signal }) => signal === first),
  )) {
    if (!isRunning()) return;
    send(signal);
    for (let waited = 0; isRunning() && waited < waitMs; waited += POLL_MS)
      await Bun.sleep(POLL_MS);
  }
  if (isRunning()) throw new StartError("An earlier PostgreSQL does not end\n");
}

/** A server whose supervisor was killed is stopped before its data is opened again. */
export async function stopLeftover(dataDir: string): Promise<void> {
  const file = join(dataDir, "postmaster.pid");
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, "utf8").split("\n")[0]);
  await endServer(
    () => isServerOf(pid, dataDir),
    (signal) => sendIfRunning(pid, signal),
  );
}

function sendIfRunning(pid: number, signal: Shutdown): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}

/** Returns whether a process is the server of this folder: its pid can have been reused. */
function isServerOf(pid: number, dataDir: string): boolean {
  const terms = readCommandLine(pid);
  return terms.includes("postgres") && terms.includes(dataDir);
}

function readCommandLine(pid: number): string {
  try {
    if (process.platform === "linux")
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    return execFileSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" });
  } catch {
    return ""; // no such process
  }
}

/**
 * Waits until standard input closes, and then stops the server of the folder `$1` with the mark `$2` in its command line. The
 * server can still be starting, so that it has not written its file yet. A later supervisor's server has another mark.
 */
const SCRIPT = `
read -r _
is_running() {
  pid=$(head -n 1 "$1/postmaster.pid") && kill -0 "$pid" &&
    { tr '\\0' ' ' <"/proc/$pid/cmdline" || ps -o args= -p "$pid"; } | grep -qF -- "$2"
} 2>/dev/null
waited=0
until is_running "$1" "$2" || [ $waited -ge 50 ]; do sleep 0.1; waited=$((waited + 1)); done
for signal in INT QUIT KILL; do
  waited=0
  is_running "$1" "$2" || exit
  kill -$signal "$pid"
  while is_running "$1" "$2" && [ $waited -lt 100 ]; do sleep 0.1; waited=$((waited + 1)); done
done`;

type Watchdog = { readonly end: () => Promise<void> };

/** `mark` is a setting of the server. */
export function startWatchdog(dataDir: string, mark: string): Watchdog {
  if (process.platform === "win32") return { end: async () => undefined };
  const shell = spawn("/bin/sh", ["-c", SCRIPT, "rowhouse-watchdog", dataDir, mark], {
    stdio: ["pipe", "ignore", "ignore"],
    cwd: "/",
    // Separate process group: a signal for the supervisor's group does not reach it.
    detached: true,
  });
  const exited = once(shell, "exit");
  return {
    end: async () => {
      shell.kill("SIGKILL");
      await exited;
    },
  };
}
