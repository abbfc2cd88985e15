/**
 * Untrusted text inside messages and SQL: escaped, cut, or quoted as a literal. Never lets a control character reach a
 * terminal.
 *
 * @module
 */

const QUOTE_MAX_CHARS = 80;

/** Control, format (which reorder or hide text) and separator characters: JSON.stringify escapes only some of them. */
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * A text in double quotes, escaped as in JSON and cut to 80 characters.
 *
 * @example
 * ```ts
 * expect(quote('a "b"\n')).toBe('"a \\"b\\"\\n"');
 * expect(quote("x".repeat(1000))).toBe(`"${"x".repeat(79)}…"`);
 * ```
 */
export function quote(text: string): string {
  return escapeUnseen(JSON.stringify(cut(text)));
}

/**
 * The same JSON, with escapes for the characters that a terminal obeys or hides. Keeps line ends.
 *
 * @example
 * ```ts
 * expect(escapeUnseen('"a\u009b\u202e"')).toBe('"a\\u009b\\u202e"');
 * ```
 */
export function escapeUnseen(json: string): string {
  return json.replace(UNSEEN, toEscape);
}

/**
 * A text of max 80 characters, with an ellipsis if it was cut.
 *
 * @example
 * ```ts
 * expect(cut("todos")).toBe("todos");
 * expect(cut("x".repeat(81))).toHaveLength(80);
 * ```
 */
export function cut(text: string): string {
  return text.length <= QUOTE_MAX_CHARS ? text : `${text.slice(0, QUOTE_MAX_CHARS - 1)}…`;
}

function toEscape(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

// Values of any type in messages.

/**
 * A value as text for a message.
 *
 * @example
 * ```ts
 * expect([describe("a"), describe(1), describe([])]).toEqual(['"a"', "1", "a list"]);
 * ```
 */
export function describe(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return typeof value === "function" ? "a function" : String(value);
}

// Literals and names for SQL text that cannot have parameters: DDL and messages with several
// statements.

/**
 * A string as an SQL literal, byte for byte.
 *
 * @throws {RangeError} U+0000, which PostgreSQL cannot hold
 * @see https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-STRINGS-ESCAPE
 *
 * @example
 * ```ts
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

/**
 * An element of a list, record or array, in double quotes.
 *
 * @example
 * ```ts
 * expect(quoteElement('a "b" \\')).toBe('"a \\"b\\" \\\\"');
 * ```
 */
export function quoteElement(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}
