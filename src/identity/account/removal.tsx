/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The confirmation page before a second factor or a linked account is removed. Its form is sent to the page that lists
 * the item.
 *
 * @module
 */

import { type Html, type Part, renderForm } from "../../pages/mod.ts";
import type { OwnSecondFactor } from "../../records/account_settings/mod.ts";
import { SignInTooOld } from "../../records/actions/mod.ts";
import { RECENT_SIGN_IN } from "../../std/limits.ts";
import type { TabName } from "../account_tabs.ts";
import { toOwnSignIn } from "../return_to.ts";
import { type OwnVisit, respondWithAccountPage } from "./page.tsx";

/** The field that distinguishes the forms of a page. */
export const ACTION_FIELD = "act";

type Removal = {
  /** The page that lists the item and accepts the form. */
  action: string;
  title: string;
  /** The consequence of the removal. */
  text: Part;
  hidden?: Readonly<Record<string, string>>;
};

/** The item that the query asks to remove. */
export function readRemoved(query: string): string | undefined {
  return new URLSearchParams(query).get("remove") ?? undefined;
}

/** The confirmation page for a second factor. @throws {SignInTooOld} */
export function respondWithRemoval(
  visit: OwnVisit,
  { isFresh, totpSince, passkeys }: OwnSecondFactor,
  { text, ...removal }: Removal,
): Response {
  const isLast = passkeys + (totpSince === null ? 0 : 1) === 1;
  const body = (
    <>
      <p>{text}</p>
      {isLast && (
        <p class="notice notice-warn">
          This is your only second factor. Without it, your password or provider is enough to sign
          in, and your recovery codes stop working.
        </p>
      )}
    </>
  );
  return respondWithQuestion(visit, {
    tab: "Security",
    intent: "remove",
    isFresh,
    ...removal,
    text: body,
  });
}

type Question = Removal & { tab: TabName; intent: string; isFresh: boolean };

/** @throws {SignInTooOld} */
export function respondWithQuestion(
  { deps, token }: OwnVisit,
  { tab, intent, isFresh, action, title, text, hidden }: Question,
): Response {
  if (!isFresh) throw new SignInTooOld();
  const body = (
    <>
      {text}
      {renderForm({
        action,
        token,
        hidden: { [ACTION_FIELD]: intent, ...hidden },
        button: title,
      })}
      <p class="more">
        <a href={action}>Cancel</a>
      </p>
    </>
  );
  return respondWithAccountPage(deps, { tab, title, body });
}

/** Above a page whose changes require a recent sign-in. */
export function renderStale(what: string, path: string): Html {
  return (
    <p class="notice notice-warn">
      {what} a sign-in within the last {RECENT_SIGN_IN}:{" "}
      <a href={toOwnSignIn(path)}>sign in again</a>.
    </p>
  );
}
