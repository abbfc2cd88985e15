/**
 * Errors of a schema: validation errors, collected while it is read, and mistakes in calls that the compiler rejects and
 * JavaScript accepts. Never grows past its limit, and never throws.
 *
 * @module
 */

import { cut } from "../std/quote.ts";
import type { Issue } from "./definition.ts";

// The validation errors of a declaration, collected while it is read. Never grows past its limit.

/** Max reported errors. The last error then counts the rest. */
const ISSUES_MAX = 200;

/** A position in a declaration. */
export type IssueLocation = { readonly table?: string; readonly column?: string };

/** Collects errors, up to the limit. */
export type Issues = {
  /** Returns `undefined`, as a reader does for a value that it cannot read. */
  readonly add: (at: IssueLocation, message: string) => undefined;
  readonly isEmpty: () => boolean;
  readonly list: () => readonly Issue[];
};

export function makeIssues(): Issues {
  const stored: Issue[] = [];
  let count = 0;
  return {
    add(at, message) {
      count++;
      if (stored.length < ISSUES_MAX) stored.push({ ...toShortLocation(at), message });
    },
    isEmpty: () => count === 0,
    list: () => (count <= ISSUES_MAX ? stored : [...stored.slice(0, -1), toRest(count)]),
  };
}

function toRest(count: number): Issue {
  return { message: `Cannot list ${count - ISSUES_MAX + 1} more errors: fix these first` };
}

/** A name can be as long as the whole request, so messages shorten it. */
function toShortLocation(at: IssueLocation): IssueLocation {
  return {
    ...(at.table === undefined ? {} : { table: cut(at.table) }),
    ...(at.column === undefined ? {} : { column: cut(at.column) }),
  };
}
