/** Serving processes of a program in a folder, whose files an upgrade replaces. @module */
import { cpSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT, type Running, type Settings, startCommand } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { findFreePort } from "../support/free_port.ts";
import type { Addresses } from "./database.ts";

const SECRETS = { data: "data ".repeat(8).trim(), identity: "identity ".repeat(4).trim() };

/** Workers start while callers use every core. */
const PATIENCE_MS = 180_000;

export type Shape = "one" | "split";
export type Serving = {
  /** The public origin. */
  url: string;
  /** Replaces all workers one by one, as SIGHUP does: of the gateway, then of the services. */
  reload: () => Promise<void>;
  /** The log of all processes, without requests. */
  output: () => string;
  stop: () => Promise<void>;
  /** Ends all processes by SIGKILL. */
  kill: () => Promise<void>;
};

export type ServingOptions = {
  program: string;
  addresses: Addresses;
  shape: Shape;
  workers: number;
  /** The origin that callers use, if it is not the process's. */
  publicUrl?: string;
  /** More settings of the processes with people. */
  settings?: Settings;
};

export async function startServing(options: ServingOptions): Promise<Serving> {
  const { program, addresses, workers } = options;
  const [port, data, identity] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const url = `http://rowhouse.localhost:${port}`;
  const processes: Running[] = [];
  const start = async (own: Settings): Promise<void> => {
    const env = {
      ...{ HOST: "127.0.0.1", WORKERS: `${workers}`, DATABASE_POOL: "6", LOG_LEVEL: "info" },
      DATABASE_PREPARE: addresses.prepare ? "on" : "off",
      ...own,
    };
    const running = startCommand(["serve"], { folder: program, program, env });
    processes.push(running);
    const failed = running.ended.then(() => {
      throw new Error(running.output());
    });
    const listening = () => count(running, "listening") === workers;
    await Promise.race([
      failed,
      eventually(listening, { describe: running.output, patienceMs: PATIENCE_MS }),
    ]);
  };
  const origin = { COOKIE_DOMAIN: "rowhouse.localhost", PUBLIC_URL: options.publicUrl ?? url };
  const people = {
    ...{ IDENTITY_SECRET: TEST_IDENTITY_SECRET, CONSOLE_DATABASE_URL: addresses.console },
    ...options.settings,
  };
  const rows = { ADMIN_DATABASE_URL: addresses.push, PREVIEW: addresses.preview };
  const edge = { ...origin, PORT: `${port}`, TRUSTED_PROXIES: "127.0.0.1" };
  try {
    if (options.shape === "one")
      await start({ ...edge, ...people, ...rows, DATABASE_URL: addresses.all });
    else {
      await start({
        ...{ ...rows, ROLE: "data", PORT: `${data}`, DATABASE_URL: addresses.data },
        INTERNAL_HMAC_SECRET: SECRETS.data,
      });
      await start({
        ...{ ...origin, ...people, ROLE: "identity", PORT: `${identity}` },
        DATABASE_URL: addresses.identity,
        INTERNAL_HMAC_SECRET: SECRETS.identity,
      });
      await start({
        ...{ ...edge, ROLE: "gateway", DATABASE_URL: addresses.gateway },
        PREVIEW: addresses.preview,
        UPSTREAM_DATA_URL: `http://127.0.0.1:${data}`,
        UPSTREAM_IDENTITY_URL: `http://127.0.0.1:${identity}`,
        INTERNAL_HMAC_SECRET_DATA: SECRETS.data,
        INTERNAL_HMAC_SECRET_IDENTITY: SECRETS.identity,
      });
    }
  } catch (error) {
    for (const running of processes) await running.kill("SIGKILL");
    throw error;
  }
  return {
    url,
    reload: async () => {
      for (const running of processes.toReversed()) {
        const before = count(running, "reloaded");
        process.kill(running.pid, "SIGHUP");
        const isReloaded = () => count(running, "reloaded") > before;
        await eventually(isReloaded, {
          describe: () => withoutRequests(running.output()),
          patienceMs: PATIENCE_MS,
        });
      }
    },
    output: () => processes.map((running) => withoutRequests(running.output())).join(""),
    stop: async () => {
      for (const running of processes.toReversed()) await running.kill("SIGTERM");
    },
    kill: async () => {
      for (const running of processes.toReversed()) await running.kill("SIGKILL");
    },
  };
}

function withoutRequests(log: string): string {
  return log.replaceAll(/^.*"event":"request".*\n/gm, "");
}

function count({ output }: Running, event: string): number {
  return output().split(`"event":"${event}"`).length - 1;
}

/** Replaces the files of a program by those of another version, as `git pull` does. */
export function replaceProgram(folder: string, by = ROOT): void {
  for (const name of ["src", "patches", "package.json", "tsconfig.json"]) {
    const [path, next, old] = ["", ".next", ".old"].map((end) => join(folder, name + end)) as [
      string,
      string,
      string,
    ];
    cpSync(join(by, name), next, { recursive: true });
    renameSync(path, old);
    renameSync(next, path);
    rmSync(old, { recursive: true });
  }
}
