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
  type Result,
} from "../../db/mod.ts";
import { OPERATOR } from "./audit.ts";
import { type ConsoleDeps, callConsole } from "./console_call.ts";
import type { Reject, ShownArguments, ShownCookies, ShownFunction } from "./shown_call.ts";

/** An administrator in the Console, by what the browser presents. */
export type ConsoleActor = ConsoleDeps & { cookies: ShownCookies };
/** Who acts: an operator on the administrator's connection, or an administrator in the Console. */
export type Actor = { admin: Database } | ConsoleActor;

type ConsoleName<Name extends string> = `console_${Name}` & ShownFunction;
export type ActionName = {
  [Name in FunctionName]: `console_${Name}` extends ShownFunction ? Name : never;
}[FunctionName];
/** The arguments of both functions, without `actor`. Each gets those that it has. */
export type ActionValues<Name extends ActionName> = Omit<Arguments<Name>, "actor"> &
  Omit<ShownArguments<ConsoleName<Name>>, keyof Arguments<Name>>;

/** @throws {ConsoleRefused} @throws {SecondFactorNeeded} @throws {SignInTooOld} by an administrator in the Console */
export async function runAction<Name extends ActionName>(
  actor: Actor,
  name: Name,
  values: ActionValues<Name>,
  reject: Reject = (error) => error,
): Promise<Result<Name>> {
  if (!("cookies" in actor)) {
    const all = { ...values, actor: OPERATOR } as unknown as Arguments<Name>;
    return await call(actor.admin, name, all, { reject });
  }
  const shown: ConsoleName<Name> = `console_${name}` as ConsoleName<Name>;
  const all = values as unknown as ShownArguments<ConsoleName<Name>>;
  // Both return the same: the compiler cannot compare their shapes.
  return (await callConsole(actor, actor.cookies, shown, all, reject)) as Result<Name>;
}
