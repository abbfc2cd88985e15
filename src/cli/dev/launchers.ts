/**
 * The processes that started `dev`. `dev` ends with them, so that a killed `npx rowhouse dev` leaves no process running. A
 * `dev` that was detached on purpose outlives its shell. On Linux the processes are read from /proc; elsewhere only the direct
 * parent of a package runner's command is watched.
 *
 * @module
 */

import { existsSync, readFileSync } from "node:fs";
import type { Environment } from "../../settings/mod.ts";

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
