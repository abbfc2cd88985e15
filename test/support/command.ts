/** The command `rowhouse`, in a folder of its own and with no setting but those given: as a process, or in this one. @module */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { main } from "../../src/bin/main.ts";
import { eventually } from "./eventually.ts";

export const ROOT = join(import.meta.dirname, "../..");
const SCRIPT = join(ROOT, "src/bin/rowhouse.ts");

export type Outcome = { code: number; out: string; err: string };
export type Settings = Readonly<Record<string, string>>;
export type CommandOptions = { folder: string; env?: Settings };

/** Runs it to its end. */
export async function runCommand(
  words: readonly string[],
  { folder, env = {} }: CommandOptions,
): Promise<Outcome> {
  const child = spawn(words, folder, env);
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out, err };
}

/**
 * Runs it in this process, which takes a tenth of the time that a process takes: for what a command prints and does. How a process
 * reads, prints and ends is tested by {@linkcode runCommand}.
 */
export async function runHere(
  words: readonly string[],
  { folder, env = {} }: CommandOptions,
): Promise<Outcome> {
  const printed = { out: "", err: "" };
  const code = await main(words, {
    env: { ...env, NO_COLOR: "1" },
    folder,
    terminal: {
      print: (line) => {
        printed.out += `${line}\n`;
      },
      warn: (line) => {
        printed.err += `${line}\n`;
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
  /** Waits until what it printed matches; fails with all of it when it ends before. */
  until: (wanted: RegExp) => Promise<RegExpMatchArray>;
  kill: (signal: NodeJS.Signals) => Promise<number>;
  /** The exit code, once it has ended and all that it printed is read. */
  ended: Promise<number>;
};

/** Starts it and keeps what it prints. */
export function startCommand(words: readonly string[], options: CommandOptions): Running {
  const child = spawn(words, options.folder, options.env ?? {});
  let output = "";
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) output += decoder.decode(chunk, { stream: true });
  };
  const printed = Promise.all([collect(child.stdout), collect(child.stderr)]);
  return toRunning(child, { output: () => output, printed });
}

/** Starts it on a terminal of its own, and keeps what that shows. */
export function startOnTerminal(
  words: readonly string[],
  { folder, env = {} }: CommandOptions,
): Running & { type: (text: string) => void } {
  let shown = "";
  const decoder = new TextDecoder();
  const printed = Promise.withResolvers<void>();
  const child = Bun.spawn([process.execPath, SCRIPT, ...words], {
    cwd: folder,
    env: toEnvironment({ TERM: "xterm", ...env }),
    terminal: {
      cols: 120,
      rows: 40,
      data: (_, bytes) => {
        shown += decoder.decode(bytes, { stream: true });
      },
      exit: () => printed.resolve(),
    },
  });
  return {
    ...toRunning(child, { output: () => shown, printed: printed.promise }),
    type: (text) => void child.terminal?.write(text),
  };
}

/** `printed` settles once all is read that it will ever print, which may be a while after its end. */
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
      await eventually(() => wanted.test(output()) || hasEnded, { describe: output });
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

function spawn(words: readonly string[], folder: string, env: Settings) {
  return Bun.spawn([process.execPath, SCRIPT, ...words], {
    cwd: folder,
    env: toEnvironment(env),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

/** What every process needs, and nothing else of this one's. */
function toEnvironment(env: Settings): Settings {
  const { PATH = "", HOME = "" } = process.env;
  return { PATH, HOME, ...env };
}

/** A project's folder with these files. The account of an embedded PostgreSQL may enter it. */
export function makeProject(files: Readonly<Record<string, string>> = {}): {
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
  return { folder, write, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The text of a schema's module with these tables, as TypeScript. */
export function schemaText(tables: string): string {
  return `import { defineSchema, t } from ${JSON.stringify(join(ROOT, "src/dsl/mod.ts"))};\nexport default defineSchema(${tables});\n`;
}
