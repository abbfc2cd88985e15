/**
 * Logs a database outage once when it begins and once when it ends, with its duration and the number of failed requests.
 * Each failed request also has its own log line, without a stack.
 *
 * @module
 */
import { type Log, type ResponseRecord, toCause } from "../observe.ts";

export type Outage = {
  /** Call when no connection can be opened; `cause` is the error of the first attempt. */
  readonly begin: (cause: unknown) => void;
  /** Call when a connection opens. */
  readonly end: () => void;
  readonly isUnderWay: () => boolean;
  /** Counts a response during the outage. */
  readonly record: (response: ResponseRecord) => void;
};

/** `now` is a monotonic clock. */
export function makeOutage({ log, now }: { log: Log; now: () => number }): Outage {
  let beganAt: number | undefined;
  let rejected = 0;
  return {
    begin: (cause) => {
      if (beganAt !== undefined) return;
      beganAt = now();
      rejected = 0;
      const message = "Requests that need the database get 503 until it is available";
      log("warn", "database unavailable", { message, cause: toCause(cause) });
    },
    end: () => {
      if (beganAt === undefined) return;
      log("warn", "database available", { ms: Math.round(now() - beganAt), rejected });
      beganAt = undefined;
    },
    isUnderWay: () => beganAt !== undefined,
    record: ({ code }) => {
      if (beganAt !== undefined && code === "unavailable") rejected++;
    },
  };
}
