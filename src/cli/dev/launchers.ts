/**
 * The processes that started `dev`. `dev` ends with them, so that a killed `npx rowhouse dev` leaves no process running. A
 * `dev` that was detached on purpose outlives its shell. On Linux the processes are read from /proc; elsewhere only the direct
 * parent of a package runner's command is watched.
 *
 * @module
 */

import { existsSync, readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { Config, Environment } from "../../settings/mod.ts";
import { quote } from "../../std/quote.ts";
import { DEV_COOKIE_DOMAIN } from "../admin/task.ts";
import { type Setting, UsageError } from "../command.ts";
import { toSlug } from "../package.ts";
import { APP_TEXTS, isAppName, readProject } from "../project_file.ts";
import { openSecrets } from "./environment.ts";

const CHECK_INTERVAL_MS = 500;
/** Set by npm, npx, bun run and bunx for the commands that they start. */
const RUNNER_VARIABLE = "npm_lifecycle_event";

/** The index of each value after the command's name in /proc/<pid>/stat. */
const STATE = 0;
const PARENT = 1;
const GROUP = 2;
const START_TIME = 19;
/** Bits of the ignored signals: SIGHUP, which nohup ignores, and SIGINT, which a script's shell ignores for `&`. */
const DETACHED = 0b11n;
const HANGUP = 0b01n;

type Launchers = {
  /** Whether a closing terminal should not end this process. */
  readonly ignoresHangup: boolean;
  /** Resolves when a process that started this one has ended. */
  readonly untilRemoved: () => Promise<void>;
};

/** Call it before signal handlers are installed: a handler hides that the signal was ignored. */
export function findLaunchers(env: Environment): Launchers {
  const ignored = readIgnoredSignals();
  const isRun = env[RUNNER_VARIABLE] !== undefined;
  const isDetached = !isRun && (ignored & DETACHED) !== 0n;
  const isRemoved = isDetached ? () => false : watchLaunchers(isRun);
  return {
    ignoresHangup: (ignored & HANGUP) !== 0n,
    untilRemoved: () =>
      new Promise((resolve) => {
        const timer = setInterval(() => {
          if (!isRemoved()) return;
          clearInterval(timer);
          resolve();
        }, CHECK_INTERVAL_MS);
        timer.unref();
      }),
  };
}

function watchLaunchers(isRun: boolean): () => boolean {
  const parent = process.ppid;
  if (!existsSync("/proc/self/stat")) return () => isRun && process.ppid !== parent;
  const launchers = listLaunchers(parent);
  return () => launchers.some(({ pid, startTime }) => readProcess(pid)?.startTime !== startTime);
}

type Process = { pid: number; parent: number; group: string; startTime: string };

/**
 * The parent; if a package runner started this process, all processes up to that runner. A process of another group, such
 * as a terminal's shell, is not a launcher.
 */
function listLaunchers(parent: number): Process[] {
  const launchers: Process[] = [];
  const group = readProcess(process.pid)?.group;
  for (let pid = parent; pid > 1; ) {
    const launcher = readProcess(pid);
    if (launcher === undefined || launcher.group !== group) break;
    launchers.push(launcher);
    if (!isRunByRunner(pid)) break;
    pid = launcher.parent;
  }
  return launchers;
}

/** `undefined` if it has ended. */
function readProcess(pid: number): Process | undefined {
  const text = readIfReadable(`/proc/${pid}/stat`);
  const values = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent = "", group = "", startTime = ""] = [
    STATE,
    PARENT,
    GROUP,
    START_TIME,
  ].map((position) => values[position]);
  if (startTime === "" || state === "Z" || state === "X") return undefined;
  return { pid, parent: Number(parent), group, startTime };
}

function isRunByRunner(pid: number): boolean {
  return readIfReadable(`/proc/${pid}/environ`)
    .split("\0")
    .some((variable) => variable.startsWith(`${RUNNER_VARIABLE}=`));
}

function readIgnoredSignals(): bigint {
  const [, mask = "0"] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readIfReadable("/proc/self/status")) ?? [];
  return BigInt(`0x${mask}`);
}

/** Empty if the process has ended or belongs to another user. */
function readIfReadable(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

// The app name of `dev`, and the local hosts of the gateway, the identity pages and the app.

/** The checkout that this file is part of, or the installed package. */
export const PACKAGE = resolve(import.meta.dirname, "../../..");
/** The app of the example in this repository. */
export const DEMO_APP = "todo";
/** The port of Vite's development server. */
const FRONT_END_PORT = 5173;
export type AppName = {
  app: string;
  /** Another app that the previous run served, and that no flag replaces now. */
  former: string | undefined;
  /** The app that a start without a flag serves, if the project does not name one. */
  remembered: string | undefined;
};

/** The name from `--app`, else from the project's file, else of the previous run, whose tables exist, else of the folder. */
export function findAppName({ args, folder }: Pick<Setting, "args" | "folder">): AppName {
  const typed = args.text("app");
  if (typed !== undefined && !isAppName(typed))
    throw new UsageError(`Cannot name an app ${quote(typed)}: must be ${APP_TEXTS}`);
  const { app: named } = readProject(folder);
  const { app: stored } = openSecrets(folder);
  if (typed !== undefined)
    return { app: typed, former: undefined, remembered: named === undefined ? typed : stored };
  const app = named ?? stored ?? nameAfterFolder(folder);
  return { app, former: stored === app ? undefined : stored, remembered: app };
}

export function nameAfterFolder(folder: string): string {
  return resolve(folder) === PACKAGE ? DEMO_APP : toSlug(basename(folder));
}

/** The settings with the hosts of this port. */
export function withHosts(config: Config, port: number): Config {
  return {
    ...config,
    PORT: port,
    PUBLIC_URL: toOrigin("api", port),
    IDENTITY_URL: toOrigin("id", port),
  };
}

export function toHost(name: string, port: number): string {
  return `${name}.${DEV_COOKIE_DOMAIN}:${port}`;
}

export function toOrigin(name: string, port: number): string {
  return `http://${toHost(name, port)}`;
}

/** The origin of an app's pages in development. */
export function toFrontEnd(name: string): string {
  return toOrigin(name, FRONT_END_PORT);
}

/** The origins of the pages of one of several apps: Vite takes the next port if another app's server has its port. */
export function listFrontEnds(name: string, apps: number): string[] {
  return Array.from({ length: apps }, (_, index) => toOrigin(name, FRONT_END_PORT + index));
}
