/**
 * Patterns that the code and the service's own tables share: regular expressions with the same meaning in JavaScript and
 * PostgreSQL.
 *
 * @example
 * ```ts
 * expect("todos").toMatch(new RegExp(TABLE_PATTERN));
 * expect("Todos").not.toMatch(new RegExp(TABLE_PATTERN));
 * ```
 *
 * @module
 */

/**
 * Patterns that the code and the service's own tables share: regular expressions with the same meaning in JavaScript and
 * PostgreSQL.
 *
 * @example
 * ```ts
 * expect("todos").toMatch(new RegExp(TABLE_PATTERN));
 * expect("Todos").not.toMatch(new RegExp(TABLE_PATTERN));
 * ```
 */
/** An app's slug. */
export const SLUG_PATTERN = "^[a-z][a-z0-9-]{0,38}[a-z0-9]$";
export const SLUG_TEXTS =
  "2 to 40 lowercase letters, digits or hyphens, starting with a letter and not ending with a hyphen";

/** A person's role on an app. */
export const ROLE_PATTERN = "^[a-z][a-z0-9_-]{0,31}$";
export const ROLE_LABELS =
  "1 to 32 lowercase letters, digits, hyphens or underscores, starting with a letter";

/** The name of a table that apps push. */
export const TABLE_PATTERN = "^[a-z][a-z0-9_]{0,47}$";

/** The id of a key or of a session. */
export const ID_LENGTH = 16;
export const ID_PATTERN: string = `^[a-z0-9]{${ID_LENGTH}}$`;

/** Maximum number of characters in an email address. @see https://www.rfc-editor.org/errata/eid1690 */
export const EMAIL_MAX_CHARS = 254;
/** An address of ASCII letters, with a domain of several labels. */
export const EMAIL_PATTERN: string = (() => {
  const local = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
  const label = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  return `^${local}(\\.${local})*@(${label}\\.)+${label}$`;
})();

// UUIDs as text. Ignores version and variant, like PostgreSQL.

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Returns whether a text is a UUID in its usual form: 32 hexadecimal digits of either case, in groups of 8-4-4-4-12.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9562#section-4
 * @example
 * ```ts
 * expect(isUuid("0190163D-8694-739B-aea5-966c26f8ad91")).toBe(true);
 * expect(isUuid("{0190163d8694739baea5966c26f8ad91}")).toBe(false);
 * ```
 */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
