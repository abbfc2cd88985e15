/** The validation errors of a declaration, collected while it is read. Never grows past its limit. @module */

import { isObject } from "../std/json.ts";
import { cut, describe, quote } from "../std/quote.ts";
import type { Issue } from "./definition.ts";

/** Max reported errors. The last error then counts the rest. */
const ISSUES_MAX = 200;

/** A position in a declaration. */
export type IssueLocation = { readonly table?: string; readonly column?: string };

/** Collects errors, up to the limit. */
export type Issues = {
  readonly add: (at: IssueLocation, message: string) => void;
  readonly isEmpty: () => boolean;
  readonly list: () => readonly Issue[];
};

/** An empty list of errors. */
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

// Reads the small parts of a definition from values of any type. Never trusts a prototype or a
// length.

/** The own keys of an object and their values, as a Map because a key can be `__proto__`. */
export type Fields = ReadonlyMap<string, unknown>;

/** The fields of an object with only allowed keys, or `undefined` after adding errors. */
export function readFields(
  value: unknown,
  { what, allowed, at }: { what: string; allowed: readonly string[]; at: IssueLocation },
  issues: Issues,
): Fields | undefined {
  if (!isObject(value)) {
    issues.add(at, `Cannot read ${what}: must be an object, not ${describe(value)}`);
    return undefined;
  }
  const fields = new Map<string, unknown>(Object.entries(value));
  for (const key of fields.keys()) {
    if (allowed.includes(key)) continue;
    issues.add(at, `Cannot read ${what}: unknown key ${quote(key)}`);
  }
  return fields;
}

/** A list of up to `max` values, or `undefined` after adding an error. */
export function readList(
  value: unknown,
  { what, max, at }: { what: string; max: number; at: IssueLocation },
  issues: Issues,
): readonly unknown[] | undefined {
  if (!Array.isArray(value)) {
    issues.add(at, `Cannot read ${what}: must be a list, not ${describe(value)}`);
    return undefined;
  }
  if (value.length > max) {
    issues.add(at, `Cannot use ${value.length} ${what}: at most ${max} are allowed`);
    return undefined;
  }
  return value;
}
