/** What people are told where a sign-in with a provider does not succeed: what happened, and the way back. @module */
import { answerPage, html } from "../pages/mod.ts";

export type ProviderPage = {
  title: string;
  text: string;
  status: number;
  /** Where a person starts again. */
  back: string;
  cookies?: readonly string[];
  retryAfterS?: number;
};

/** Each takes the provider's label. */
export const PROVIDER_WORDS = {
  stale: () => ({
    status: 400,
    title: "This sign-in cannot be finished",
    text: "It was started in another browser, more than ten minutes ago, or before a later one, or it has been used already. Please start again. Your browser must allow cookies.",
  }),
  away: (label: string) => ({
    status: 503,
    title: `${label} does not answer`,
    text: `Signing in with ${label} does not work right now. You have not been signed in. Please try again in a moment, or sign in another way.`,
  }),
  denied: (label: string) => ({
    status: 403,
    title: "You have not been signed in",
    text: `${label} says that the sign-in was cancelled or not allowed.`,
  }),
  wrong: (label: string) => ({
    status: 403,
    title: "You have not been signed in",
    text: `What ${label} answered could not be verified. Please try again. If it happens again, tell whoever runs this service.`,
  }),
  not_fresh: (label: string) => ({
    status: 403,
    title: `${label} did not ask you to sign in`,
    text: `This needs a fresh sign-in, and ${label} did not say that you have just signed in there. Sign out there and try again, or sign in another way.`,
  }),
  // The same for everyone: it does not tell whose addresses are known here.
  unlinked: (label: string) => ({
    status: 403,
    title: "You have no account here with this sign-in",
    text: `Nobody here is linked to your account at ${label}. If you have an account, sign in the way you have so far, and link ${label} on your account page. If you have none, ask an administrator to invite you.`,
  }),
  taken: (label: string) => ({
    status: 403,
    title: "It was not linked",
    text: `Somebody else here is linked to this account at ${label}. Sign out there and choose another one; if it is yours, ask an administrator.`,
  }),
  another: (label: string) => ({
    status: 403,
    title: "It was not linked",
    text: `You are linked to another account at ${label}. Unlink that one first.`,
  }),
  too_old: () => ({
    status: 403,
    title: "It was not linked",
    text: "Your sign-in here was more than 10 minutes ago. Sign out and in again, then link it.",
  }),
  nobody: () => ({
    status: 403,
    title: "It was not linked",
    text: "You are not signed in here any more as who you were when you started.",
  }),
  disabled: () => ({
    status: 403,
    title: "Your account is disabled",
    text: "You cannot sign in. Ask an administrator if you think that this is a mistake.",
  }),
} as const satisfies Record<
  string,
  (label: string) => Pick<ProviderPage, "status" | "title" | "text">
>;

export type ProviderRefusal = keyof typeof PROVIDER_WORDS;

export function answerThrottled(waitS: number, back: string): Response {
  const minutes = Math.ceil(waitS / 60);
  return answerProviderPage({
    status: 429,
    title: "Too many attempts to sign in",
    text: `Please wait ${minutes === 1 ? "a minute" : `${minutes} minutes`}, then try again.`,
    back,
    retryAfterS: waitS,
  });
}

export function answerProviderPage(page: ProviderPage): Response {
  const body = html`
<h1>${page.title}</h1>
<p>${page.text}</p>
<p><a class="button button-primary" href="${page.back}">Go back</a></p>`;
  const { status, retryAfterS } = page;
  const seconds = retryAfterS ?? (status === 503 ? 5 : undefined);
  return answerPage(
    { title: page.title, body },
    {
      status,
      cookies: page.cookies ?? [],
      ...(seconds === undefined ? {} : { headers: { "retry-after": String(seconds) } }),
    },
  );
}
