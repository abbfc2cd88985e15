/**
 * Issues of a schema's calls that the compiler rejects and JavaScript accepts: extra arguments, and
 * unknown builders and modifiers. A column, a model or a schema carries its issues until it is
 * read. Never throws.
 *
 * @module
 */
import { isObject } from "../std/json.ts";
import { describe, quote } from "../std/quote.ts";

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
