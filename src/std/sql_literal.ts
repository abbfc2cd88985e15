/** Literals and names for SQL text that cannot have parameters: DDL and messages with several statements. @module */

/**
 * A string as an SQL literal, byte for byte.
 *
 * @throws {RangeError} U+0000, which PostgreSQL cannot hold
 * @see https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-STRINGS-ESCAPE
 *
 * @example
 * ```ts
 * import { quoteLiteral } from "./sql_literal.ts";
 * import { expect } from "bun:test";
 * expect(quoteLiteral("it's")).toBe("'it''s'");
 * ```
 */
export function quoteLiteral(text: string): string {
  if (text.includes("\0")) throw new RangeError("Cannot quote U+0000");
  const doubled = text.replaceAll("'", "''");
  if (!/[\\\r]/.test(doubled)) return `'${doubled}'`;
  // Escapes carriage returns, because a checkout that changes line endings must not change a value.
  return `E'${doubled.replaceAll("\\", "\\\\").replaceAll("\r", "\\r")}'`;
}

/** A text in dollar quotes, unchanged: the tag does not occur in the text. */
export function quoteBody(text: string): string {
  let tag = "$rowhouse$";
  for (let n = 1; text.includes(tag); n++) tag = `$rowhouse_${n}$`;
  return `${tag}\n${text}\n${tag}`;
}

/** A validated name as a quoted identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
