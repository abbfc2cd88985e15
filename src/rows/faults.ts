/** The errors of a file in groups, so that an error of 20,000 lines is one. Pure. @module */

import { showCount } from "../std/count.ts";
import type { LineIssue } from "./read_file.ts";

/** An error that several lines can have. */
export type Fault = Pick<LineIssue, "column" | "message"> & {
  count: number;
  /** The first lines with it. */
  readonly lines: number[];
};

/** Max groups, and max lines of a group; the count includes all errors. */
const MAX_FAULTS = 200;
const MAX_LINES = 20;

export type FaultList = {
  readonly add: (issue: LineIssue) => void;
  readonly faults: () => readonly Fault[];
  readonly count: () => number;
};

export function makeFaultList(): FaultList {
  const faults = new Map<string, Fault>();
  let total = 0;
  return {
    add: ({ line, column, message }) => {
      total++;
      const id = JSON.stringify([column, message]);
      const fault = faults.get(id) ?? {
        ...{ count: 0, lines: [], message, ...(column === undefined ? {} : { column }) },
      };
      if (faults.size < MAX_FAULTS) faults.set(id, fault);
      fault.count++;
      if (fault.lines.length < MAX_LINES) fault.lines.push(line);
    },
    faults: () => [...faults.values()],
    count: () => total,
  };
}

/** The lines of an error that several lines have: `3 lines: 2, 5, 6`. */
export function showFaultLines({ count, lines }: Fault): string {
  const more = count > lines.length ? ` and ${count - lines.length} more` : "";
  return `${showCount(count, "line")}: ${lines.join(", ")}${more}`;
}
