/**
 * An embedded PostgreSQL for development and tests: real binaries from npm, run by a supervisor process that stops
 * them when its standard input closes, so that nothing is left behind even after kill -9 of whoever started it.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export type Cluster = {
  /** The administrator's connection string, to the database `postgres`. */
  url: string;
  /** Stops it, `fast` (sessions end in order) or `immediate` (as a crash would), and starts it again where it was. */
  restart: (how: "fast" | "immediate") => Promise<void>;
  stop: () => Promise<void>;
  /** When it has ended: true where `stop` was called, false where it died. */
  ended: Promise<boolean>;
};

export type ClusterOptions = {
  /** Where its data lives; made when missing, kept when it ends. */
  dataDir: string;
  /** Off for disposable clusters: faster, and lost with the machine. */
  durable: boolean;
  /** Throws away the cluster that the folder holds, and makes another one. */
  fresh?: boolean;
  /** More server settings, such as `max_connections=300`. */
  settings?: readonly string[];
};

/** @throws {Error} the supervisor's own words, where it could not start the server */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const script = fileURLToPath(new URL("./process.ts", import.meta.url));
  // A process group of its own: Ctrl-C is for the caller, who stops the cluster last.
  const supervisor = spawn(process.execPath, [script, JSON.stringify(options)], {
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
      // One that has ended by itself, as when it was killed, says so no more.
      if (supervisor.exitCode !== null || supervisor.signalCode !== null) return;
      const ended = once(supervisor, "exit");
      supervisor.ref();
      supervisor.stdin.end();
      await ended;
    },
  };
}
