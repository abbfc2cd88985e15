/**
 * Patterns that the code and the service's own tables share: regular expressions with the same meaning in JavaScript and
 * PostgreSQL.
 *
 * @example
 * ```ts
 * import { expect } from "bun:test";
 * import { TABLE_PATTERN } from "./stored_text.ts";
 *
 * expect("todos").toMatch(new RegExp(TABLE_PATTERN));
 * expect("Todos").not.toMatch(new RegExp(TABLE_PATTERN));
 * ```
 *
 * @module
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
