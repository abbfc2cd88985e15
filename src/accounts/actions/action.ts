/**
 * An action is an SQL function that checks, acts and writes the audit log in the name of its argument `actor`. An operator calls
 * it on the administrator's connection. An administrator calls the Console's function that follows from it, which proves who
 * asks: the line `-- action:` above the SQL function says what it needs (`db/migrations/visitor_functions.ts`).
 *
 * @module
 */
import {
  type Arguments,
  call,
  type Database,
  type FunctionName,
  isForRecentSignIn,
  type Result,
} from "../../db/mod.ts";
import { OPERATOR } from "./audit.ts";
import { toRejection } from "./rejections.ts";

export type PageCookies = { session: string; identity: string };
/** What a browser presents, and from where: for the audit log. */
export type ShownCookies = PageCookies & { from: string };

/** The login that only calls functions of the Console. */
export type ConsoleDeps = { consoleDb: Database; sessionIdleS: number };
/** An administrator in the Console, by what the browser presents. */
export type ConsoleActor = ConsoleDeps & { cookies: ShownCookies };
/** Who acts: an operator on the administrator's connection, or an administrator in the Console. */
export type Actor = { admin: Database } | ConsoleActor;

type Presented = "session_shown" | "identity_shown" | "idle_s" | "shown_from";
/** A function that proves by both cookies who asks, before it does anything else. */
export type ShownFunction = {
  [Name in FunctionName]: Presented extends keyof Arguments<Name> ? Name : never;
}[FunctionName];
/** What it takes besides the cookies. */
export type ShownArguments<Name extends ShownFunction> = Omit<Arguments<Name>, Presented>;

type WithoutPrefix<Name> = Name extends `console_${infer Rest}` ? Rest : never;
/** A function of the Console, without the prefix of its name. */
export type ConsoleFunction = WithoutPrefix<ShownFunction>;

/** Whether a sign-in of the last ten minutes is needed, as the line above the SQL function says. */
export function needsRecentSignIn(name: ConsoleFunction): boolean {
  return isForRecentSignIn(`console_${name}`);
}

type ConsoleName<Name extends string> = `console_${Name}` & ShownFunction;
export type ActionName = {
  [Name in FunctionName]: `console_${Name}` extends ShownFunction ? Name : never;
}[FunctionName];
/** The arguments of both functions, without `actor`. Each gets those that it has. */
export type ActionValues<Name extends ActionName> = Omit<Arguments<Name>, "actor"> &
  Omit<ShownArguments<ConsoleName<Name>>, keyof Arguments<Name>>;

/** What to throw for an error in place of what {@linkcode toRejection} has; `undefined` for the latter. */
type Reject = (error: unknown) => unknown;

/** @throws {Problem} as `rejections.ts` lists them */
export async function runAction<Name extends ActionName>(
  actor: Actor,
  name: Name,
  values: ActionValues<Name>,
  reject?: Reject,
): Promise<Result<Name>> {
  if (!("cookies" in actor))
    return await callAsOperator(actor, name, values as unknown as OperatorArguments<Name>, reject);
  const shown: ConsoleName<Name> = `console_${name}` as ConsoleName<Name>;
  const all = values as unknown as ShownArguments<ConsoleName<Name>>;
  // Both return the same: the compiler cannot compare their shapes.
  return (await callConsole(actor, actor.cookies, shown, all, reject)) as Result<Name>;
}

export type OperatorArguments<Name extends FunctionName> = Omit<Arguments<Name>, "actor">;

/** What a function returns to an operator, who is its `actor` if it has one. @throws {Problem} as {@linkcode runAction} */
export async function callAsOperator<Name extends FunctionName>(
  { admin }: { admin: Database },
  name: Name,
  values: OperatorArguments<Name>,
  reject?: Reject,
): Promise<Result<Name>> {
  const all = { ...values, actor: OPERATOR } as unknown as Arguments<Name>;
  return await call(admin, name, all, {
    reject: (error) => reject?.(error) ?? toRejection(error, { name, values }),
  });
}

/** What a function returns to the person whose cookies are presented. @throws {Problem} as {@linkcode runAction} */
export async function callShown<Name extends ShownFunction>(
  { db, sessionIdleS }: { db: Database; sessionIdleS: number },
  { session, identity, from }: ShownCookies,
  name: Name,
  values: ShownArguments<Name>,
  reject?: Reject,
): Promise<Result<Name>> {
  const presented = {
    session_shown: session,
    identity_shown: identity,
    idle_s: sessionIdleS,
    shown_from: from,
  };
  // Both parts together are the arguments: the compiler cannot add what it has taken away.
  const all = { ...presented, ...values } as unknown as Arguments<Name>;
  const failed = { name, values, isInBrowser: true };
  return await call(db, name, all, {
    reject: (error) => reject?.(error) ?? toRejection(error, failed),
  });
}

/** The same on the Console's login. @throws {Problem} as {@linkcode runAction} */
export async function callConsole<Name extends ShownFunction>(
  { consoleDb: db, sessionIdleS }: ConsoleDeps,
  cookies: ShownCookies,
  name: Name,
  values: ShownArguments<Name>,
  reject?: Reject,
): Promise<Result<Name>> {
  return await callShown({ db, sessionIdleS }, cookies, name, values, reject);
}
