/**
 * Signing in: throttled, then verified, then a new session. Unknown, wrong and disabled get the same answer in the same
 * time; what was typed is never logged.
 *
 * @module
 */
import {
  beginSignIn,
  finishSignIn,
  makeSession,
  toCanonicalEmail,
  toDeviceText,
} from "../accounts/mod.ts";
import type { RequestContext } from "../http/mod.ts";
import { isStorableText } from "../std/is_storable_text.ts";
import { readDeviceCookie, readPageCookies, toDeviceCookie, toSessionCookies } from "./cookies.ts";
import { toDeviceName } from "./device_name.ts";
import type { PageDeps } from "./page_deps.ts";
import { makePasswordRecord, verifyPassword } from "./password_record.ts";

export type Typed = { email: string; password: string };
export type SignIn =
  | { kind: "done"; cookies: string[] }
  | { kind: "incomplete"; faults: { email: string[]; password: string[] } }
  | { kind: "wrong" }
  | { kind: "throttled"; waitS: number };

/** Signs in with what was typed, or says why not. */
export async function signIn(
  deps: PageDeps,
  { request, address }: RequestContext,
  typed: Typed,
): Promise<SignIn> {
  const faults = findGaps(typed);
  if (faults !== undefined) return { kind: "incomplete", faults };
  const canonical = toCanonicalEmail(typed.email);
  // What PostgreSQL cannot store is nobody's address, but counts like any other.
  const email = isStorableText(canonical) ? canonical : "";
  const device = readDeviceCookie(request, deps.identitySecrets);
  const from = { email, address, device };
  const attempt = await beginSignIn(deps, from);
  if (!("isDisabled" in attempt)) return { kind: "throttled", waitS: attempt.waitS };
  const right = await verifyPassword(deps, attempt, typed.password);
  if (right === undefined || attempt.known === undefined || attempt.isDisabled)
    return { kind: "wrong" };
  const { userId } = attempt.known;
  const session = makeSession(deps, userId);
  const cookies = readPageCookies(request, deps.identitySecrets);
  const isDone = await finishSignIn(deps, {
    userId,
    proof: right.proof,
    fresh: right.isCurrent ? undefined : await makePasswordRecord(deps, userId, typed.password),
    presented: [cookies.session, cookies.identity].filter((text) => text !== "").join(","),
    session,
    sessionMaxS: deps.identity.sessionMaxS,
    from,
    isKnownDevice: attempt.isKnownDevice,
    deviceName: toDeviceName(request.headers.get("user-agent")),
  });
  if (!isDone) return { kind: "wrong" };
  const deviceCookie = toDeviceCookie(toDeviceText(deps, device, userId));
  return { kind: "done", cookies: [...toSessionCookies(session, deps.identity), deviceCookie] };
}

function findGaps({ email, password }: Typed): { email: string[]; password: string[] } | undefined {
  if (email.trim() !== "" && password !== "") return undefined;
  return {
    email: email.trim() === "" ? ["Enter your email address."] : [],
    password: password === "" ? ["Enter your password."] : [],
  };
}
