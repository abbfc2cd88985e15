/**
 * Sign-in with a password: throttle, verify, create a session. Unknown address, wrong password and disabled account get the
 * same response in the same time. Input is never logged.
 *
 * @module
 */

import type { RequestContext } from "../../http/mod.ts";
import { toCanonicalEmail } from "../../records/people/mod.ts";
import { beginSignIn, finishSignIn } from "../../records/sessions/mod.ts";
import { isStorableText } from "../../std/text.ts";
import { type Admitted, admit } from "../admit.ts";
import { readDeviceCookie } from "../cookies.ts";
import type { PageDeps } from "../page_deps.tsx";
import { makePasswordRecord, verifyPassword } from "../passwords/password.ts";

type Typed = { email: string; password: string };
type SignIn = Admitted | { kind: "wrong" } | { kind: "throttled"; waitS: number };

/** Signs in with a password, or returns the reason for the failure. */
export async function signIn(
  deps: PageDeps,
  context: RequestContext,
  typed: Typed,
): Promise<SignIn> {
  const result = await trySignIn(deps, context, typed);
  // Another sign-in of the same person may have renewed the hash in between.
  return result.kind === "changed" ? withoutChange(await trySignIn(deps, context, typed)) : result;
}

/** `changed`: the password was right, but the stored hash has changed since, or the person was disabled. */
type Attempted = SignIn | { kind: "changed" };

function withoutChange(result: Attempted): SignIn {
  return result.kind === "changed" ? { kind: "wrong" } : result;
}

async function trySignIn(
  deps: PageDeps,
  { request, address }: RequestContext,
  typed: Typed,
): Promise<Attempted> {
  const canonical = toCanonicalEmail(typed.email);
  // An address that PostgreSQL cannot store has no account, but must use up an attempt like any other.
  const email = isStorableText(canonical) ? canonical : "";
  const device = readDeviceCookie(request, deps.identitySecrets);
  const from = { email, address, device };
  const attempt = await beginSignIn(deps, from);
  if (!("isDisabled" in attempt)) return { kind: "throttled", waitS: attempt.waitS };
  const right = await verifyPassword(deps, attempt, typed.password);
  if (right === undefined || attempt.known === undefined || attempt.isDisabled)
    return { kind: "wrong" };
  const { userId } = attempt.known;
  const admitted = await admit(deps, request, userId, async (start) =>
    finishSignIn(deps, {
      userId,
      proof: right.proof,
      fresh: right.isCurrent ? undefined : await makePasswordRecord(deps, userId, typed.password),
      ...start,
      from,
      isKnownDevice: attempt.isKnownDevice,
    }),
  );
  return admitted ?? { kind: "changed" };
}
