/**
 * An embedded PostgreSQL for development and tests: real binaries from npm, run by a supervisor process that stops the
 * server when its standard input closes, so that nothing is left behind even if its parent was killed.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { NO_BUNFIG } from "../../std/files.ts";

export type Cluster = {
  /** The administrator's connection string, to the database `postgres`. */
  url: string;
  /** Stops the server, `fast` (sessions end in order) or `immediate` (like a crash), and restarts it at the same address. */
  restart: (how: "fast" | "immediate") => Promise<void>;
  stop: () => Promise<void>;
  /** Resolves when the server has ended: true after `stop`, false after a crash. */
  ended: Promise<boolean>;
};

export type ClusterOptions = {
  /** The data folder: created if missing, not deleted at the end. */
  dataDir: string;
  /** Off for disposable clusters: faster, but lost if the machine crashes. */
  durable: boolean;
  /** Deletes the cluster in the folder and creates a new one. */
  fresh?: boolean;
  /** More server settings, such as `max_connections=300`. */
  settings?: readonly string[];
};

/** @throws {Error} the supervisor's own message, if it could not start the server */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  // The packed program is built JavaScript.
  const name = `./process${extname(import.meta.url)}`;
  const script = fileURLToPath(new URL(name, import.meta.url));
  // Separate process group: Ctrl-C goes to the caller, which stops the cluster last.
  const supervisor = spawn(process.execPath, [NO_BUNFIG, script, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  const errors: string[] = [];
  supervisor.stderr.on("data", (chunk: Buffer) => errors.push(chunk.toString()));
  const url = await new Promise<string>((resolve, reject) => {
    let output = "";
    supervisor.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes("\n")) resolve(output.slice(0, output.indexOf("\n")));
    });
    supervisor.once("exit", () =>
      reject(new Error(`Cannot start the embedded PostgreSQL: ${errors.join("").trim()}`)),
    );
  });
  supervisor.unref();
  let isStopping = false;
  return {
    url,
    ended: once(supervisor, "exit").then(() => isStopping),
    restart: async (how) => {
      const done = once(supervisor.stdout, "data");
      supervisor.stdin.write(`restart ${how === "fast" ? "SIGINT" : "SIGQUIT"}\n`);
      await done;
    },
    stop: async () => {
      isStopping = true;
      // If it has already ended, for example because it was killed, there is no exit event.
      if (supervisor.exitCode !== null || supervisor.signalCode !== null) return;
      const ended = once(supervisor, "exit");
      supervisor.ref();
      supervisor.stdin.end();
      await ended;
    },
  };
}
