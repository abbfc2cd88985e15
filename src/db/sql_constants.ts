/** Constants that the service's SQL files repeat. @module */

/** The app id for totals over all apps in statistics; includes requests without an app. */
export const ALL_APPS = "00000000-0000-0000-0000-000000000000";
/** The app ids, in statistics, for requests without an app, and for those of the Console. */
export const NO_APP = "00000000-0000-0000-0000-000000000001";
export const CONSOLE_APP = "00000000-0000-0000-0000-000000000002";

/**
 * For SQL that a message runs and for what PostgreSQL prints in it, whatever the database sets: a backslash is a character, and
 * only names that need quotes have them. PostgreSQL reads the whole message before, by the setting of the database.
 */
export const PLAIN_TEXT = `set local standard_conforming_strings = on;
set local quote_all_identifiers = off;`;

/**
 * Max total wait of a push or conversion for table locks. Requests queue behind the wait, so this bounds their delay. It
 * is shorter than PostgreSQL's deadlock_timeout of 1 s, so that a deadlock fails the push, never a request.
 */
export const LOCK_BUDGET_MS = 700;

/** How many bodies of functions a statement reads to compare them: it takes about a second. */
export const BODIES_AT_ONCE = 20_000;

/**
 * Processes of earlier releases need what `rowhouse migrate --contract` removes. Also the earliest release that works on a new
 * database, which never has it.
 */
export const CONTRACTED_FROM = "0.2.0";

/** The first letter of a write function's result if nothing was written. The text of a row starts with another letter. */
export const REPLAY = {
  /** The first response follows. */
  whole: "R",
  /** The first response was large; only its ids follow. */
  short: "I",
  /** The key was used with another request. */
  mismatch: "M",
  /** The key is new, and the app's storage for keys is full. */
  full: "F",
} as const;

/** The start of the detail of the error of conditions that too many referenced rows meet, before the path of the reference. */
export const TOO_MANY_REFERENCED = "reference ";
/** The detail of the error of a write whose conditions match more rows than its limit. */
export const TOO_MANY_ROWS = "rows";

/** The bytes of a row's state in the tag of a list, and of the id with which it begins: the first state identifies the start of the page. */
export const STATE_BYTES = 26;
export const ID_BYTES = 16;

/** Up to this many rows, each of up to this many bytes, are built as they are found. Others are built after the size of the page is known. */
export const FOUND_ROWS = 100;
export const FOUND_ROW_BYTES = 8192;

/** How a list begins the tags that its caller knows: whether the page ends in a cursor. */
export const CURSOR_END = "next";
export const PLAIN_END = "page";

/** A larger response is not stored, only its ids. */
export const MAX_STORED_RESPONSE_BYTES = 16_384;

/** The accepted tags of a row in its body, in a list of updates: no column has a capital letter. */
export const ROW_MATCH = "ifMatch";
/** The start of the result of an update of several rows that wrote nothing, before the positions of rows, as JSON. */
export const NO_MATCHES = "N";
/** Hex digits of a text's SHA-256 in a tag: 128 bits. */
export const TAG_LENGTH = 32;

/** The setting of every message that changes tables: one node of a Citus cluster after the other. Without effect on one PostgreSQL. */
export const NODES_IN_TURN = "set local citus.multi_shard_modify_mode = 'sequential'";
/** Before statements of which no other node needs a copy, such as roles: `spreadLogins` copies them under its lock. */
export const ONLY_HERE = "set local citus.enable_ddl_propagation = 'off'";
