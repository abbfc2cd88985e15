/**
 * An action is an SQL function that checks and makes a change, and writes the audit log for its argument `actor`. Operators call
 * the function on the administrator's connection. Administrators call a Console function that authenticates the caller: it is
 * generated from the line `-- action:` above the SQL function (`db/migrations/visitor_functions.ts`).
 *
 * @module
 */
import {
  type Arguments,
  call,
  type Database,
  type FunctionName,
  isForRecentSignIn,
  type PresentedVisitor,
  type Result,
  SIGNALS,
  SignalError,
} from "../../db/mod.ts";
import { type Log, toLogFields } from "../../observe.ts";
import { OPERATOR } from "./audit.ts";
import { type RejectionReason, toRejection, toRejectionReason } from "./rejections.ts";

export type PageCookies = { session: string; identity: string };
/** The cookies and the client of a browser; the audit log records the client. */
export type PresentedCookies = PageCookies & { from: string };
/** A person in a browser, identified by the cookies. */
export type VisitorActor = { db: Database; sessionIdleS: number; cookies: PresentedCookies };

/** An administrator in the Console, identified by the cookies. */
export type ConsoleActor = Omit<VisitorActor, "db"> & {
  /** The login that can only call Console functions. */
  consoleDb: Database;
  /** Whether the request sends a form, as opposed to the view of a page. */
  isForm: boolean;
  log: Log;
};
/** The caller of an action: an operator on the administrator's connection, or an administrator in the Console. */
export type Actor = { admin: Database } | ConsoleActor;

/** A function that first authenticates the caller by both cookies. */
export type AuthenticatedFunction = {
  [Name in FunctionName]: "visitor" extends keyof Arguments<Name> ? Name : never;
}[FunctionName];
/** The function's arguments, without the cookies. */
export type ArgumentValues<Name extends AuthenticatedFunction> = Omit<Arguments<Name>, "visitor">;

type WithoutPrefix<Name> = Name extends `console_${infer Rest}` ? Rest : never;
/** A function of the Console, without the prefix of its name. */
export type ConsoleFunction = WithoutPrefix<AuthenticatedFunction>;

/** Whether the action requires a sign-in within the last ten minutes. */
export function needsRecentSignIn(name: ConsoleFunction): boolean {
  return isForRecentSignIn(`console_${name}`);
}

type ConsoleName<Name extends string> = `console_${Name}` & AuthenticatedFunction;
export type ActionName = {
  [Name in FunctionName]: `console_${Name}` extends AuthenticatedFunction ? Name : never;
}[FunctionName];
/** The arguments of an action and of its Console function, without `actor`. Each call sends only those of its function. */
export type ActionValues<Name extends ActionName> = Omit<Arguments<Name>, "actor"> &
  Omit<ArgumentValues<ConsoleName<Name>>, keyof Arguments<Name>>;

/** Returns another error than {@linkcode toRejection}; `undefined` to use that of `toRejection`. */
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
  const all = values as unknown as ArgumentValues<ConsoleName<Name>>;
  // Both functions return the same shape, which the compiler cannot compare.
  return (await callConsole(actor, wrapper, all, reject)) as Result<Name>;
}

export type OperatorArguments<Name extends FunctionName> = Omit<Arguments<Name>, "actor">;

/** Calls a function with the operator as the argument `actor`. @throws {Problem} as {@linkcode runAction} */
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

/** Calls a function that authenticates the person of these cookies. @throws {Problem} as {@linkcode runAction} */
export async function callAuthenticated<Name extends AuthenticatedFunction>(
  actor: VisitorActor,
  name: Name,
  values: ArgumentValues<Name>,
  reject?: Reject,
): Promise<Result<Name>> {
  // The compiler cannot join the types that `Omit` split.
  const all = { visitor: toVisitor(actor), ...values } as unknown as Arguments<Name>;
  const failed = { name, values, isInBrowser: true };
  return await call(actor.db, name, all, {
    reject: (error) => reject?.(error) ?? toRejection(error, failed),
  });
}

/** Calls a function on the Console's login, and records rejections in the audit log. @throws {Problem} as {@linkcode runAction} */
export async function callConsole<Name extends AuthenticatedFunction>(
  actor: ConsoleActor,
  name: Name,
  values: ArgumentValues<Name>,
  reject?: Reject,
): Promise<Result<Name>> {
  try {
    return await callAuthenticated({ ...actor, db: actor.consoleDb }, name, values, reject);
  } catch (error) {
    const why = toRejectionReason(error, actor);
    if (why !== undefined) await recordRejection(actor, name, why);
    throw error;
  }
}

/**
 * Records that an action, which is an SQL function or a route, of a signed-in person was rejected. The rejected statement was rolled
 * back, so this is a separate call. Its failure is only logged: the response stays the rejection.
 */
export async function recordRejection(
  actor: ConsoleActor,
  action: string,
  why: RejectionReason,
): Promise<void> {
  const visitor = toVisitor(actor);
  // Without both cookies there is no person to record.
  if (visitor.session_cookie === "" || visitor.identity_cookie === "") return;
  try {
    await call(actor.consoleDb, "console_log_rejection", { visitor, wanted: action, why });
  } catch (error) {
    if (error instanceof SignalError && error.signal === SIGNALS.notSignedIn) return;
    actor.log("error", "rejection not recorded", toLogFields(error));
  }
}

/** The credentials of a browser, as SQL functions accept it. */
export function toVisitor({
  sessionIdleS,
  cookies: { session, identity, from },
}: Omit<VisitorActor, "db">): PresentedVisitor {
  return {
    session_cookie: session,
    identity_cookie: identity,
    idle_s: sessionIdleS,
    client_address: from,
  };
}
