/**
 * Lifetimes and limits that several parts of the service share. SQL files name them as `${NAME}`; on the pages of docs/ a comment
 * follows the number, `10 minutes<!-- RECENT_SIGN_IN_S -->`, and `bun run generate` writes it.
 *
 * @module
 */
import { DAY_S, toDurationText } from "./duration.ts";

/** How long after a sign-in a session can perform sensitive actions. */
export const RECENT_SIGN_IN_S = 600;
export const RECENT_SIGN_IN = toDurationText(RECENT_SIGN_IN_S);

/** How long a sign-in waits for the second factor. */
export const PENDING_LIFE_S = 600;
/** Time limit for a sign-in at a provider. */
export const PROVIDER_STATE_LIFE_S = 600;
/** How long a challenge for a passkey is valid. */
export const CHALLENGE_LIFE_S = 600;
/** How long a person can postpone a required second factor. */
export const FACTOR_GRACE_S = 7 * DAY_S;

/** How long a link of an invitation or an administrator can set a password. */
export const LINK_LIFE_S = 3 * DAY_S;
/** The same for a link that a person requested, whose email can be read by others later. */
export const FORGOTTEN_LINK_LIFE_S = 1800;

/** Max duration of a count of attempts: a stolen login cannot lock out people for longer. */
export const MAX_COUNT_S = 30 * DAY_S;
export const MAX_PASSKEYS = 10;

/** No login can delete an entry of the audit log earlier. */
export const MIN_AUDIT_RETENTION_S = 30 * DAY_S;
export const AUDIT_RETENTION_S = 400 * DAY_S;
/** Max rows that a step of a sweep deletes. */
export const SWEEP_STEP = 1000;
