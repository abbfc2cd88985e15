/**
 * An action is an SQL function that checks, executes and writes the audit log for its argument `actor`. An operator calls it on
 * the administrator's connection. An administrator calls the Console function generated from it, which authenticates the
 * caller: the line `-- action:` above the SQL function states what it needs (`db/migrations/visitor_functions.ts`).
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
/** The cookies and the client of a browser; the audit log records the client. */
export type PresentedCookies = PageCookies & { from: string };

/** The login that can only call Console functions. */
export type ConsoleDeps = { consoleDb: Database; sessionIdleS: number };
/** An administrator in the Console, identified by the cookies. */
export type ConsoleActor = ConsoleDeps & { cookies: PresentedCookies };
/** The caller of an action: an operator on the administrator's connection, or an administrator in the Console. */
export type Actor = { admin: Database } | ConsoleActor;

type Presented = "session_cookie" | "identity_cookie" | "idle_s" | "client_address";
/** A function that first authenticates the caller by both cookies. */
export type DisplayedFunction = {
  [Name in FunctionName]: Presented extends keyof Arguments<Name> ? Name : never;
}[FunctionName];
/** The function's arguments, without the cookies. */
export type ArgumentLabels<Name extends DisplayedFunction> = Omit<Arguments<Name>, Presented>;

type WithoutPrefix<Name> = Name extends `console_${infer Rest}` ? Rest : never;
/** A function of the Console, without the prefix of its name. */
export type ConsoleFunction = WithoutPrefix<DisplayedFunction>;

/** Whether the line above the SQL function requires a sign-in of the last ten minutes. */
export function needsRecentSignIn(name: ConsoleFunction): boolean {
  return isForRecentSignIn(`console_${name}`);
}

type ConsoleName<Name extends string> = `console_${Name}` & DisplayedFunction;
export type ActionName = {
  [Name in FunctionName]: `console_${Name}` extends DisplayedFunction ? Name : never;
}[FunctionName];
/** The arguments of both functions, without `actor`. Each function gets its own arguments. */
export type ActionValues<Name extends ActionName> = Omit<Arguments<Name>, "actor"> &
  Omit<ArgumentLabels<ConsoleName<Name>>, keyof Arguments<Name>>;

/** Overrides the error of {@linkcode toRejection}; `undefined` keeps it. */
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
  const wrapper: ConsoleName<Name> = `console_${name}` as ConsoleName<Name>;
  const all = values as unknown as ArgumentLabels<ConsoleName<Name>>;
  // Both functions return the same shape, which the compiler cannot compare.
  return (await callConsole(actor, actor.cookies, wrapper, all, reject)) as Result<Name>;
}

export type OperatorArguments<Name extends FunctionName> = Omit<Arguments<Name>, "actor">;

/** The result of a function for an operator. Passes the operator as the argument `actor`. @throws {Problem} as {@linkcode runAction} */
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

/** The result of a function for the person whose cookies are presented. @throws {Problem} as {@linkcode runAction} */
export async function callAuthenticated<Name extends DisplayedFunction>(
  { db, sessionIdleS }: { db: Database; sessionIdleS: number },
  { session, identity, from }: PresentedCookies,
  name: Name,
  values: ArgumentLabels<Name>,
  reject?: Reject,
): Promise<Result<Name>> {
  const presented = {
    session_cookie: session,
    identity_cookie: identity,
    idle_s: sessionIdleS,
    client_address: from,
  };
  // The compiler cannot rejoin the types that it split.
  const all = { ...presented, ...values } as unknown as Arguments<Name>;
  const failed = { name, values, isInBrowser: true };
  return await call(db, name, all, {
    reject: (error) => reject?.(error) ?? toRejection(error, failed),
  });
}

/** The result of a function for the person whose cookies are presented, on the Console's login. @throws {Problem} as {@linkcode runAction} */
export async function callConsole<Name extends DisplayedFunction>(
  { consoleDb: db, sessionIdleS }: ConsoleDeps,
  cookies: PresentedCookies,
  name: Name,
  values: ArgumentLabels<Name>,
  reject?: Reject,
): Promise<Result<Name>> {
  return await callAuthenticated({ db, sessionIdleS }, cookies, name, values, reject);
}
