/** Splits rows into batches of one request each. Pure. @module */
import { utf8Length } from "../std/utf8_length.ts";
import type { FileRow, LineIssue } from "./source.ts";

/** The body of a request, and the line number of each row. */
export type Batch = { readonly body: string; readonly lines: readonly number[] };

export type BatchLimits = { readonly rows: number; readonly bytes: number };

export type Batcher = {
  /** The batches that this row completes, and whether the row is too large for any batch. */
  readonly add: (row: FileRow) => { readonly full: readonly Batch[]; readonly issue?: LineIssue };
  /** The remaining rows. */
  readonly end: () => readonly Batch[];
};

/** Splits by rows and by bytes, as counted by `sizeOf`. The same rows always give the same batches. */
export function makeBatcher(limits: BatchLimits, sizeOf = utf8Length): Batcher {
  let [texts, lines, bytes]: [string[], number[], number] = [[], [], 0];
  const separator = sizeOf(",");
  const brackets = sizeOf("[") + sizeOf("]");
  const flush = (): Batch[] => {
    if (texts.length === 0) return [];
    const batch = { body: `[${texts.join(",")}]`, lines };
    [texts, lines, bytes] = [[], [], 0];
    return [batch];
  };
  return {
    add: ({ line, values }) => {
      const text = JSON.stringify(values);
      const size = sizeOf(text) + separator;
      if (size + brackets > limits.bytes) {
        const message = `Is ${size} bytes: a request allows max ${limits.bytes}`;
        return { full: [], issue: { line, message } };
      }
      const isFull = texts.length === limits.rows || bytes + size + brackets > limits.bytes;
      const full = isFull ? flush() : [];
      texts.push(text);
      lines.push(line);
      bytes += size;
      return { full };
    },
    end: flush,
  };
}
