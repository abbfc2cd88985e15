/** @jsxImportSource #html @jsxRuntime automatic */
/** A form for passkeys. The script `passkey` shows the form, fills it in and sends it. @module */

import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/server";
import { type Html, type Part, renderForm } from "../../pages/mod.ts";
import { CHALLENGE_LIFE_S } from "../../std/limits.ts";
import type { RelyingParty } from "../settings.ts";

/** The hidden field for the passkey's response. */
export const PASSKEY_FIELD = "passkey";

type PasskeyForm = {
  action: string;
  token: string;
  /** `sign-in` also suggests passkeys in the page's fields; `new` creates a passkey. */
  kind: "sign-in" | "use" | "new";
  /** The options of the WebAuthn call, as JSON. */
  options: object;
  fields?: Part;
  button: Part;
  tone?: "primary" | "quiet";
};

export function renderPasskeyForm(form: PasskeyForm): Html {
  return renderForm({
    tone: "quiet",
    ...form,
    attributes: { "data-passkey": form.kind, "data-options": JSON.stringify(form.options) },
    hidden: { [PASSKEY_FIELD]: "" },
  });
}

// WebAuthn options for creating a passkey and for signing in with one. @see
// https://www.w3.org/TR/webauthn-3/

/** EdDSA, ES256 and RS256, which authenticators and Bun support. @see https://www.iana.org/assignments/cose */
export const ALGORITHMS: readonly number[] = [-8, -7, -257];

const TIMEOUT_MS = CHALLENGE_LIFE_S * 1000;

type KnownPasskey = { credentialId: string; transports: readonly string[] };
type Transports = NonNullable<
  NonNullable<PublicKeyCredentialRequestOptionsJSON["allowCredentials"]>[number]["transports"]
>;

type NewPasskey = {
  challenge: string;
  person: { id: string; email: string; displayName: string | null };
  known: readonly KnownPasskey[];
};

/** Options for a new passkey. Authenticators that hold a `known` passkey are excluded. */
export function toCreationOptions(
  { id }: RelyingParty,
  { challenge, person, known }: NewPasskey,
): PublicKeyCredentialCreationOptionsJSON {
  return {
    challenge,
    rp: { id, name: id },
    user: {
      id: toUserHandle(person.id),
      name: person.email,
      displayName: person.displayName ?? person.email,
    },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ alg, type: "public-key" })),
    timeout: TIMEOUT_MS,
    excludeCredentials: known.map(toDescriptor),
    authenticatorSelection: { residentKey: "preferred", userVerification: "preferred" },
    attestation: "none",
  };
}

/** Options for a `known` passkey; without `known`, for any discoverable passkey of this host. */
export function toRequestOptions(
  { id: rpId }: RelyingParty,
  { challenge, known = [] }: { challenge: string; known?: readonly KnownPasskey[] },
): PublicKeyCredentialRequestOptionsJSON {
  return {
    challenge,
    rpId,
    timeout: TIMEOUT_MS,
    allowCredentials: known.map(toDescriptor),
    userVerification: known.length === 0 ? "required" : "preferred",
  };
}

/** The user handle that an authenticator stores: the person's id, which reveals nothing. */
export function toUserHandle(userId: string): string {
  return Buffer.from(userId.replaceAll("-", ""), "hex").toString("base64url");
}

function toDescriptor({ credentialId: id, transports }: KnownPasskey): {
  id: string;
  type: "public-key";
  transports: Transports;
} {
  return { id, type: "public-key", transports: transports as Transports };
}
