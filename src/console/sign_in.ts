/** The sign-in of the Console: first, or again before a sensitive act; then back to the page that asked for it. @module */
import { type RequestContext, readForm } from "../http/mod.ts";
import {
  answerSignIn,
  answerSignInForm,
  readConsoleReturn,
  readSessionOfPage,
  type SignInTarget,
  toConsoleSignIn,
} from "../identity/mod.ts";
import { Problem } from "../problem.ts";
import type { ConsolePageDeps } from "./enter.ts";

export async function answerConsoleSignIn(
  deps: ConsolePageDeps,
  context: RequestContext,
): Promise<Response> {
  checkConsole(deps);
  const { visitor, isConflict } = await readSessionOfPage(deps, context);
  const target = { ...toTarget(context), email: visitor?.email, isConflict };
  const lead =
    visitor === undefined
      ? "to open the Console"
      : "again, please: this needs a sign-in of the last 10 minutes";
  return answerSignInForm(deps, context, { ...target, lead });
}

export async function answerConsoleSignInForm(
  deps: ConsolePageDeps,
  context: RequestContext,
): Promise<Response> {
  checkConsole(deps);
  const fields = await readForm(context.request);
  const target = { ...toTarget(context), lead: "to open the Console" };
  return await answerSignIn(deps, context, { target, fields });
}

function checkConsole({ consoleDb }: ConsolePageDeps): void {
  if (consoleDb === undefined) throw new Problem("unknown_route");
}

function toTarget({ query }: RequestContext): SignInTarget {
  const location = readConsoleReturn(query);
  return { action: toConsoleSignIn(location), location };
}
