/**
 * One call of a function that takes what a browser shows before anything else, and proves by both cookies who asks before
 * it does anything else.
 *
 * @module
 */
import { type Database, readSqlState, SERVICE_QUEUE, SignalError } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import type { PageCookies } from "./sessions.ts";

/** What a browser shows, and from where: for the audit log. */
export type ShownCookies = PageCookies & { from: string };

/** The session was proven too long ago for such an act, or not by the second factor of its owner. */
export class SignInTooOld extends Problem {
  constructor() {
    super("forbidden", { message: "Sign in again: this was more than 10 minutes ago" });
  }
}

export type ShownCall = {
  /** Of the function, without its schema. */
  name: string;
  /** What it takes after the cookies, the idle limit and the address. */
  values?: readonly (string | number | boolean | null)[];
  /** These as SQL, where a value must be cast: `$5` is the first. */
  passed?: string;
  retry: "safe" | "unsafe";
};

type ShownDeps = {
  db: Database;
  sessionIdleS: number;
  /** What the function's own signals mean; any other error is thrown as it is. */
  refusals: Readonly<Record<string, () => Problem>>;
};

const FIRST = 5;

/** Its rows; of a function that returns one value, with that as `result`. */
export async function callShown<Row>(
  deps: ShownDeps,
  cookies: ShownCookies,
  call: ShownCall,
): Promise<Row[]> {
  return await run<Row>(deps, cookies, {
    ...call,
    text: `select * from ${toCall(call)} as result`,
  });
}

/** What a function shows as JSON. */
export async function readShown<Content>(
  deps: ShownDeps,
  cookies: ShownCookies,
  call: Omit<ShownCall, "retry">,
): Promise<Content> {
  const text = `select ${toCall(call)}::text as shown`;
  const [row] = await run<{ shown: string }>(deps, cookies, { ...call, text, retry: "safe" });
  if (row === undefined) throw new Error(`${call.name} gave no row`);
  return JSON.parse(row.shown) as Content;
}

function toCall({ name, values = [], passed }: Omit<ShownCall, "retry">): string {
  const rest = passed ?? values.map((_, place) => `$${FIRST + place}`).join(", ");
  return `rowhouse.${name}($1, $2, $3, $4${rest === "" ? "" : `, ${rest}`})`;
}

async function run<Row>(
  { db, sessionIdleS, refusals }: ShownDeps,
  { session, identity, from }: ShownCookies,
  { text, values = [], retry }: ShownCall & { text: string },
): Promise<Row[]> {
  try {
    return await db.query<Row>(text, [session, identity, sessionIdleS, from, ...values], {
      retry,
      queue: SERVICE_QUEUE,
    });
  } catch (error) {
    const state = error instanceof SignalError ? error.signal : readSqlState(error);
    throw refusals[state ?? ""]?.() ?? error;
  }
}
