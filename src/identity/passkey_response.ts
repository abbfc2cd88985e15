/**
 * A browser's WebAuthn response: parsed, then verified against the challenge, the pages' origin and host, and the stored
 * key. The sender never gets a reason for a failure.
 *
 * @module
 */
import * as v from "valibot";
import { ALGORITHMS, toUserHandle } from "./passkey_options.ts";
import type { RelyingParty } from "./relying_party.ts";

const MAX_ID_BYTES = 1023;
/** Max length of a public key, encoded as COSE. */
const MAX_KEY_BYTES = 2048;

const Text = v.pipe(v.string(), v.maxLength(8192), v.regex(/^[\w-]+$/));
const Id = v.pipe(Text, v.maxLength(Math.ceil((MAX_ID_BYTES * 4) / 3)));
const Credential = { id: Id, rawId: Id, type: v.literal("public-key") };
const Assertion = v.object({
  ...Credential,
  response: v.object({
    clientDataJSON: Text,
    authenticatorData: Text,
    signature: Text,
    // Some browsers send an empty text for a key that is not discoverable.
    userHandle: v.optional(
      v.union([
        Text,
        v.pipe(
          v.literal(""),
          v.transform(() => null),
        ),
        v.null_(),
      ]),
    ),
  }),
});
const TRANSPORTS = ["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"] as const;
const Attestation = v.object({
  ...Credential,
  response: v.object({
    clientDataJSON: Text,
    attestationObject: Text,
    // Only known transports: they are stored and sent to browsers again.
    transports: v.fallback(v.array(v.picklist(TRANSPORTS)), []),
  }),
});

/** The response of an existing passkey. */
export type Assertion = v.InferOutput<typeof Assertion>;
/** The response of a new passkey. */
export type Attestation = v.InferOutput<typeof Attestation>;

export function readAssertion(text: string): Assertion | undefined {
  return read(Assertion, text);
}

export function readAttestation(text: string): Attestation | undefined {
  return read(Attestation, text);
}

function read<Shape extends v.GenericSchema>(
  shape: Shape,
  text: string,
): v.InferOutput<Shape> | undefined {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), shape), text);
  return parsed.success ? parsed.output : undefined;
}

export type Expected = { party: RelyingParty; challenge: string };

export type NewPasskey = {
  credentialId: string;
  publicKey: Uint8Array<ArrayBuffer>;
  signCount: number;
  isBackedUp: boolean;
  transports: readonly string[];
};

/** The new passkey; `undefined` if the response is invalid. */
export async function verifyAttestation(
  attestation: Attestation,
  { party, challenge }: Expected,
): Promise<NewPasskey | undefined> {
  const { verifyRegistrationResponse } = await loadVerifier();
  const { transports, ...response } = attestation.response;
  const result = await rejectErrors(
    verifyRegistrationResponse({
      response: { ...attestation, response, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: false,
      supportedAlgorithmIDs: [...ALGORITHMS],
    }),
  );
  if (result?.verified !== true || isFramed(attestation.response.clientDataJSON)) return undefined;
  const { credential, credentialBackedUp: isBackedUp } = result.registrationInfo;
  const { id: credentialId, counter: signCount } = credential;
  const publicKey = new Uint8Array(credential.publicKey);
  // The verifier does not compare the response's id with the id in the authenticator data.
  if (credentialId !== attestation.id || publicKey.length > MAX_KEY_BYTES) return undefined;
  return { credentialId, publicKey, signCount, isBackedUp, transports };
}

type StoredKey = { userId: string; publicKey: Uint8Array<ArrayBuffer> };

/**
 * The authenticator's signature counter; `undefined` if the response is invalid. The database checks that the counter rises,
 * in the statement that stores it.
 */
export async function verifyAssertion(
  assertion: Assertion,
  { party, challenge }: Expected,
  { stored, isOnlyFactor }: { stored: StoredKey; isOnlyFactor: boolean },
): Promise<{ signCount: number } | undefined> {
  const { verifyAuthenticationResponse } = await loadVerifier();
  const { userHandle, ...response } = assertion.response;
  // A passkey without a password must name its owner; as a second factor it may omit the owner.
  const handle = userHandle ?? (isOnlyFactor ? undefined : toUserHandle(stored.userId));
  if (handle !== toUserHandle(stored.userId)) return undefined;
  const result = await rejectErrors(
    verifyAuthenticationResponse({
      response: { ...assertion, response, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      credential: { id: assertion.id, publicKey: stored.publicKey, counter: 0 },
      requireUserVerification: isOnlyFactor,
    }),
  );
  if (result?.verified !== true || isFramed(assertion.response.clientDataJSON)) return undefined;
  return { signCount: result.authenticationInfo.newCounter };
}

/** Attestation formats for which the verifier has built-in root certificates. */
const ROOTED = ["android-key", "android-safetynet", "apple"] as const;

/**
 * Loads the verifier on first use, because it costs tens of milliseconds and megabytes.
 *
 * Attestation is neither requested nor trusted. With root certificates, the verifier would follow a sender's certificate chain
 * and download revocation lists from the URLs in it: a phone's key can sign such a certificate.
 */
async function loadVerifier(): Promise<typeof import("@simplewebauthn/server")> {
  const verifier = await import("@simplewebauthn/server");
  for (const identifier of ROOTED)
    verifier.SettingsService.setRootCertificates({ identifier, certificates: [] });
  return verifier;
}

/** Returns `undefined` if the verifier throws: it throws for invalid responses and for unreadable bytes. */
async function rejectErrors<Result>(verifying: Promise<Result>): Promise<Result | undefined> {
  try {
    return await verifying;
  } catch {
    return undefined;
  }
}

const ClientData = v.object({
  crossOrigin: v.optional(v.literal(false)),
  topOrigin: v.optional(v.never()),
});

/** Whether the response was created in a frame of another page; these pages never run in frames. */
function isFramed(clientDataJSON: string): boolean {
  return read(ClientData, Buffer.from(clientDataJSON, "base64url").toString("utf8")) === undefined;
}
