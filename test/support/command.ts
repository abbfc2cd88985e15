/** Runs the command `rowhouse` in its own folder, with only the given settings: as a process, or in this process. @module */
import { expect } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { toTerminalText } from "../../src/cli/terminal.ts";
import { eventually } from "./eventually.ts";

export const ROOT = join(import.meta.dirname, "../..");

export type Outcome = { code: number; out: string; err: string };

/** The command fails with this text, and exits with 1 or another code. */
export function expectFailure({ code, err }: Outcome, text: string | RegExp, exits = 1): void {
  const says =
    typeof text === "string" ? expect.stringContaining(text) : expect.stringMatching(text);
  expect([code, err]).toEqual([exits, says]);
}
export type Settings = Readonly<Record<string, string>>;
export type CommandOptions = {
  folder: string;
  env?: Settings;
  /** The folder of another version's program. */
  program?: string;
  /** The limit on the open files of a started process. */
  openFiles?: number;
};

function toScript({ program = ROOT }: CommandOptions): string {
  return join(program, "src/cli/rowhouse.ts");
}

/** An outcome without the line that says where the command goes, for tests of everything else. */
function withoutDestination({ err, ...outcome }: Outcome): Outcome {
  return { ...outcome, err: err.replace(/^Destinations?: .*\n/m, "") };
}

/** Runs a command in its own process, to its end. Omits the line with the destination. */
export async function runCommand(
  argv: readonly string[],
  options: CommandOptions,
): Promise<Outcome> {
  return withoutDestination(await runProcess(argv, options));
}

/** As {@linkcode runCommand}, with the line that says where the command goes. */
export async function runProcess(
  argv: readonly string[],
  options: CommandOptions,
): Promise<Outcome> {
  const command = [process.execPath, toScript(options), ...argv];
  return await readOutcome(spawn(command, options.folder, options.env ?? {}));
}

async function readOutcome(child: ReturnType<typeof spawn>): Promise<Outcome> {
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out, err };
}

/** Runs a command with its output redirected or piped, as in `> file` or `| head`. Returns the exit code of the command. */
export async function runRedirected(
  argv: readonly string[],
  redirection: string,
  options: CommandOptions,
): Promise<Outcome> {
  const words = [process.execPath, toScript(options), ...argv];
  const command = words.map((word) => `'${word}'`).join(" ");
  const shell = ["bash", "-o", "pipefail", "-c", `${command} ${redirection}`];
  return withoutDestination(await readOutcome(spawn(shell, options.folder, options.env ?? {})));
}

/**
 * Runs a command in this process, in a tenth of the time of a new process. Omits the line with the destination. Use
 * {@linkcode runCommand} to test how a process reads, prints and exits.
 */
export async function runHere(argv: readonly string[], options: CommandOptions): Promise<Outcome> {
  return withoutDestination(await showHere(argv, options));
}

/** As {@linkcode runHere}, with the line that says where the command goes. */
export async function showHere(
  argv: readonly string[],
  { folder, env = {} }: CommandOptions,
): Promise<Outcome> {
  const printed = { out: "", err: "" };
  const code = await main(argv, {
    env: { ...env, NO_COLOR: "1" },
    folder,
    terminal: {
      print: (line) => {
        printed.out += `${toTerminalText(line)}\n`;
      },
      printData: (text) => {
        printed.out += text;
      },
      warn: (line) => {
        printed.err += `${toTerminalText(line)}\n`;
      },
      spin: () => () => undefined,
      ask: async () => undefined,
      canAsk: false,
      flush: async () => undefined,
    },
  });
  return { code, ...printed };
}

export type Running = {
  pid: number;
  output: () => string;
  /** Waits until the output matches. Fails with the output if the process exits before. */
  until: (wanted: RegExp) => Promise<RegExpMatchArray>;
  kill: (signal: NodeJS.Signals) => Promise<number>;
  /** The exit code, after the process has exited and its output is read. */
  ended: Promise<number>;
};

/** Long enough for the first `rowhouse dev` of a project while all processors are busy: 40 s were not. */
const COMMAND_PATIENCE_MS = 120_000;

/** Starts a command and collects its output. */
export function startCommand(argv: readonly string[], options: CommandOptions): Running {
  const limit =
    options.openFiles === undefined
      ? []
      : ["bash", "-c", `ulimit -n ${options.openFiles}; exec "$@"`, "bash"];
  const command = [...limit, process.execPath, toScript(options), ...argv];
  const child = spawn(command, options.folder, options.env ?? {});
  let output = "";
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) output += decoder.decode(chunk, { stream: true });
  };
  const printed = Promise.all([collect(child.stdout), collect(child.stderr)]);
  return toRunning(child, { output: () => output, printed });
}

/** Starts a command on a terminal, and collects what the terminal displays. */
export function startOnTerminal(
  argv: readonly string[],
  options: CommandOptions,
): Running & { type: (text: string) => void } {
  const { folder, env = {} } = options;
  let displayed = "";
  const decoder = new TextDecoder();
  const printed = Promise.withResolvers<void>();
  const child = Bun.spawn([process.execPath, toScript(options), ...argv], {
    cwd: folder,
    env: toEnvironment({ TERM: "xterm", ...env }),
    terminal: {
      cols: 120,
      rows: 40,
      data: (_, bytes) => {
        displayed += decoder.decode(bytes, { stream: true });
      },
      exit: () => printed.resolve(),
    },
  });
  return {
    ...toRunning(child, { output: () => displayed, printed: printed.promise }),
    type: (text) => void child.terminal?.write(text),
  };
}

/** `printed` resolves when the output is complete, which can be after the exit. */
function toRunning(
  child: Bun.Subprocess,
  { output, printed }: { output: () => string; printed: Promise<unknown> },
): Running {
  let hasEnded = false;
  const ended = Promise.all([child.exited, printed]).then(([code]) => {
    hasEnded = true;
    return code;
  });
  return {
    pid: child.pid,
    output,
    until: async (wanted) => {
      const suffices = () => wanted.test(output()) || hasEnded;
      await eventually(suffices, { describe: output, patienceMs: COMMAND_PATIENCE_MS });
      const match = output().match(wanted);
      if (match === null)
        throw new Error(`Ended (${child.exitCode}) without ${wanted}:\n${output()}`);
      return match;
    },
    kill: async (signal) => {
      child.kill(signal);
      return await ended;
    },
    ended,
  };
}

function spawn(command: string[], folder: string, env: Settings) {
  return Bun.spawn(command, {
    cwd: folder,
    env: toEnvironment(env),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

/** Returns the settings with PATH and HOME, and nothing else of this process's environment. */
function toEnvironment(env: Settings): Settings {
  const { PATH = "", HOME = "" } = process.env;
  return { PATH, HOME, ...env };
}

/** Creates a project's folder with these files. The account of an embedded PostgreSQL can enter it. */
export function makeProject(files: Readonly<Record<string, string>> = {}): Disposable & {
  folder: string;
  write: (path: string, text: string) => void;
  remove: () => void;
} {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-project-"));
  chmodSync(folder, 0o755);
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const [path, text] of Object.entries(files)) write(path, text);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { folder, write, remove, [Symbol.dispose]: remove };
}

/** Renders a schema's module with these tables, as TypeScript. */
export function schemaText(tables: string): string {
  return `import { defineSchema, t } from ${JSON.stringify(join(ROOT, "src/schema/mod.ts"))};\nexport default defineSchema(${tables});\n`;
}
