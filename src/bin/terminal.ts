/** The only place that prints. Lines are buffered; whoever ends the process flushes first. @module */
import type { Environment } from "../config.ts";
import type { Terminal } from "./command.ts";
import { isColourful } from "./paint.ts";
import { makeSpinner } from "./spinner.ts";

const FLUSH_INTERVAL_MS = 50;

/** The process's own terminal. A reader that has gone, as with `| head`, is no fault. */
export function openTerminal(env: Environment): Terminal {
  const out = Bun.stdout.writer();
  const err = Bun.stderr.writer();
  const flush = async () => {
    await Promise.allSettled([out.flush(), err.flush()]);
  };
  setInterval(flush, FLUSH_INTERVAL_MS).unref();
  const isPlain = process.stderr.isTTY !== true || !isColourful(env);
  const spinner = makeSpinner((text) => void err.write(text));
  return {
    say: (line) => void out.write(`${line}\n`),
    warn: (line) => {
      spinner.clear();
      err.write(`${line}\n`);
    },
    spin: isPlain ? () => () => undefined : spinner.start,
    flush,
  };
}

/** One stable JSON document. */
export function toDocument(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** The same on one line, for a cell of a list. */
export function toPrintableLine(text: string): string {
  return toPrintable(text).replaceAll("\n", "\uFFFD");
}

/** Text of others without what would steer the terminal. */
export function toPrintable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (character) =>
    character === "\n" ? character : "\uFFFD",
  );
}
