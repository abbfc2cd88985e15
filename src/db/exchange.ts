/**
 * One statement on one connection, bounded in time: cancelled in the database at its limit or when its caller has
 * gone, and given up where neither it nor the cancellation is answered. Never leaves a promise unsettled.
 *
 * @module
 */
import type { Connection, Statement } from "./connection.ts";
import { SilenceError } from "./sqlstate.ts";

export type ExchangeLimits = { limitMs: number; signal: AbortSignal | undefined };

export type End = {
  /** The connection must not be used again: it is lost, silent, or a cancellation may still be on its way to it. */
  isSuspect: boolean;
} & ({ rows: unknown[] } | { error: unknown; isTimedOut: boolean; isAsked: boolean });

/** How long a cancelled statement may go on before its caller is answered without it. */
export const CANCEL_GRACE_MS = 1000;

/** How the statement ended; never rejects. */
export function exchange(
  connection: Connection,
  statement: Statement,
  { limitMs, signal }: ExchangeLimits,
): Promise<End> {
  return new Promise((resolve) => {
    let isTimedOut = false;
    let isCancelled = false;
    let timer: Timer;
    const pending = connection.send(statement);
    const finish = (end: End): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
      connection.onLost = forget;
      resolve(end);
    };
    const fail = (error: unknown): void =>
      finish({
        error,
        isTimedOut,
        isAsked: isCancelled,
        isSuspect: isCancelled || isLost(connection),
      });
    const cancel = (): void => {
      if (isCancelled) return;
      isCancelled = true;
      void connection.cancel(pending);
    };
    const forget = connection.onLost;
    connection.onLost = () => {
      forget();
      // The driver rejects what was under way a moment later; this is for what it forgot.
      setTimeout(() => fail(Object.assign(new Error("Lost"), { code: "CONNECTION_CLOSED" })), 0);
    };
    timer = setTimeout(() => {
      isTimedOut = true;
      cancel();
      timer = setTimeout(
        () => finish({ error: new SilenceError(), isTimedOut, isAsked: true, isSuspect: true }),
        CANCEL_GRACE_MS,
      );
    }, limitMs);
    pending.then((rows) => finish({ rows, isSuspect: isCancelled }), fail);
    if (signal === undefined) return;
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
  });
}

function isLost(connection: Connection): boolean {
  return !connection.isAlive();
}
