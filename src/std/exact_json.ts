/** JSON without rounded numbers: a literal that JavaScript would round becomes a marker that no column accepts. @module */
import { decimalParts } from "./decimal.ts";

/** Replaces a number that JavaScript would round. It is not a JSON value, so no reader accepts it. */
export const INEXACT: unique symbol = Symbol("inexact number");

/** JavaScript never rounds 15 digits without an exponent: only other literals need the comparison. */
const MAY_BE_INEXACT = /[\d.]{16}|\d[eE]/;

type Reviver = (key: string, value: unknown, context: { source: string }) => unknown;

/**
 * The reviver for a text, if the text needs one.
 *
 * @example
 * ```ts
 * import { findReviver, INEXACT } from "./exact_json.ts";
 * import { expect } from "bun:test";
 *
 * const text = '{"a":0.1,"b":12345678901234567890}';
 * expect(JSON.parse(text, findReviver(text))).toEqual({ a: 0.1, b: INEXACT });
 * expect(findReviver('{"a":0.1}')).toBeUndefined();
 * ```
 */
export function findReviver(text: string): Reviver | undefined {
  return MAY_BE_INEXACT.test(text) ? markInexact : undefined;
}

/** The value of a JSON text, with markers for numbers that JavaScript would round. @throws {SyntaxError} not JSON */
export function parseExactJson(text: string): unknown {
  return JSON.parse(text, findReviver(text) as Parameters<JSON["parse"]>[1]);
}

function markInexact(_key: string, value: unknown, context: { source: string }): unknown {
  if (typeof value !== "number") return value;
  return isExact(context.source, value) ? value : INEXACT;
}

function isExact(source: string, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  const sent = decimalParts(source);
  const stored = decimalParts(String(value));
  if (sent === undefined || stored === undefined) return false;
  return (
    sent.negative === stored.negative &&
    sent.digits === stored.digits &&
    sent.exponent === stored.exponent
  );
}
