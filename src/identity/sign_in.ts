/**
 * Signing in: throttled, then verified, then a new session. Unknown, wrong and disabled are one answer that takes one
 * time; what was typed is written down nowhere.
 *
 * @module
 */
import {
  type Attempt,
  beginSignIn,
  finishSignIn,
  makeSession,
  toCanonicalEmail,
} from "../accounts/mod.ts";
import type { RequestContext } from "../http/mod.ts";
import { toClientNetwork } from "../std/client_network.ts";
import { isStorableText } from "../std/is_storable_text.ts";
import { readPageCookies, toSessionCookies } from "./cookies.ts";
import type { PageDeps } from "./page_deps.ts";
import { toPasswordForm } from "./password.ts";

export type Typed = { email: string; password: string };
export type SignIn =
  | { kind: "done"; cookies: string[] }
  | { kind: "incomplete"; faults: { email: string[]; password: string[] } }
  | { kind: "wrong" }
  | { kind: "throttled"; waitS: number };

/** A sign-in with what was typed, or why not. */
export async function signIn(
  deps: PageDeps,
  { request, address }: RequestContext,
  typed: Typed,
): Promise<SignIn> {
  const faults = findGaps(typed);
  if (faults !== undefined) return { kind: "incomplete", faults };
  const canonical = toCanonicalEmail(typed.email);
  // What no text column can hold is nobody's address, and counts like any other.
  const email = isStorableText(canonical) ? canonical : "";
  const from = { email, client: toClientNetwork(address) };
  const attempt = await beginSignIn(deps, from);
  if (!("isDisabled" in attempt)) return { kind: "throttled", waitS: attempt.waitS };
  const password = toPasswordForm(typed.password);
  const found = await verify(deps, attempt, password);
  if (found === undefined) return { kind: "wrong" };
  const session = makeSession(deps.randomBytes);
  const cookies = readPageCookies(request);
  const isDone = await finishSignIn(deps, {
    ...found,
    freshHash: deps.hashing.isCurrent(found.seenHash)
      ? undefined
      : await deps.hashing.make(password),
    presented: [cookies.session, cookies.identity].filter((text) => text !== "").join(","),
    session,
    sessionMaxS: deps.identity.sessionMaxS,
    from,
  });
  return isDone
    ? { kind: "done", cookies: toSessionCookies(session, deps.identity) }
    : { kind: "wrong" };
}

function findGaps({ email, password }: Typed): { email: string[]; password: string[] } | undefined {
  if (email.trim() !== "" && password !== "") return undefined;
  return {
    email: email.trim() === "" ? ["Enter your email address."] : [],
    password: password === "" ? ["Enter your password."] : [],
  };
}

type Checked = Extract<Attempt, { isDisabled: boolean }>;

/** One hash whoever it is: an unknown or a disabled person costs as much as a wrong password. */
async function verify(
  { hashing }: PageDeps,
  { userId, passwordHash, isDisabled }: Checked,
  password: string,
): Promise<{ userId: string; seenHash: string } | undefined> {
  const isRight = await hashing.verify(password, passwordHash);
  if (!isRight || isDisabled || userId === undefined || passwordHash === undefined)
    return undefined;
  return { userId, seenHash: passwordHash };
}
