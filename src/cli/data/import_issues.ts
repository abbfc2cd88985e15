/** The errors of a file to import. @module */

import type { Detail } from "../../problem.ts";
import type { LineIssue } from "../../rows/mod.ts";
import { showCount } from "../../std/count.ts";
import { EXIT, RejectedError } from "../command.ts";
import type { ImportTask } from "./import_send.ts";

type IssueReport = {
  add: (issue: LineIssue) => void;
  /** @throws {RejectedError} an error was added */
  throwAny: () => void;
};

/** Prints each error immediately; with `--json` collects them for one document. */
export function makeIssueReport({ name, setting: { args, terminal } }: ImportTask): IssueReport {
  const details: Detail[] = [];
  let count = 0;
  return {
    add: ({ line, column, message }) => {
      count++;
      const path = column === undefined ? `/${line}` : `/${line}/${column}`;
      if (args.has("json")) details.push({ path, message });
      else terminal.warn(`${name}:${line}: ${column === undefined ? "" : `${column}: `}${message}`);
    },
    throwAny: () => {
      if (count === 0) return;
      const message = `Nothing was stored: ${name} has ${showCount(count, "error")}`;
      throw new RejectedError(message, EXIT.rejected, { code: "validation_failed", details });
    },
  };
}
