/** @jsxImportSource #html @jsxRuntime automatic */
/** Pages for failed sign-ins with a provider: what happened, and where to start again. @module */
import { type Part, respondWithMessage } from "../../pages/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { PROVIDER_STATE_LIFE_S, RECENT_SIGN_IN } from "../../std/limits.ts";
import type { PageDeps } from "../page_deps.tsx";
import { renderWait } from "../throttle.tsx";

type ProviderPage = {
  title: string;
  text: Part;
  /** Defaults to 403. */
  status?: number;
  /** The page to start again. */
  back: string;
  cookies?: readonly string[];
  retryAfterS?: number;
};

/** Each function accepts the provider's label. */
export const PROVIDER_TEXTS = {
  stale: () => ({
    status: 400,
    title: "Sign-in expired",
    text: `The sign-in started in another browser, is older than ${toDurationText(PROVIDER_STATE_LIFE_S)}, was replaced by a newer one, or was already used. Please start again. Your browser must allow cookies.`,
  }),
  unavailable: (label: string) => ({
    status: 503,
    title: `${label} is not responding`,
    text: `Sign-in with ${label} is unavailable right now. You have not been signed in. Please try again in a moment, or sign in another way.`,
  }),
  denied: (label: string) => ({
    title: "You have not been signed in",
    text: `The sign-in was canceled, or ${label} denied it. If you did not cancel it, ask the administrator of ${label} for access.`,
  }),
  again: (label: string) => ({
    title: "You have not been signed in",
    text: `${label} needs you to sign in, to choose an account, or to agree. Please try again.`,
  }),
  failed: (label: string) => ({
    title: "You have not been signed in",
    text: `${label} ended the sign-in with an error. Please try again. If this keeps happening, contact your administrator.`,
  }),
  settings: (label: string) => ({
    title: "You have not been signed in",
    text: `${label} does not accept the settings of this service. Trying again does not help: contact your administrator.`,
  }),
  clock: (label: string) => ({
    title: "You have not been signed in",
    text: `The response from ${label} could not be verified, because its clock differs from the clock of this service. Contact your administrator.`,
  }),
  wrong: (label: string) => ({
    title: "You have not been signed in",
    text: `The response from ${label} could not be verified. Please try again. If this keeps happening, contact your administrator.`,
  }),
  not_fresh: (label: string) => ({
    title: `${label} did not ask you to sign in`,
    text: `This page requires a new sign-in, and ${label} did not confirm one. Sign out of ${label} and try again, or sign in another way.`,
  }),
  // The same text in all cases: it must not reveal which addresses have an account.
  unlinked: (label: string) => ({
    title: "No linked account",
    text: `Your account at ${label} is not linked to an account here. If you were invited by email, open the link in that email and set a password. If you have an account here, sign in to it another way. Then link ${label} on your account page. Otherwise choose another account, or ask your administrator for an invitation.`,
  }),
  in_use: (label: string) => ({
    title: "Account not linked",
    text: `This account at ${label} is already linked to another person. Sign out of ${label} and choose another account. If this account is yours, contact your administrator.`,
  }),
  another: (label: string) => ({
    title: "Account not linked",
    text: `You already have a linked account at ${label}. Unlink it first.`,
  }),
  too_old: () => ({
    title: "Account not linked",
    text: `Your sign-in is older than ${RECENT_SIGN_IN}. Sign out and sign in again, then link the account.`,
  }),
  other_session: () => ({
    title: "Account not linked",
    text: "You are no longer signed in to the account that you started from.",
  }),
  disabled: () => ({
    title: "Your account is disabled",
    text: "You cannot sign in. If you think that this is a mistake, contact your administrator.",
  }),
} as const satisfies Record<
  string,
  (label: string) => Pick<ProviderPage, "status" | "title" | "text">
>;

export type ProviderRejection = keyof typeof PROVIDER_TEXTS;

export function respondWithThrottle(
  deps: Pick<PageDeps, "now">,
  waitS: number,
  back: string,
): Response {
  return respondWithProviderPage({
    status: 429,
    title: "Too many sign-in attempts",
    text: <>{renderWait(deps, waitS)} Or go back and sign in another way.</>,
    back,
    retryAfterS: waitS,
  });
}

/** Asks before a sign-in that another site can have started. */
export function respondWithQuestion({
  label,
  go,
  back,
  cookies,
}: {
  label: string;
  go: string;
  back: string;
  cookies: readonly string[];
}): Response {
  const title = `Sign in with ${label}?`;
  const text = (
    <p>
      This sign-in did not start on a page of this service. Continue only if you want to sign in
      here.
    </p>
  );
  const below = (
    <p class="more">
      <a href={back}>Sign in another way</a>
    </p>
  );
  const name = <bdi>{label}</bdi>;
  return respondWithMessage(
    {
      ...{ title, heading: ["Sign in with ", name, "?"], text, below, hasSignOut: false },
      next: { name: ["Continue with ", name], path: go },
    },
    { cookies },
  );
}

export function respondWithProviderPage(page: ProviderPage): Response {
  const { title, status = 403, retryAfterS, back, cookies = [] } = page;
  const seconds = retryAfterS ?? (status === 503 ? 5 : undefined);
  return respondWithMessage(
    {
      ...{ title, text: <p>{page.text}</p>, next: { name: "Go back", path: back } },
      ...{ scripts: ["page"], hasSignOut: false },
    },
    {
      ...{ status, cookies },
      headers: seconds === undefined ? {} : { "retry-after": String(seconds) },
    },
  );
}
