/**
 * The supervisor of an embedded PostgreSQL: prints its connection string when it is ready, and stops it when standard
 * input closes. A separate process, so that it can outlive its parent until the server has stopped.
 *
 * @module
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { discard, initialize, USER } from "./data.ts";
import { findAccount, findBinaries, prepareFolder, StartError } from "./folder.ts";
import type { ClusterOptions } from "./mod.ts";
import { start, startOn, stopLeftover } from "./server.ts";

process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);
await supervise(JSON.parse(process.argv[2] ?? "{}") as ClusterOptions).catch(fail);

async function supervise(options: ClusterOptions): Promise<void> {
  const account = findAccount();
  const binaries = await findBinaries(account);
  const dataDir = join(prepareFolder(options.dataDir, account), "cluster");
  await stopLeftover(dataDir);
  if (options.fresh === true) discard(dataDir);
  const { durable, settings = [] } = options;
  const installation = { dataDir, account, durable, settings };
  const password = await initialize(binaries, installation);
  const { server, port } = await start(binaries, installation);
  const running = watch(server);
  process.stdout.write(`postgres://${USER}:${password}@127.0.0.1:${port}/postgres\n`);
  let work = Promise.resolve();
  process.stdin.on("data", (chunk: Buffer) => {
    const signal = readRestart(chunk.toString());
    if (signal === undefined) return;
    const restart = async () => {
      await running.stop(signal);
      running.watch(await startOn(binaries, { ...installation, port }));
      process.stdout.write("restarted\n");
    };
    work = work.then(restart).catch(fail);
  });
  await once(process.stdin, "close");
  await work;
  // SIGINT is PostgreSQL's fast shutdown: sessions end, everything is written.
  await running.stop("SIGINT");
  process.exit(0);
}

/** The parent prints this process's output as its error message. */
function fail(error: unknown): never {
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(error.message);
  process.exit(1);
}

function readRestart(line: string): NodeJS.Signals | undefined {
  return /^restart (SIGINT|SIGQUIT)\n$/.exec(line)?.[1] as NodeJS.Signals | undefined;
}

type Running = {
  watch: (server: ChildProcess) => void;
  stop: (signal: NodeJS.Signals) => Promise<void>;
};

/** Ends this process if the server ends unexpectedly. */
function watch(first: ChildProcess): Running {
  const end = () => process.exit(1);
  let current = first.once("exit", end);
  return {
    watch: (server) => {
      current = server.once("exit", end);
    },
    stop: async (signal) => {
      current.removeListener("exit", end);
      current.kill(signal);
      if (current.exitCode === null && current.signalCode === null) await once(current, "exit");
    },
  };
}
