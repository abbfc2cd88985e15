/**
 * One call of the Console: a function on a login of its own, which proves by both cookies who asks before it does anything.
 * Its refusals are told apart, because a page answers them differently.
 *
 * @module
 */
import { type Database, SIGNALS } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import {
  callShown,
  readShown,
  type ShownCall,
  type ShownCookies,
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

/** @throws {ConsoleRefused} @throws {SecondFactorNeeded} @throws {SignInTooOld} */
export async function callConsole<Row>(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  call: ShownCall,
): Promise<Row[]> {
  return await callShown<Row>(toShown(deps), cookies, call);
}

/** What a function of the Console shows as JSON. @throws {ConsoleRefused} @throws {SecondFactorNeeded} @throws {SignInTooOld} */
export async function readConsole<Content>(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  call: Omit<ShownCall, "retry">,
): Promise<Content> {
  return await readShown<Content>(toShown(deps), cookies, call);
}

const REFUSALS = {
  [SIGNALS.consoleRefused]: () => new ConsoleRefused(),
  [SIGNALS.signInTooOld]: () => new SignInTooOld(),
  [SIGNALS.secondFactorNeeded]: () => new SecondFactorNeeded(),
};

function toShown({ consoleDb, sessionIdleS }: ConsoleDeps) {
  return { db: consoleDb, sessionIdleS, refusals: REFUSALS };
}
