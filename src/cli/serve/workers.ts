/**
 * Several processes on one port. The supervisor does not serve: it starts the workers, restarts workers that exit, and on SIGHUP
 * replaces them one by one, starting each new worker first.
 *
 * @module
 */

import type { Subprocess } from "bun";
import type { Log } from "../../observe.ts";
import type { Role } from "../../role.ts";
import type { Config } from "../../settings/mod.ts";
import { NO_BUNFIG } from "../../std/files.ts";
import { EXIT, type ExitCode } from "../command.ts";
import { untilSignal } from "../signals.ts";

type Worker = {
  readonly process: Subprocess;
  /** Resolves to true when it listens, or to false if it exits first. */
  readonly listening: Promise<boolean>;
  isRetired: boolean;
};
type Supervised = { config: Config; log: Log; logCrash: () => Promise<void> };

const LISTENING = "listening";
const RESTART_DELAY_MS = 500;

/** Serves with `WORKERS` processes until a signal to stop. A second signal ends them immediately. */
export async function superviseWorkers({ config, log, logCrash }: Supervised): Promise<ExitCode> {
  const workers = new Map<number, Worker>();
  let isStopping = false;
  const start = (index: number): Worker => {
    const worker = spawnWorker(index, config.ROLE);
    workers.set(index, worker);
    void worker.process.exited.then(async (code) => {
      if (isStopping || worker.isRetired) return;
      log("error", "worker died", { worker: String(index), exitCode: code });
      await Bun.sleep(RESTART_DELAY_MS);
      if (!isStopping && workers.get(index) === worker) start(index);
    });
    return worker;
  };
  const indexes = Array.from({ length: config.WORKERS }, (_, index) => index);
  const stop = untilSignal(["SIGINT", "SIGTERM"], async () => {
    for (const { process } of workers.values()) process.kill("SIGKILL");
    await logCrash();
  });
  // Start only one first: an error that prevents its start would prevent all.
  const first = start(0);
  if (!(await first.listening)) {
    isStopping = true;
    return (first.process.exitCode === 0 ? EXIT.done : EXIT.rejected) as ExitCode;
  }
  for (const index of indexes.slice(1)) start(index);
  const reload = makeReload({ workers, start, indexes, log });
  process.on("SIGHUP", reload);
  await stop;
  isStopping = true;
  process.off("SIGHUP", reload);
  log("info", "stopping");
  await Promise.all([...workers.values()].map(retire));
  log("info", "stopped");
  return EXIT.done;
}

type Reloading = {
  workers: Map<number, Worker>;
  start: (index: number) => Worker;
  indexes: readonly number[];
  log: Log;
};

/** Replaces every worker in turn. If a new worker does not start, the old worker stays. */
function makeReload({ workers, start, indexes, log }: Reloading): () => void {
  let reloading = Promise.resolve();
  const replace = async (index: number): Promise<void> => {
    const old = workers.get(index);
    const fresh = start(index);
    fresh.isRetired = true; // until it listens, its exit is handled here
    if (!(await fresh.listening)) {
      log("error", "worker does not start", { worker: String(index) });
      if (old !== undefined) workers.set(index, old);
      return;
    }
    fresh.isRetired = false;
    if (old !== undefined) await retire(old);
  };
  return () => {
    reloading = reloading.then(async () => {
      log("info", "reloading");
      for (const index of indexes) await replace(index);
      log("info", "reloaded");
    });
  };
}

async function retire(worker: Worker): Promise<void> {
  worker.isRetired = true;
  worker.process.kill("SIGTERM");
  await worker.process.exited;
}

function spawnWorker(index: number, role: Role): Worker {
  const { promise: listening, resolve: settle } = Promise.withResolvers<boolean>();
  const child = Bun.spawn(
    [process.execPath, NO_BUNFIG, Bun.main, "serve", "--worker", String(index), "--role", role],
    {
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
      ipc: (message) => settle(message === LISTENING),
      onExit: () => settle(false),
    },
  );
  return { process: child, listening, isRetired: false };
}

/** In a worker: reports to the supervisor that it listens. */
export function reportListening(): void {
  process.send?.(LISTENING);
}

/** In a worker: waits until the supervisor stops it or exits. Only the supervisor handles Ctrl-C and SIGHUP. */
export function untilStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
    process.once("SIGTERM", () => resolve());
    process.once("disconnect", () => resolve());
  });
}
