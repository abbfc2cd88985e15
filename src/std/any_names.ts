/** Schema of an object that can have any names. @module */
import * as v from "valibot";
import { isObject } from "./json.ts";

/**
 * An object whose values have one schema. Unlike `v.record`, it keeps the names `__proto__`, `constructor` and `prototype`, which a table,
 * a role or an app can have.
 *
 * @example
 * ```ts
 * import * as v from "valibot";
 *
 * const read = v.parse(anyNames(v.number()), JSON.parse('{"constructor":1,"__proto__":2}'));
 * expect(JSON.stringify(read)).toBe('{"constructor":1,"__proto__":2}');
 * expect(v.is(anyNames(v.number()), { a: "1" })).toBe(false);
 * ```
 */
export function anyNames<Value extends v.GenericSchema>(value: Value) {
  return v.pipe(
    v.custom<Readonly<Record<string, v.InferInput<Value>>>>(isObject),
    v.transform((object): [string, unknown][] => Object.entries(object)),
    v.array(v.tuple([v.string(), value])),
    v.transform((entries): Record<string, v.InferOutput<Value>> => Object.fromEntries(entries)),
  );
}
