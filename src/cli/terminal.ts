/**
 * The only module that prints. Lines are buffered: flush before the process ends. A line can quote text from the database, a
 * server or a file, so no control character reaches the terminal except colors.
 *
 * @module
 */

import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Environment } from "../settings/mod.ts";
import { errorCode } from "../std/network.ts";
import { escapeUnseen } from "../std/quote.ts";
import { type Flags, RejectedError, type Terminal } from "./command.ts";
import { isColorful, SEQUENCES } from "./paint.ts";

// A progress indicator on one line, cleared before other output.

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
/** Fast tasks show no indicator. */
const DELAY_MS = 500;
const CLEAR_LINE = "\r\u001B[K";

type Spinner = {
  /** Draws after a short delay, until the returned function is called. */
  start: (label: string | (() => string)) => () => void;
  /** Clears the line before other text. */
  clear: () => void;
};

function makeSpinner(write: (text: string) => void): Spinner {
  let isDrawn = false;
  const clear = () => {
    if (isDrawn) write(CLEAR_LINE);
    isDrawn = false;
  };
  const start: Spinner["start"] = (label) => {
    const startedAt = performance.now();
    const timer = setInterval(() => {
      const waitedMs = performance.now() - startedAt;
      if (waitedMs < DELAY_MS) return;
      const frame = FRAMES[Math.floor(waitedMs / FRAME_MS) % FRAMES.length];
      write(`\r${frame} ${typeof label === "string" ? label : label()}`);
      isDrawn = true;
    }, FRAME_MS);
    return () => {
      clearInterval(timer);
      clear();
    };
  };
  return { start, clear };
}

/** The terminal of the process. */
export function openTerminal(env: Environment): Terminal {
  const out = bufferLines(openSink("stdout"));
  const err = bufferLines(openSink("stderr"));
  const isPlain = process.stderr.isTTY !== true || !isColorful(env);
  const canAsk = process.stdin.isTTY === true && process.stderr.isTTY === true;
  const spinner = makeSpinner((text) => {
    out.pass();
    err.print(text);
  });
  // Only one of the two is buffered at a time, to preserve the order across both.
  return {
    print: (line) => {
      err.pass();
      out.write(toTerminalText(line));
    },
    printData: (text) => {
      err.pass();
      out.print(process.stdout.isTTY === true ? toTerminalText(text) : text);
    },
    warn: (line) => {
      spinner.clear();
      out.pass();
      err.write(toTerminalText(line));
    },
    spin: isPlain ? () => () => undefined : spinner.start,
    ask: async (question, signal) => {
      if (!canAsk) return undefined;
      out.pass();
      err.print(`${question} `);
      await err.flush();
      return await readLine(signal);
    },
    canAsk,
    flush: async () => {
      const [failure] = await Promise.all([out.flush(), err.flush()]);
      return failure;
    },
  };
}

type Sink = {
  /** A promise rejects if the text cannot be written. */
  readonly write: (text: string) => unknown;
  readonly flush: () => unknown;
};

/** Under Bun, uses Bun's writer, the fastest for the log of a service. */
function openSink(name: "stdout" | "stderr"): Sink {
  if (process.versions.bun !== undefined) {
    const writer = Bun[name].writer();
    return { write: (text) => writer.write(text), flush: () => writer.flush() };
  }
  const stream = process[name];
  let failure: Error | undefined;
  // After an error the stream is closed, and the next writes fail for that reason.
  stream.on("error", (error) => {
    failure ??= error;
  });
  return {
    write: (text) =>
      new Promise<void>((resolve, reject) => {
        stream.write(text, (error) => (error == null ? resolve() : reject(failure ?? error)));
      }),
    flush: () => undefined,
  };
}

async function readLine(signal: AbortSignal | undefined): Promise<string | undefined> {
  const reader = createInterface({ input: process.stdin, terminal: false, signal });
  const ended = once(reader, "close").then(() => [signal?.aborted === true ? undefined : ""]);
  const [line] = (await Promise.race([once(reader, "line"), ended])) as [string | undefined];
  reader.close();
  return line;
}

type LineBuffer = {
  readonly write: (line: string) => void;
  /** Writes text without a line end. */
  readonly print: (text: string) => void;
  /** Passes buffered text to the file. */
  readonly pass: () => void;
  /** Waits until everything is written; call it before the process ends. Returns the code of the error of the last write. */
  readonly flush: () => Promise<string | undefined>;
};

/** Buffers lines: all lines of one turn of the event loop need one system call. */
export function bufferLines(sink: Sink): LineBuffer {
  let waiting = "";
  let written: Promise<string | undefined> | undefined;
  const pass = (): void => {
    if (waiting === "") return;
    written = findFailure(() => sink.write(waiting));
    waiting = "";
  };
  const flush = async () => {
    pass();
    return (await written) ?? (await findFailure(sink.flush));
  };
  const print = (text: string): void => {
    if (waiting === "") setImmediate(() => void flush());
    waiting += text;
  };
  return { write: (line) => print(`${line}\n`), print, pass, flush };
}

async function findFailure(work: () => unknown): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return errorCode(error) ?? "unknown error";
  }
}

/** One stable JSON document. */
export function toDocument(value: unknown): string {
  return escapeUnseen(JSON.stringify(value, null, 2));
}

/** Untrusted text on one line, for a cell of a list. */
export function toPrintableLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, "\uFFFD");
}

/** A line without control characters, except line ends, tabs and colors. */
export function toTerminalText(text: string): string {
  return text.replace(CONTROLS, (found) =>
    found.startsWith("\n") || found.startsWith("\t") || SEQUENCES.has(found)
      ? found
      : `\uFFFD${found.slice(1)}`,
  );
}

/** Control and format characters; the sequence of a color in one match. */
const CONTROLS = /\p{Cc}\[\d{1,2}m|[\p{Cc}\p{Cf}]/gu;

export const YES = { yes: { about: "do not ask for confirmation" } } as const satisfies Flags;

/** The effect, the question, and whether a reply confirms it. Defaults to a question with yes or no. */
type Confirmation = {
  message: string;
  question?: string;
  isYes?: (reply: string) => boolean;
  /** The flag that confirms it; default: `yes`. */
  flag?: string;
};

/** Asks unless a flag has confirmed. @throws {RejectedError} the reply does not confirm, or there is no terminal to ask on */
export async function confirm(
  { ask }: Pick<Terminal, "ask">,
  isConfirmed: boolean,
  {
    message,
    question = "Continue? [y/N]",
    isYes = (reply) => /^y(es)?$/i.test(reply),
    flag = "yes",
  }: Confirmation,
): Promise<void> {
  if (isConfirmed) return;
  const reply = await ask(`${message} ${question}`);
  if (reply === undefined)
    throw new RejectedError(
      `${message} Cannot ask for confirmation without a terminal: add --${flag}`,
    );
  if (!isYes(reply.trim())) throw new RejectedError("Nothing was changed");
}
