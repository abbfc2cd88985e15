/**
 * Errors of a schema: validation errors, collected while it is read, and mistakes in calls that the compiler rejects and
 * JavaScript accepts. Never grows past its limit, and never throws.
 *
 * @module
 */

import { isObject } from "../std/json.ts";
import { cut, describe, quote } from "../std/quote.ts";
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
  if (!isObject(value))
    return issues.add(at, `Cannot read ${what}: must be an object, not ${describe(value)}`);
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
  if (!Array.isArray(value))
    return issues.add(at, `Cannot read ${what}: must be a list, not ${describe(value)}`);
  if (value.length > max)
    return issues.add(at, `Cannot use ${value.length} ${what}: at most ${max} are allowed`);
  return value;
}

// Issues of a schema's calls that the compiler rejects and JavaScript accepts: extra arguments, and
// unknown builders and modifiers. A column, a model or a schema carries its issues until it is
// read. Never throws.

/** The issues of a declaration; absent if all its calls are valid. */
export type Issued = { readonly issues?: readonly string[] };

export function addIssues({ issues = [] }: Issued, found: readonly string[]): Issued {
  const all = [...issues, ...found];
  return all.length === 0 ? {} : { issues: Object.freeze(all) };
}

/** An issue for each extra argument. `undefined` counts as omitted. */
export function findExtraArguments(
  call: string,
  usage: string,
  extra: readonly unknown[],
): string[] {
  return extra.flatMap((value) => findUnknownOptions(call, usage, { value, allowed: [] }));
}

/** An issue for each unknown option, or one issue if the value is not an object of options. */
export function findUnknownOptions(
  call: string,
  usage: string,
  { value, allowed }: { value: unknown; allowed: readonly string[] },
): string[] {
  if (value === undefined) return [];
  const keys = isObject(value) ? Object.keys(value) : [];
  if (!isObject(value) || (keys.length === 0 && allowed.length === 0))
    return [`Cannot pass ${describe(value)} to ${call}: must be ${usage}`];
  return keys
    .filter((key) => !allowed.includes(key))
    .map((key) => `Cannot pass the option ${quote(key)} to ${call}: must be ${usage}`);
}

/** The object, with a function for each unknown name; the function returns the result of `make` for the name. */
export function withUnknown<T extends object>(object: T, make: (name: string) => unknown): T {
  return new Proxy(object, {
    get: (target, key) =>
      typeof key === "symbol" || key in target || PROBED.includes(key)
        ? Reflect.get(target, key)
        : { [key]: () => make(key) }[key],
  });
}

/** Keys that `await` and `JSON.stringify()` look up on any object. */
const PROBED = ["then", "toJSON"];
