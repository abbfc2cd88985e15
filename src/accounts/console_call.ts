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

/** What a browser of an administrator shows, and from where: for the audit log. */
export type ShownCookies = PageCookies & { from: string };

export type ConsoleCall = {
  /** Of a function of the Console, without its schema. */
  name: string;
  /** What it takes after the cookies, the idle limit and the address. */
  values?: readonly (string | number | boolean | null)[];
  /** These as SQL, where a value must be cast: `$5` is the first. */
  passed?: string;
  retry: "safe" | "unsafe";
};

const FIRST = 5;

/** @throws {ConsoleRefused} @throws {SignInTooOld} */
export async function callConsole<Row>(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  call: ConsoleCall,
): Promise<Row[]> {
  return await run<Row>(deps, cookies, {
    ...call,
    text: `select * from ${toCall(call)} as result`,
  });
}

/** What a function of the Console shows as JSON. @throws {ConsoleRefused} @throws {SignInTooOld} */
export async function readConsole<Content>(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  call: Omit<ConsoleCall, "retry">,
): Promise<Content> {
  const text = `select ${toCall(call)}::text as shown`;
  const [row] = await run<{ shown: string }>(deps, cookies, { ...call, text, retry: "safe" });
  if (row === undefined) throw new Error(`${call.name} gave no row`);
  return JSON.parse(row.shown) as Content;
}

function toCall({ name, values = [], passed }: Omit<ConsoleCall, "retry">): string {
  const rest = passed ?? values.map((_, place) => `$${FIRST + place}`).join(", ");
  return `rowhouse.${name}($1, $2, $3, $4${rest === "" ? "" : `, ${rest}`})`;
}

async function run<Row>(
  { consoleDb, sessionIdleS }: ConsoleDeps,
  { session, identity, from }: ShownCookies,
  { text, values = [], retry }: ConsoleCall & { text: string },
): Promise<Row[]> {
  try {
    return await consoleDb.query<Row>(text, [session, identity, sessionIdleS, from, ...values], {
      retry,
      queue: SERVICE_QUEUE,
    });
  } catch (error) {
    const state = error instanceof SignalError ? error.signal : readSqlState(error);
    if (state === SIGNALS.consoleRefused) throw new ConsoleRefused();
    throw state === SIGNALS.signInTooOld ? new SignInTooOld() : error;
  }
}
