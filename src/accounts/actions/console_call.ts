/**
 * One call of the Console: a function on a login of its own, which proves by both cookies who asks before it does anything.
 * Its refusals are told apart, because a page answers them differently.
 *
 * @module
 */
import { type Database, type Result, SIGNALS } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import {
  callShown,
  type Reject,
  type ShownArguments,
  type ShownCookies,
  type ShownFunction,
  SignInTooOld,
} from "./shown_call.ts";

export type ConsoleDeps = { consoleDb: Database; sessionIdleS: number };

/** Nobody who may act from the Console presents these cookies. */
export class ConsoleRefused extends Problem {
  constructor() {
    super("forbidden");
  }
}

/** Somebody may, but has to add a second factor first. */
export class SecondFactorNeeded extends Problem {
  constructor() {
    super("forbidden", { message: "Add a second factor first" });
  }
}

/** What the function returns. @throws {ConsoleRefused} @throws {SecondFactorNeeded} @throws {SignInTooOld} */
export async function callConsole<Name extends ShownFunction>(
  { consoleDb: db, sessionIdleS }: ConsoleDeps,
  cookies: ShownCookies,
  name: Name,
  values: ShownArguments<Name>,
  reject?: Reject,
): Promise<Result<Name>> {
  return await callShown({ db, sessionIdleS, refusals: REFUSALS }, cookies, name, values, reject);
}

const REFUSALS = {
  [SIGNALS.consoleRefused]: () => new ConsoleRefused(),
  [SIGNALS.signInTooOld]: () => new SignInTooOld(),
  [SIGNALS.secondFactorNeeded]: () => new SecondFactorNeeded(),
};
