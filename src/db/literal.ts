/** Literals and names for SQL text that cannot have parameters: DDL and messages of several statements. @module */

/**
 * A string as an SQL literal, byte for byte.
 *
 * @throws {RangeError} U+0000, which PostgreSQL cannot hold
 * @see https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-STRINGS-ESCAPE
 */
export function quoteLiteral(text: string): string {
  if (text.includes("\0")) throw new RangeError("Cannot quote U+0000");
  const doubled = text.replaceAll("'", "''");
  return doubled.includes("\\") ? `E'${doubled.replaceAll("\\", "\\\\")}'` : `'${doubled}'`;
}

/** A checked name as a quoted identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
