/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * `/add-second-factor`: asks people to add a required second factor, after a sign-in and instead of pages that require
 * one. The query holds the original destination, which is checked again.
 *
 * @module
 */

import type { RequestContext } from "../../http/mod.ts";
import {
  type Html,
  redirect,
  renderLink,
  renderTime,
  respondWithMessage,
} from "../../pages/mod.ts";
import type { Visitor } from "../../records/sessions/mod.ts";
import { isFactorDemanded, type PageDeps, readSessionOfPage } from "../page_deps.tsx";
import { PATHS } from "../paths.ts";
import type { ReturnTo } from "../return_to.ts";
import { checkReturnTo, readReturnTo, toReturnQuery } from "../return_to.ts";

/** @throws {Problem} unknown_app; invalid_request — the destination is invalid */
export async function handleAddFactor(deps: PageDeps, context: RequestContext): Promise<Response> {
  const returnTo = readReturnTo(context.query);
  const { location, back } = await checkReturnTo(deps, context, returnTo);
  const { visitor } = await readSessionOfPage(deps, context);
  if (visitor === undefined) return redirect(back);
  if (visitor.factorDueAt === null) return redirect(location);
  const isDemanded =
    visitor.isFactorOverdue && (returnTo.kind === "console" || isFactorDemanded(deps, visitor));
  const later = isDemanded ? undefined : location;
  return respondWithFactorPrompt(visitor, { returnTo, later, now: deps.now() });
}

type Ask = { returnTo: ReturnTo; later: string | undefined; now: number };

function respondWithFactorPrompt(visitor: Visitor, { returnTo, later, now }: Ask): Response {
  const title = later === undefined ? "Add a second factor first" : "Add a second factor";
  const text = (
    <>
      <p class="lead">
        Signed in as <strong>{visitor.email}</strong>
      </p>
      <p>
        A second factor protects your account if someone learns your password. You sign in with a
        code from an app on your phone or with a passkey. Setup takes about a minute.
      </p>
    </>
  );
  const path = `${PATHS.security}${toReturnQuery(returnTo)}`;
  const below =
    later === undefined
      ? renderDemanded(returnTo)
      : [<p>{renderLink("Later", later)}</p>, renderDue(visitor, now)];
  return respondWithMessage({ title, text, next: { name: "Add a second factor", path }, below });
}

function renderDue({ factorDueAt, isFactorOverdue }: Visitor, now: number): Html | false {
  if (factorDueAt === null || isFactorOverdue) return false;
  return <p class="aside">Becomes required {renderTime(factorDueAt, now)}.</p>;
}

function renderDemanded({ kind }: ReturnTo): Html {
  return kind === "console" ? (
    <p class="aside">
      The Console requires a second factor. <a href={PATHS.login}>Your account</a> does not.
    </p>
  ) : (
    <p class="aside">You need a second factor to continue.</p>
  );
}
