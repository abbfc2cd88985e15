/**
 * The only module that prints. Lines are buffered: flush before the process ends. A line can quote text from the database, a
 * server or a file, so no control character reaches the terminal except colors.
 *
 * @module
 */

import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Environment } from "../settings/mod.ts";
import { bufferLines, openSink } from "../std/line_buffer.ts";
import { escapeUnseen } from "../std/quote.ts";
import { makeSpinner } from "../std/spinner.ts";
import { type Flags, RejectedError, type Terminal } from "./command.ts";
import { isColorful, SEQUENCES } from "./paint.ts";

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

async function readLine(signal: AbortSignal | undefined): Promise<string | undefined> {
  const reader = createInterface({ input: process.stdin, terminal: false, signal });
  const ended = once(reader, "close").then(() => [signal?.aborted === true ? undefined : ""]);
  const [line] = (await Promise.race([once(reader, "line"), ended])) as [string | undefined];
  reader.close();
  return line;
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

export function isYes(reply: string | undefined): boolean {
  return /^y(es)?$/i.test(reply?.trim() ?? "");
}

/** Asks unless a flag has confirmed. @throws {RejectedError} the reply does not confirm, or there is no terminal to ask on */
export async function confirm(
  { ask }: Pick<Terminal, "ask">,
  isConfirmed: boolean,
  { message, question = "Continue? [y/N]", isYes: confirms = isYes, flag = "yes" }: Confirmation,
): Promise<void> {
  if (isConfirmed) return;
  const reply = await ask(`${message} ${question}`);
  if (reply === undefined)
    throw new RejectedError(
      `${message} Cannot ask for confirmation without a terminal: add --${flag}`,
    );
  if (!confirms(reply.trim())) throw new RejectedError("Nothing was changed");
}
