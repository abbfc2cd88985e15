/** The wait before a retry. Sends nothing. @module */

/** Max requested wait: if the service requests a longer wait, the client does not retry. */
export const RETRY_WAIT_MAX_MS = 10_000;

const FIRST_WAIT_MS = 200;
const JITTER = 0.25;

/**
 * The milliseconds in a `Retry-After` header of seconds or a date; `undefined` for a missing or malformed header.
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-retry-after
 *
 * @example
 * ```ts
 * expect(readRetryAfter("2", Date.now())).toBe(2000);
 * expect(readRetryAfter("Wed, 21 Oct 2026 07:28:00 GMT", Date.UTC(2026, 9, 21, 7, 27, 57))).toBe(3000);
 * expect(readRetryAfter("soon", Date.now())).toBeUndefined();
 * ```
 */
export function readRetryAfter(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // HTTP dates start with a letter. Date.parse accepts many other formats.
  const at = /^[A-Z][a-z]/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

/**
 * The milliseconds to wait after a failed attempt. Attempts count from 0. The wait is never shorter than the service
 * requested; `chance` (0 to 1) spreads the retries of callers that failed together.
 *
 * @example
 * ```ts
 * expect(toRetryWait({ attempt: 0, retryAfterMs: undefined, chance: 0.5 })).toBe(150);
 * expect(toRetryWait({ attempt: 2, retryAfterMs: undefined, chance: 1 })).toBe(800);
 * expect(toRetryWait({ attempt: 0, retryAfterMs: 2000, chance: 1 })).toBe(2500);
 * ```
 */
export function toRetryWait(after: {
  readonly attempt: number;
  readonly retryAfterMs: number | undefined;
  readonly chance: number;
}): number {
  if (after.retryAfterMs !== undefined) return after.retryAfterMs * (1 + JITTER * after.chance);
  const maxWaitMs = Math.min(FIRST_WAIT_MS * 2 ** after.attempt, RETRY_WAIT_MAX_MS);
  return (maxWaitMs / 2) * (1 + after.chance);
}
