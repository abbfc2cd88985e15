/**
 * The body of a write as a JSON value in which every number is exactly what was sent: a literal that JavaScript would
 * change is replaced by a mark, which the column's reader refuses.
 *
 * @module
 */
import { parseJson } from "../http/mod.ts";
import { decimalParts } from "../std/decimal_parts.ts";

/** Takes the place of a number that JavaScript cannot hold; it is not a JSON value, so no reader accepts it. */
export const INEXACT: unique symbol = Symbol("inexact number");

/** Fifteen digits without an exponent always survive: only longer literals need the exact comparison. */
const MAY_BE_INEXACT = /[\d.]{16}|\d[eE]/;

/** @throws {Problem} invalid_json */
export function readJson(text: string): unknown {
  return MAY_BE_INEXACT.test(text) ? parseJson(text, markInexact) : parseJson(text);
}

function markInexact(_key: string, value: unknown, context: { source: string }): unknown {
  if (typeof value !== "number") return value;
  return isExact(context.source, value) ? value : INEXACT;
}

function isExact(source: string, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  const sent = decimalParts(source);
  const kept = decimalParts(String(value));
  if (sent === undefined || kept === undefined) return false;
  return (
    sent.negative === kept.negative &&
    sent.digits === kept.digits &&
    sent.exponent === kept.exponent
  );
}
