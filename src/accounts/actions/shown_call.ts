/**
 * One call of a function that takes what a browser shows before anything else, and proves by both cookies who asks before
 * it does anything else.
 *
 * @module
 */
import {
  type Arguments,
  call,
  type Database,
  type FunctionName,
  type Result,
  readSqlState,
  SignalError,
} from "../../db/mod.ts";
import { Problem } from "../../problem.ts";

export type PageCookies = { session: string; identity: string };
/** What a browser shows, and from where: for the audit log. */
export type ShownCookies = PageCookies & { from: string };

/** The session was proven too long ago for such an act, or not by the second factor of its owner. */
export class SignInTooOld extends Problem {
  constructor() {
    super("forbidden", { message: "Sign in again: this was more than 10 minutes ago" });
  }
}

type Presented = "session_shown" | "identity_shown" | "idle_s" | "shown_from";
/** A function that takes what a browser shows, and what it takes besides. */
export type ShownFunction = {
  [Name in FunctionName]: Presented extends keyof Arguments<Name> ? Name : never;
}[FunctionName];
export type ShownArguments<Name extends ShownFunction> = Omit<Arguments<Name>, Presented>;

/** What to throw for an error of the function; any other error is thrown as it is. */
export type Reject = (error: unknown) => unknown;

type ShownDeps = {
  db: Database;
  sessionIdleS: number;
  /** What the signals of every such function mean. */
  refusals: Readonly<Record<string, () => Problem>>;
};

/** What the function returns. */
export async function callShown<Name extends ShownFunction>(
  { db, sessionIdleS, refusals }: ShownDeps,
  { session, identity, from }: ShownCookies,
  name: Name,
  values: ShownArguments<Name>,
  reject: Reject = (error) => error,
): Promise<Result<Name>> {
  const presented = {
    session_shown: session,
    identity_shown: identity,
    idle_s: sessionIdleS,
    shown_from: from,
  };
  // Both parts together are the arguments: the compiler cannot add what it has taken away.
  const all = { ...presented, ...values } as unknown as Arguments<Name>;
  return await call(db, name, all, {
    reject: (error) => {
      const state = error instanceof SignalError ? error.signal : readSqlState(error);
      return refusals[state ?? ""]?.() ?? reject(error);
    },
  });
}
