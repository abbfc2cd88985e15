/**
 * One statement on one connection, with a time limit: canceled in the database at its limit or when its caller disconnects,
 * and abandoned if neither it nor the cancellation gets a response. Never leaves a promise unsettled.
 *
 * @module
 */
import { recordNodeError } from "../node_errors.ts";
import { SilenceError, UnsentError } from "../sqlstate.ts";
import type { Connection, Pending, Statement } from "./connection.ts";
import type { Ticker } from "./ticker.ts";

/** The caller; checked only while the statement runs long. */
export type Caller = { readonly signal: AbortSignal };

type StatementLimits = {
  limitMs: number;
  caller: Caller | undefined;
  ticker: Ticker;
  /** Whether a cancellation would reach no other statement. */
  mayCancel: () => boolean;
};

export type StatementEnd = {
  /** Whether the connection must not be reused: it is lost or unresponsive, or a cancellation can still arrive. */
  isSuspect: boolean;
} & ({ rows: unknown[] } | { error: unknown; isTimedOut: boolean; isAsked: boolean });

/** How long a canceled statement can continue before its caller gets an error. */
const CANCEL_GRACE_MS = 1000;

/** How the statement ended; never rejects. */
export function runStatement(
  connection: Connection,
  statement: Statement,
  { ticker, ...limits }: StatementLimits,
): Promise<StatementEnd> {
  return new Promise((resolve) => {
    const sent = { connection, pending: connection.send(statement), ...limits };
    const running = makeRunning(sent, (end) => {
      ticker.remove(running);
      resolve(end);
    });
    ticker.add(running);
    sent.pending.then(running.finish, (error: unknown) => {
      if (!isForgotten(error)) return running.fail(error);
      // The driver prepares it again.
      sent.pending = connection.send(statement);
      sent.pending.then(running.finish, running.fail);
    });
  });
}

/** Where PostgreSQL rejects a prepared statement that the server has forgotten, or whose result has changed. */
const FORGOTTEN = new Set([
  "FetchPreparedStatement",
  "RevalidateCachedQuery",
  "transformAssignedExpr",
]);

function isForgotten(error: unknown): boolean {
  return error instanceof Error && "routine" in error && FORGOTTEN.has(String(error.routine));
}

type Sent = Omit<StatementLimits, "ticker"> & {
  connection: Connection;
  pending: Pending;
};

function makeRunning(sent: Sent, end: (end: StatementEnd) => void) {
  const { connection, caller, limitMs, mayCancel } = sent;
  let limitAt = performance.now() + limitMs;
  let isTimedOut = false;
  let isCanceled = false;
  let isForgotten = false;
  const cancel = (): void => {
    if (isCanceled || !mayCancel()) return;
    isCanceled = true;
    void connection.cancel(sent.pending);
  };
  const fail = (error: unknown): void => {
    recordNodeError(error, connection.readWarning());
    const isAlive = connection.isAlive();
    const cause = !isAlive && connection.isUnsent(sent.pending) ? new UnsentError() : error;
    end({ error: cause, isTimedOut, isAsked: isCanceled, isSuspect: isCanceled || !isAlive });
  };
  const passLimit = (now: number): void => {
    if (isTimedOut) end({ error: new SilenceError(), isTimedOut, isAsked: true, isSuspect: true });
    isTimedOut = true;
    limitAt = now + CANCEL_GRACE_MS;
    cancel();
  };
  return {
    finish: (rows: unknown[]): void => end({ rows, isSuspect: isCanceled }),
    fail,
    tick: (now: number): void => {
      if (caller?.signal.aborted === true) cancel();
      if (isForgotten) fail(lost());
      else if (now >= limitAt) passLimit(now);
      // The driver rejects the statements of a lost connection; the next tick ends statements that the driver missed.
      isForgotten = !connection.isAlive();
    },
  };
}

export function lost(): Error {
  return Object.assign(new Error("Lost"), { code: "CONNECTION_CLOSED" });
}
