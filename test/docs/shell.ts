/** A shell that a reader would type the blocks of a page into: variables and the folder stay from block to block. @module */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readIfThere } from "../../src/std/files.ts";
import { eventually } from "../support/eventually.ts";

export type Ran = { readonly code: number; readonly output: string };

export type Shell = {
  /** Runs commands to their end, or to the first that fails. */
  run: (commands: string, options?: { isAnother: boolean }) => Promise<Ran>;
  /** Runs commands, the last of which goes on; its output once that has the text. */
  start: (commands: string, saying: string) => Promise<Ran>;
  /** Where it is. */
  folder: () => string;
  /** Ends what is still running. */
  stop: () => Promise<void>;
};

/** Restores what the block before has left, and leaves it for the next. */
const COURSE = `
set -e -o pipefail
[ ! -f "$STATE/variables" ] || { source "$STATE/variables" 2>/dev/null; cd "$(cat "$STATE/folder")"; }
trap 'code=$?; declare -p | grep -v "^declare -[a-zA-Z]*r" >"$STATE/variables"; pwd >"$STATE/folder"; exit $code' EXIT
`;

export type ShellOptions = {
  readonly folder: string;
  /** Where it keeps what stays from block to block. */
  readonly state: string;
  readonly env: Readonly<Record<string, string>>;
};

export function openShell({ folder, state, env }: ShellOptions): Shell {
  mkdirSync(state, { recursive: true });
  const running: Bun.Subprocess[] = [];
  const { HOME = "" } = process.env;
  const spawn = (script: string, isGroup: boolean) => {
    const output = join(state, `output-${crypto.randomUUID()}`);
    const words = ["bash", "-c", `exec >"$1" 2>&1 </dev/null\n${script}`, "bash", output];
    const child = Bun.spawn(isGroup ? ["setsid", ...words] : words, {
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
    start: async (commands, saying) => {
      const script = join(state, `script-${crypto.randomUUID()}`);
      writeFileSync(script, commands);
      const { child, read } = spawn(`${COURSE}trap - EXIT\nsource '${script}'`, true);
      running.push(child);
      await eventually(() => read().includes(saying) || child.exitCode !== null, {
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
