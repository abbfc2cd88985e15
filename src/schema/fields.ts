/** Reads the small parts of a definition from values of any type. Never trusts a prototype or a length. @module */
import { isObject } from "../std/json.ts";
import { describe, quote } from "../std/quote.ts";
import type { IssueLocation, Issues } from "./issues.ts";

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
