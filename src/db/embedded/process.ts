/**
 * The supervisor of an embedded PostgreSQL: prints its connection string when it is ready, and stops it when standard
 * input closes or its parent has ended. A separate process, so that it can outlive its parent until the server has stopped.
 *
 * @module
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { acquireLock, type Lock } from "../../std/lock.ts";
import {
  checkMajor,
  discard,
  findAccount,
  findBinaries,
  initialize,
  LOCK,
  prepareFolder,
  StartError,
  USER,
} from "./folder.ts";
import type { ClusterOptions } from "./mod.ts";
import { endServer, type Shutdown, start, startOn, startWatchdog, stopLeftover } from "./server.ts";

const CHECK_INTERVAL_MS = 500;
/** Longer than the parent and the server need to stop. */
const LOCK_WAIT_MS = 60_000;
const LOCK_POLL_MS = 50;
/** The time in which the parent can stop first, as when the machine shuts down. */
const TERMINATION_GRACE_MS = 10_000;

for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
const parent = watchParent();
await supervise(JSON.parse(process.argv[2] ?? "{}") as ClusterOptions).catch(fail);

async function supervise(options: ClusterOptions): Promise<void> {
  const account = findAccount();
  const binaries = await findBinaries(account);
  const folder = prepareFolder(options.dataDir, account);
  const lock = await waitForLock(folder);
  const dataDir = join(folder, "cluster");
  await stopLeftover(dataDir);
  const mark = `rowhouse.supervisor=${crypto.randomUUID()}`;
  const watchdog = startWatchdog(dataDir, mark);
  if (options.fresh === true) discard(dataDir);
  checkMajor(binaries, dataDir);
  const { durable, settings = [] } = options;
  const installation = { dataDir, account, durable, settings: [...settings, mark] };
  const password = await initialize(binaries, { ...installation, signal: parent.signal });
  const { server, port } = await start(binaries, installation);
  const running = watch(server);
  process.stdout.on("error", () => undefined); // the parent has ended
  process.stdout.write(`postgres://${USER}:${password}@127.0.0.1:${port}/postgres\n`);
  let work = Promise.resolve();
  process.stdin.on("data", (chunk: Buffer) => {
    const shutdown = readRestart(chunk.toString());
    if (shutdown === undefined) return;
    const restart = async () => {
      await running.stop(shutdown);
      running.watch(await startOn(binaries, { ...installation, port }));
      process.stdout.write("restarted\n");
    };
    work = work.then(restart).catch(fail);
  });
  await parent.ended;
  await work;
  await running.stop("SIGINT");
  await watchdog.end();
  lock.release();
  process.exit(0);
}

type Parent = { ended: Promise<void>; signal: AbortSignal };

/**
 * Standard input closes with the parent, unless a process that the parent started still has its other end: the parent's id
 * changes then.
 */
function watchParent(): Parent {
  const { ppid } = process;
  const controller = new AbortController();
  const end = () => controller.abort();
  process.stdin.once("close", end).once("error", end).resume();
  process.on("SIGTERM", () => setTimeout(end, TERMINATION_GRACE_MS));
  setInterval(() => process.ppid === ppid || end(), CHECK_INTERVAL_MS);
  return {
    ended: once(controller.signal, "abort").then(() => undefined),
    signal: controller.signal,
  };
}

/** Waits for an earlier supervisor of the folder, whose parent was killed. */
async function waitForLock(folder: string): Promise<Lock> {
  for (let waited = 0; ; waited += LOCK_POLL_MS) {
    const lock = acquireLock(join(folder, LOCK));
    if (lock !== undefined) return lock;
    if (parent.signal.aborted) process.exit(1);
    if (waited >= LOCK_WAIT_MS)
      throw new StartError(`The process that uses ${folder} does not end\n`);
    await Bun.sleep(LOCK_POLL_MS);
  }
}

/** The parent prints this process's output as its error message. */
function fail(error: unknown): never {
  if (parent.signal.aborted) process.exit(1);
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(error.message);
  process.exit(1);
}

function readRestart(line: string): Shutdown | undefined {
  return /^restart (SIGINT|SIGQUIT)\n$/.exec(line)?.[1] as Shutdown | undefined;
}

type Running = {
  watch: (server: ChildProcess) => void;
  stop: (shutdown: Shutdown) => Promise<void>;
};

/** Ends this process if the server ends unexpectedly. */
function watch(first: ChildProcess): Running {
  const end = () => process.exit(1);
  let current = first.once("exit", end);
  return {
    watch: (server) => {
      current = server.once("exit", end);
    },
    stop: async (shutdown) => {
      current.removeListener("exit", end);
      const isRunning = () => current.exitCode === null && current.signalCode === null;
      await endServer(isRunning, (signal) => current.kill(signal), shutdown);
    },
  };
}
