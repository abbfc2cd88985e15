/**
 * An action is an SQL function that checks and makes a change, and writes the audit log for its argument `actor`. Operators call
 * the function on the administrator's connection. Administrators call the dispatcher `console_act`, which authenticates the
 * caller as the line `-- action:` above the SQL function requires (`db/code/visitor_functions.ts`).
 *
 * @module
 */
import {
  type ActionInput,
  type ActionName,
  type Arguments,
  call,
  callAction,
  type Database,
  type FunctionName,
  type PresentedVisitor,
  type Result,
  SIGNALS,
  SignalError,
  type VisitorFunction,
} from "../../db/mod.ts";
import { type Log, toLogFields } from "../../observe.ts";
import {
  type FailedCall,
  type RejectionReason,
  toRejection,
  toRejectionReason,
} from "./rejections.ts";

export type PageCookies = { session: string; identity: string };
/** The cookies and the client of a browser; the audit log records the client. */
type PresentedCookies = PageCookies & { from: string };
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

/** The arguments of an action and the values that it needs in the Console. Each call sends only those of its function. */
type ActionValues<Name extends ActionName> = Arguments<Name> & ActionInput<Name>;

/** Returns another error than {@linkcode toRejection}; `undefined` to use that of `toRejection`. */
type Reject = (error: unknown) => unknown;

/** @throws {Problem} as `rejections.ts` lists them */
export async function runAction<Name extends ActionName>(
  actor: Actor,
  name: Name,
  values: ActionValues<Name>,
  reject?: Reject,
): Promise<Result<Name>> {
  if (!("cookies" in actor)) return await callAsOperator(actor, name, values, reject);
  const options = { visitor: toVisitor(actor), reject: rejectInBrowser(name, values, reject) };
  return await recordRejections(
    actor,
    `console_${name}`,
    callAction(actor.consoleDb, name, values, options),
  );
}

/** Calls a function in the operator's name. @throws {Problem} as {@linkcode runAction} */
export async function callAsOperator<Name extends FunctionName>(
  { admin }: { admin: Database },
  name: Name,
  values: Arguments<Name>,
  reject?: Reject,
): Promise<Result<Name>> {
  return await call(admin, name, values, {
    reject: (error) => reject?.(error) ?? toRejection(error, { name, values }),
  });
}

/** Calls a function that authenticates the person of these cookies. @throws {Problem} as {@linkcode runAction} */
export async function callAuthenticated<Name extends VisitorFunction>(
  actor: VisitorActor,
  name: Name,
  values: Arguments<Name>,
): Promise<Result<Name>> {
  const options = { visitor: toVisitor(actor), reject: rejectInBrowser(name, values) };
  return await call(actor.db, name, values, options);
}

/** Calls a function on the Console's login, and records rejections in the audit log. @throws {Problem} as {@linkcode runAction} */
export async function callConsole<Name extends VisitorFunction>(
  actor: ConsoleActor,
  name: Name,
  values: Arguments<Name>,
): Promise<Result<Name>> {
  const called = callAuthenticated({ ...actor, db: actor.consoleDb }, name, values);
  return await recordRejections(actor, name, called);
}

function rejectInBrowser(name: string, values: FailedCall["values"], reject?: Reject) {
  return (error: unknown) =>
    reject?.(error) ?? toRejection(error, { name, values, isInBrowser: true });
}

async function recordRejections<Value>(
  actor: ConsoleActor,
  action: string,
  called: Promise<Value>,
): Promise<Value> {
  try {
    return await called;
  } catch (error) {
    const why = toRejectionReason(error, actor);
    if (why !== undefined) await recordRejection(actor, action, why);
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
    await call(actor.consoleDb, "console_log_rejection", { wanted: action, why }, { visitor });
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
