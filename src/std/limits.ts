/**
 * Lifetimes and limits that several parts of the service share, or that SQL files or docs name; others are beside their use. SQL
 * files name them as `${NAME}`; on the pages of docs/ a comment follows the number, `10 minutes<!-- RECENT_SIGN_IN_S -->`, and
 * `bun run generate` writes it.
 *
 * @module
 */
import { DAY_S, toDurationText } from "./duration.ts";

/** How long after a sign-in a session can perform sensitive actions. */
export const RECENT_SIGN_IN_S = 600;
export const RECENT_SIGN_IN: string = /* @__PURE__ */ toDurationText(RECENT_SIGN_IN_S);

/** How long a sign-in waits for the second factor. */
export const PENDING_LIFE_S = 600;
/** Time limit for a sign-in at a provider. */
export const PROVIDER_STATE_LIFE_S = 600;
/** How long a challenge for a passkey is valid. */
export const CHALLENGE_LIFE_S = 600;
/** How long a person can postpone a required second factor. */
export const FACTOR_GRACE_S: number = 7 * DAY_S;

/** How long a link of an invitation or an administrator can set a password. */
export const LINK_LIFE_S: number = 3 * DAY_S;
/** The same for a link that a person requested, whose email can be read by others later. */
export const FORGOTTEN_LINK_LIFE_S = 1800;

/** Max duration of a count of attempts: a stolen login cannot lock out people for longer. */
export const MAX_COUNT_S: number = 30 * DAY_S;
export const MAX_PASSKEYS = 10;

/** Max attempts to sign in within the window: with an address from one client, with an address from all clients. */
export const SIGN_IN_WINDOW_S = 900;
export const SIGN_INS_OF_PAIR = 10;
export const SIGN_INS_OF_ADDRESS = 100;
/** The same from a client with any address, and from the larger networks of an IPv6 client. */
export const SIGN_INS_OF_CLIENT = 60;
export const SIGN_INS_OF_56 = 120;
export const SIGN_INS_OF_48 = 240;
/** All attempts in a minute. Above the first limit unknown devices are slowed down, above the second they wait. */
export const SIGN_INS_A_MINUTE = 600;
export const MAX_SIGN_INS_A_MINUTE = 3000;

/** Max difference between the clocks of a gateway and a service: how long a signed request is valid. */
export const SIGNATURE_LIFE_S = 60;
/** Longer than any process accepts a request: two clocks can differ in opposite directions. */
export const NONCE_LIFE_S: number = 5 * SIGNATURE_LIFE_S;
/** A process reports each minute; without a report in this time it is silent. */
export const PROCESS_SILENT_S = 180;

/** No login can delete an entry of the audit log earlier. */
export const MIN_AUDIT_RETENTION_S: number = 30 * DAY_S;
export const AUDIT_RETENTION_S: number = 400 * DAY_S;
export const SWEEP_STEP = 1000;

/** Max rows of a page, and of a request that creates rows. */
export const MAX_ROWS = 1000;
export const MAX_BATCH = 1000;
/** Max ids of rows that a request would write, in the response to its dry run. */
export const DRY_IDS = 20;
/** Max rows that a list of a person sorts or skips: with more, PostgreSQL finds them as for a query. */
export const MAX_VISITS = 10_000;
/** Max ids of rows that a condition on referenced rows can find, and that a dry run counts. */
export const MAX_FOUND_IDS = 10_000;
/** Max memberships of a person whose rows a list walks. With more, PostgreSQL finds and sorts them. */
export const MAX_MEMBERSHIPS = 1000;
/** Max rows or index entries that a count reads, and that groups are made of. */
export const MAX_COUNTED = 100_000;
/** Max groups of a response, and max bytes of a text by which rows are grouped. */
export const MAX_GROUPS = 1000;
export const MAX_GROUP_KEY_BYTES = 1024;
/** Max bytes of a body for rows: of one row, of a list by default, and of a list at most. */
export const MAX_BODY_BYTES = 102_400;
export const MOST_BATCH_BYTES = 1_048_576;
/** Max bytes of a body that a page of the Console sends: a value with each byte escaped beside others, or a row of a file. */
export const MAX_PAGE_BYTES = 1_048_576;
/** Max bytes of a body between processes with the default size of a row. */
export const WALL_BYTES = 16_777_216;
/** The limit of a list, in the description of the API. */
export const MAX_BATCH_KEYWORD = "x-rowhouse-max-batch-bytes";
export const MAX_PEOPLE = 1000;
/** How long a key of the Console for an app's rows is valid, and with it a stream of the Console. */
export const ROWS_KEY_LIFE_S = 300;

/** How long a person's key works, in seconds. */
export const PERSON_KEY_LIFE_S = 600;
/** Max new keys of a person for an app in a minute. */
export const PERSON_KEYS_A_MINUTE = 60;
/** Execution time of a query that no index serves; how many of an app's run at a time, and for how long in a minute, in all processes. */
export const UNINDEXED_TIMEOUT_MS = 1000;
export const UNINDEXED_AT_A_TIME = 2;
export const UNINDEXED_A_MINUTE_MS = 20_000;
/** Bytes of a person's body that count as one request: histories keep what people write. */
export const BODY_BYTES_A_REQUEST = 8192;
/** Max live keys of a session for an app: the next one ends the oldest. */
export const LIVE_PERSON_KEYS = 20;

/** How long the response to a write with an `Idempotency-Key` is stored. */
export const IDEMPOTENCY_HOURS = 24;
/** The interval between counts of the stored responses. */
export const IDEMPOTENCY_COUNT_S = 600;

/** How long a recorded change of a row is stored at least; at most twice as long. */
export const CHANGE_LIFE_S = 600;
/** A reader that is more changes behind must read the table again. */
export const MAX_CHANGES = 1000;
/** Max bytes of one event of a stream, and of unread bytes of a stream behind it. */
export const MAX_EVENT_BYTES = 1_048_576;
export const MAX_BACKLOG_BYTES = 65_536;
/** A stream ends then and its reader reconnects, so that no stream outlives its reader for long. */
export const STREAM_LIFE_S = 900;

/** How many days the history of an app's rows goes back by default, and at most. */
export const HISTORY_DAYS = 30;
export const MAX_HISTORY_DAYS = 365;
/** The bytes of a change in the history of rows, without its values. */
export const CHANGE_BYTES = 200;
/** Max bytes of an app's history: then the oldest changes of the people and keys with the most go first. */
export const HISTORY_BYTES = 268_435_456;
/** Max changes that a step of the sweep, or of the deletion of an app, deletes. */
export const HISTORY_STEP = 10_000;

/** How long counts of requests by minute and by hour are stored: a week and the week before. */
export const MINUTES_LIFE_S: number = DAY_S;
export const HOURS_LIFE_S: number = 15 * DAY_S;
/** Slower requests are stored, like failed ones. */
export const SLOW_MS = 1000;
export const FAILED_LIFE_S: number = DAY_S;
export const REJECTED_LIFE_S: number = 7 * DAY_S;
/** Max failed and slow requests, and rejected requests, that a process stores of a minute. */
export const MAX_FAILED_A_MINUTE = 100;
export const MAX_REJECTED_A_MINUTE = 1000;
export const MAX_REJECTED_OF_APP = 1000;
/** Max similar requests whose ids are stored with a rejected request, and in total of a minute. */
export const MAX_MERGED = 200;
export const MAX_MERGED_A_MINUTE = 5000;
/** Max combinations of table and error code that are counted of an app, and max fields of a rejected request. */
export const MAX_REJECTED_KINDS = 200;
export const MAX_REJECTED_PATHS = 20;

/** Max first rows of a list that the Console sorts by a column. */
export const MAX_SORTED_ROWS = 5000;

/** Without mail in this time, no process sends mail. */
export const MAIL_PAUSE_S = 600;
/** How long an email that was not delivered is stored, and reported. */
export const GIVEN_UP_LIFE_S: number = 30 * DAY_S;

/** Up to about this many bytes, the texts of rows are built in one step and then measured. */
export const SINGLE_STEP_BYTES = 786_432;
