/**
 * One call of the Console: a function on a login of its own, which proves by both cookies who asks before it does anything.
 * Its two refusals are told apart, because a page answers them differently.
 *
 * @module
 */
import { type Database, readSqlState, SERVICE_QUEUE, SIGNALS, SignalError } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import type { PageCookies } from "./sessions.ts";

export type ConsoleDeps = { consoleDb: Database; sessionIdleS: number };

/** Nobody who may act from the Console presents these cookies. */
export class ConsoleRefused extends Problem {
  constructor() {
    super("forbidden");
  }
}

/** Somebody may, but signed in too long ago for such an act. */
export class SignInTooOld extends Problem {
  constructor() {
    super("forbidden", { message: "Sign in again: this was more than 10 minutes ago" });
  }
}

export type ConsoleCall = {
  /** With the cookies and the idle limit as `$1` to `$3`; `values` are those from `$4` on. */
  text: string;
  values?: readonly (string | number | boolean | null)[];
  retry: "safe" | "unsafe";
};

/** @throws {ConsoleRefused} @throws {SignInTooOld} */
export async function callConsole<Row>(
  { consoleDb, sessionIdleS }: ConsoleDeps,
  { session, identity }: PageCookies,
  { text, values = [], retry }: ConsoleCall,
): Promise<Row[]> {
  try {
    return await consoleDb.query<Row>(text, [session, identity, sessionIdleS, ...values], {
      retry,
      queue: SERVICE_QUEUE,
    });
  } catch (error) {
    const state = error instanceof SignalError ? error.signal : readSqlState(error);
    if (state === SIGNALS.consoleRefused) throw new ConsoleRefused();
    throw state === SIGNALS.signInTooOld ? new SignInTooOld() : error;
  }
}
