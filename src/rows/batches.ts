/** Rows in batches of one request each, in chunks of a file and in pages of a list. Pure. @module */

import { splitList } from "../std/json_text.ts";
import { utf8Length } from "../std/text.ts";
import type { FileRow, LineIssue } from "./read_file.ts";

/** The body of a request, and the line number of each row. */
export type Batch = { readonly body: string; readonly lines: readonly number[] };

/** `row`: max bytes of a row, which is sent alone if it is larger than a batch. */
type BatchLimits = { readonly rows: number; readonly bytes: number; readonly row?: number };

type Batcher = {
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
      const max = limits.row ?? limits.bytes;
      if (size + brackets > max) {
        const message = `Is ${size} bytes: a request allows max ${max}`;
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

/** The batch in parts of at most `most` rows. */
export function splitBatch({ body, lines }: Batch, most: number): Batch[] {
  const rows = splitList(body);
  return Array.from({ length: Math.ceil(lines.length / most) }, (_, number) => {
    const [start, end] = [number * most, (number + 1) * most];
    return { body: `[${rows.slice(start, end).join(",")}]`, lines: lines.slice(start, end) };
  });
}
