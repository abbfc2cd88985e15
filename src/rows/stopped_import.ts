/** Describes which rows an import stored before it stopped. Pure. @module */
import { showCount } from "../std/count.ts";

/** Whether the rows of the batch that failed are stored; `unknown`: the response was lost, or was an error of the service. */
export type RowsFate = "stored" | "not stored" | "unknown";

type StoppedImport = {
  /** The number of rows in the batches before the failed batch. */
  readonly stored: number;
  /** The lines of the failed batch. */
  readonly lines: readonly number[];
  readonly rows: RowsFate;
};

function showStored(rows: number): string {
  return `${showCount(rows, "row")} ${rows === 1 ? "is" : "are"} stored`;
}

/** Sentences about the rows before, in and after the failed batch. */
export function describeStored({ stored, lines, rows }: StoppedImport): string {
  const [first = 1] = lines;
  const last = lines.at(-1) ?? first;
  const range = first === last ? `line ${first}` : `lines ${first} to ${last}`;
  switch (rows) {
    case "not stored":
      return `${showStored(stored)}; rows from line ${first} on are not.`;
    case "stored":
      return `${showStored(stored + lines.length)}, those of ${range} without these values; rows after line ${last} are not stored.`;
    case "unknown":
      return `${showStored(stored)}; the rows of ${range} may be stored; rows after line ${last} are not.`;
  }
}
