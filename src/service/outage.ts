/**
 * An outage of the database is logged once when it begins and once when it ends: how long it lasted and how many requests
 * were refused. Each of these also has its own line, without a stack.
 *
 * @module
 */
import { type AnswerRecord, type Log, toCause } from "../observe.ts";

export type Outage = {
  /** No connection can be made; `cause` is the first attempt's error. */
  readonly begin: (cause: unknown) => void;
  /** A connection was made. */
  readonly end: () => void;
  readonly isUnderWay: () => boolean;
  /** Counts an answer that was given while it lasted. */
  readonly note: (answer: AnswerRecord) => void;
};

/** The record of outages; `now` is a monotonic clock. */
export function makeOutage({ log, now }: { log: Log; now: () => number }): Outage {
  let beganAt: number | undefined;
  let refused = 0;
  return {
    begin: (cause) => {
      if (beganAt !== undefined) return;
      beganAt = now();
      refused = 0;
      const message = "Requests that need the database get 503 until it is available";
      log("warn", "database away", { message, cause: toCause(cause) });
    },
    end: () => {
      if (beganAt === undefined) return;
      log("warn", "database there", { ms: Math.round(now() - beganAt), refused });
      beganAt = undefined;
    },
    isUnderWay: () => beganAt !== undefined,
    note: ({ code }) => {
      if (beganAt !== undefined && code === "unavailable") refused++;
    },
  };
}
