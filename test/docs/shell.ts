/** A shell for the blocks of a page. Its variables and folder persist from block to block. @module */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readIfThere } from "../../src/std/files.ts";
import { eventually } from "../support/eventually.ts";

export type Ran = { readonly code: number; readonly output: string };

export type Shell = {
  /** Runs commands until the end, or until a command fails. */
  run: (commands: string, options?: { isAnother: boolean }) => Promise<Ran>;
  /** Runs commands, of which the last keeps running. Returns the output when it contains `text`. */
  start: (commands: string, text: string) => Promise<Ran>;
  /** The current folder. */
  folder: () => string;
  /** Ends running commands. */
  stop: () => Promise<void>;
};

/** Restores the state of the previous block, and saves the state for the next. */
const COURSE = `
set -e -o pipefail
[ ! -f "$STATE/variables" ] || { source "$STATE/variables" 2>/dev/null; cd "$(cat "$STATE/folder")"; }
trap 'code=$?; declare -p | grep -v "^declare -[a-zA-Z]*r" >"$STATE/variables"; pwd >"$STATE/folder"; exit $code' EXIT
`;

export type ShellOptions = {
  readonly folder: string;
  /** The folder of the state that persists from block to block. */
  readonly state: string;
  readonly env: Readonly<Record<string, string>>;
};

export function openShell({ folder, state, env }: ShellOptions): Shell {
  mkdirSync(state, { recursive: true });
  const running: Bun.Subprocess[] = [];
  const { HOME = "" } = process.env;
  const spawn = (script: string, isGroup: boolean) => {
    const output = join(state, `output-${crypto.randomUUID()}`);
    const command = ["bash", "-c", `exec >"$1" 2>&1 </dev/null\n${script}`, "bash", output];
    const child = Bun.spawn(isGroup ? ["setsid", ...command] : command, {
      cwd: folder,
      env: { HOME, TERM: "dumb", ...env, STATE: state },
      stdio: ["ignore", "ignore", "ignore"],
    });
    return { child, read: () => readIfThere(output) ?? "" };
  };
  return {
    run: async (commands, { isAnother } = { isAnother: false }) => {
      const course = isAnother ? "set -e -o pipefail\n" : COURSE;
      const { child, read } = spawn(course + commands, false);
      return { code: await child.exited, output: read() };
    },
    start: async (commands, text) => {
      const script = join(state, `script-${crypto.randomUUID()}`);
      writeFileSync(script, commands);
      const { child, read } = spawn(`${COURSE}trap - EXIT\nsource '${script}'`, true);
      running.push(child);
      await eventually(() => read().includes(text) || child.exitCode !== null, {
        describe: read,
        patienceMs: 60_000,
      });
      return { code: child.exitCode ?? 0, output: read() };
    },
    folder: () => (readIfThere(join(state, "folder")) ?? folder).trim(),
    stop: async () => {
      for (const child of running.splice(0).reverse()) {
        if (child.exitCode === null) process.kill(-child.pid, "SIGTERM");
        await child.exited;
      }
    },
  };
}
