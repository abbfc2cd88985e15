/** @jsxImportSource #html @jsxRuntime automatic */
/** The Console's sign-in, also before sensitive actions. Returns to the requested page. @module */

import type { RequestContext } from "../http/mod.ts";
import {
  readConsoleReturn,
  readOpenVisit,
  readSessionOfPage,
  type SignInTarget,
  signInPage,
  toConsoleSignIn,
} from "../identity/mod.ts";
import { renderCopyButton, respondWithPage } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { hasAdministrator } from "../records/apps/mod.ts";
import { RECENT_SIGN_IN } from "../std/limits.ts";
import type { ConsolePageDeps } from "./enter.tsx";

const TO_OPEN = "to open the Console";

export async function handleConsoleSignIn(
  deps: ConsolePageDeps,
  context: RequestContext,
): Promise<Response> {
  checkConsole(deps);
  const { visitor, isConflict } = await readSessionOfPage(deps, context);
  if (visitor === undefined && !(await hasAdministrator(deps)))
    return respondWithUnclaimed(context);
  const lead =
    visitor === undefined
      ? TO_OPEN
      : `again: this page needs a sign-in within the last ${RECENT_SIGN_IN}`;
  const target = { ...toTarget(context), lead, email: visitor?.email, isConflict };
  return await signInPage.show({ ...(await readOpenVisit(deps, context)), target });
}

export async function handleConsoleSignInForm(
  deps: ConsolePageDeps,
  context: RequestContext,
): Promise<Response> {
  checkConsole(deps);
  const target = { ...toTarget(context), lead: TO_OPEN };
  return await signInPage.submit({ ...(await readOpenVisit(deps, context)), target });
}

const COMMAND = "rowhouse admin create-user you@example.org --role super_admin";

/** The first administrator is created with the CLI, never in a browser. */
function respondWithUnclaimed(context: RequestContext): Response {
  const body = (
    <>
      <h1>This service has no administrator yet</h1>
      <p>Create the first administrator on the server, with the address for sign-in:</p>
      <div class="copyable">
        <pre class="snippet" tabindex="0" aria-label="The command">
          <code id="claim">{COMMAND}</code>
        </pre>
        {renderCopyButton("claim", "the command")}
      </div>
      <p>It prints a link that sets a password.</p>
      <p>
        <a class="button button-primary" href={toTarget(context).action}>
          Sign in
        </a>
      </p>
    </>
  );
  return respondWithPage({
    title: "No administrator yet",
    body,
    scripts: ["page"],
    hasSignOut: false,
  });
}

function checkConsole({ consoleDb }: ConsolePageDeps): void {
  if (consoleDb === undefined) throw new Problem("unknown_route");
}

function toTarget({ query }: RequestContext): SignInTarget {
  const location = readConsoleReturn(query);
  return { action: toConsoleSignIn(location), location };
}
