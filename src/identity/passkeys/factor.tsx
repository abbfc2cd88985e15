/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * A passkey as the second factor of a pending sign-in. The challenge is valid only for this sign-in, which ends with its
 * first use.
 *
 * @module
 */

import type { Html } from "../../pages/mod.ts";
import {
  type FactorAttempt,
  type PendingSignIn,
  type RightFactor,
  toPasskeyFactor,
} from "../../records/sessions/mod.ts";
import { readPendingCookie } from "../cookies.ts";
import type { PageDeps } from "../page_deps.tsx";
import { findRelyingParty } from "../settings.ts";
import { renderPasskeyForm, toRequestOptions } from "./form.tsx";
import { makeChallenge, readAssertion, readChallenge, verifyAssertion } from "./response.ts";

type Offer = { action: string; token: string; pending: PendingSignIn; isAgain: boolean };

/** The button and its cookies; empty if the person has no passkey. */
export function offerPasskeyFactor(
  deps: PageDeps,
  request: Request,
  { pending, isAgain, ...form }: Offer,
): { part: Html | undefined; cookies: string[] } {
  const party = findRelyingParty(deps.identity);
  if (party === undefined || pending.passkeys.length === 0) return { part: undefined, cookies: [] };
  const purpose = toPurpose(deps, request);
  const { challenge, cookies } = makeChallenge(deps, request, { purpose, isNew: isAgain });
  const known = pending.passkeys.map(({ id, transports }) => ({
    credentialId: Buffer.from(id, "hex").toString("base64url"),
    transports,
  }));
  const part = (
    <>
      <div data-passkey-part hidden>
        {pending.hasTotp && <p class="or">or</p>}
        {renderPasskeyForm({
          ...form,
          kind: "use",
          options: toRequestOptions(party, { challenge, known }),
          button: "Use a passkey",
          tone: pending.hasTotp ? "quiet" : "primary",
        })}
      </div>
      <noscript>
        <p class="notice notice-info">Passkeys require JavaScript.</p>
      </noscript>
    </>
  );
  return { part, cookies };
}

/** The proof of a valid response for the database; `undefined` for an invalid response. */
export async function findPasskeyFactor(
  deps: PageDeps,
  request: Request,
  { attempt, text }: { attempt: Extract<FactorAttempt, { userId: string }>; text: string },
): Promise<RightFactor | undefined> {
  const party = findRelyingParty(deps.identity);
  const challenge = readChallenge(deps, request, toPurpose(deps, request));
  const assertion = readAssertion(text);
  if (party === undefined || challenge === undefined || assertion === undefined) return undefined;
  const hex = Buffer.from(assertion.id, "base64url").toString("hex");
  const known = attempt.passkeys?.find(({ id }) => id === hex);
  if (known === undefined) return undefined;
  const publicKey = new Uint8Array(Buffer.from(known.publicKey, "hex"));
  const stored = { credentialId: assertion.id, publicKey, userId: attempt.userId };
  const verified = await verifyAssertion(
    assertion,
    { party, challenge },
    { stored, isOnlyFactor: false },
  );
  if (verified === undefined) return undefined;
  return toPasskeyFactor(deps, { ...stored, secretId: known.secretId }, verified.signCount);
}

function toPurpose(
  { identitySecrets }: PageDeps,
  request: Request,
): { kind: "second-factor"; pendingId: string } {
  const [pendingId = ""] = readPendingCookie(request, identitySecrets).split(".");
  return { kind: "second-factor", pendingId };
}
