/**
 * Logs a database outage once when it begins and once when it ends, with its duration and the
 * number of failed requests. A condition that only an operator ends, such as a full disk, is logged once a minute while requests
 * fail because of it. Each failed request also has its own log line, without a stack.
 *
 * @module
 */
import { type Condition, findCondition } from "../db/mod.ts";
import { type Log, type ResponseRecord, toCause } from "../observe.ts";

type Outage = {
  /** Call when no connection can be opened; `cause` is the error of the first attempt. */
  readonly begin: (cause: unknown) => void;
  /** Call when the database refuses another connection while some are open. */
  readonly refuse: (cause: unknown) => void;
  /** Call when a connection opens. */
  readonly end: () => void;
  readonly isUnderWay: () => boolean;
  /** Counts a response during the outage, and logs a condition of the database that it failed by. */
  readonly record: (response: ResponseRecord) => void;
};

const CONDITION_INTERVAL_MS = 60_000;

/** `now` is a monotonic clock. */
export function makeOutage({ log, now }: { log: Log; now: () => number }): Outage {
  let beganAt: number | undefined;
  let rejected = 0;
  const loggedAt = new Map<string, number>();
  const logCondition = (cause: unknown): void => {
    const found = findCondition(cause);
    if (found?.remedy === undefined) return;
    const last = loggedAt.get(found.sqlState);
    if (last !== undefined && now() - last < CONDITION_INTERVAL_MS) return;
    loggedAt.set(found.sqlState, now());
    log("error", "database condition", { message: toText(found), cause: found.sqlState });
  };
  return {
    begin: (cause) => {
      if (beganAt !== undefined) return;
      beganAt = now();
      rejected = 0;
      const condition = findCondition(cause);
      const message = `${condition === undefined ? "" : `${toText(condition)}. `}Requests that need the database get 503 until it is available`;
      log("warn", "database unavailable", { message, cause: toCause(cause) });
    },
    refuse: logCondition,
    end: () => {
      if (beganAt === undefined) return;
      log("warn", "database available", { ms: Math.round(now() - beganAt), rejected });
      beganAt = undefined;
    },
    isUnderWay: () => beganAt !== undefined,
    record: ({ code, cause }) => {
      if (code !== "unavailable") return;
      if (beganAt === undefined) logCondition({ code: cause });
      else rejected++;
    },
  };
}

/** The condition and its remedy; the log does not know which login it was. */
function toText({ is, remedy }: Condition): string {
  const advice = remedy?.("the connection string");
  return `The database ${is}${advice === undefined ? "" : `: ${advice}`}`;
}
