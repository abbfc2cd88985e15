/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * Sign-in with a passkey and no password. User verification makes the passkey both factors. The passkey names its owner, so the
 * page reveals nothing about any account.
 *
 * @module
 */

import type { RequestContext } from "../../http/mod.ts";
import type { Html } from "../../pages/mod.ts";
import { beginPasskey, finishPasskeySignIn } from "../../records/sessions/mod.ts";
import { markDevice, readDeviceCookie, toSessionCookies } from "../cookies.ts";
import { makeSessionStart, type PageDeps } from "../page_deps.tsx";
import { renderPasskeyForm, toRequestOptions } from "../passkeys/form.tsx";
import {
  clearChallenge,
  makeChallenge,
  readAssertion,
  readChallenge,
  verifyAssertion,
} from "../passkeys/response.ts";
import { findRelyingParty } from "../settings.ts";

const PURPOSE = { kind: "sign-in" } as const;

/** The button of a sign-in page and its cookies; empty where browsers do not support passkeys. */
export function offerPasskey(
  deps: PageDeps,
  request: Request,
  form: { action: string; token: string; isAgain: boolean },
): { part: Html | undefined; cookies: string[] } {
  const party = findRelyingParty(deps.identity);
  if (party === undefined) return { part: undefined, cookies: [] };
  const { challenge, cookies } = makeChallenge(deps, request, {
    purpose: PURPOSE,
    isNew: form.isAgain,
  });
  const part = (
    <div data-passkey-part hidden>
      <p class="or">or</p>
      {renderPasskeyForm({
        ...form,
        kind: "sign-in",
        options: toRequestOptions(party, { challenge }),
        button: "Sign in with a passkey",
      })}
    </div>
  );
  return { part, cookies };
}

type PasskeySignIn =
  | { kind: "done"; cookies: string[] }
  | { kind: "throttled"; waitS: number }
  /** The challenge expired or was already used. */
  | { kind: "stale" }
  /** The response is invalid, for any reason. */
  | { kind: "rejected" };

/** Signs in with a passkey's response, or returns the reason for the failure. */
export async function signInWithPasskey(
  deps: PageDeps,
  context: RequestContext,
  text: string,
): Promise<PasskeySignIn> {
  const assertion = readAssertion(text);
  const party = findRelyingParty(deps.identity);
  const challenge = readChallenge(deps, context.request, PURPOSE);
  if (assertion === undefined || party === undefined) return { kind: "rejected" };
  if (challenge === undefined) return { kind: "stale" };
  const { address } = context;
  const attempt = await beginPasskey(deps, { credentialId: assertion.id, address });
  if (!("stored" in attempt)) return { kind: "throttled", waitS: attempt.waitS };
  const { stored } = attempt;
  if (stored === undefined) return { kind: "rejected" };
  const verified = await verifyAssertion(
    assertion,
    { party, challenge },
    { stored, isOnlyFactor: true },
  );
  if (verified === undefined) return { kind: "rejected" };
  return await startSession(deps, context, { stored, challenge, ...verified });
}

type Verified = Pick<
  Parameters<typeof finishPasskeySignIn>[1],
  "stored" | "challenge" | "signCount"
>;

async function startSession(
  deps: PageDeps,
  { request, address }: RequestContext,
  verified: Verified,
): Promise<PasskeySignIn> {
  const { userId } = verified.stored;
  const start = makeSessionStart(deps, request, userId);
  const device = readDeviceCookie(request, deps.identitySecrets);
  const outcome = await finishPasskeySignIn(deps, {
    ...verified,
    ...start,
    address,
    isKnownDevice: device?.userIds.includes(userId) === true,
  });
  if (outcome !== "done") return { kind: outcome === "replayed" ? "stale" : "rejected" };
  const known = markDevice(deps, request, { userId, hasFactor: true });
  return {
    kind: "done",
    cookies: [...toSessionCookies(start.session, deps.identity), known, clearChallenge()],
  };
}
