/**
 * What a browser sends of a passkey: read, and then verified against the challenge, the pages' own origin and host, and the
 * key that is stored. A refusal has no reason for whoever sent it.
 *
 * @module
 */
import * as v from "valibot";
import { ALGORITHMS, toUserHandle } from "./passkey_options.ts";
import type { RelyingParty } from "./relying_party.ts";

/** The longest id of a credential. */
const MAX_ID_BYTES = 1023;
/** The longest public key, encoded as COSE. */
const MAX_KEY_BYTES = 2048;

const Text = v.pipe(v.string(), v.maxLength(8192), v.regex(/^[\w-]+$/));
const Id = v.pipe(Text, v.maxLength(Math.ceil((MAX_ID_BYTES * 4) / 3)));
const Answer = { id: Id, rawId: Id, type: v.literal("public-key") };
const Assertion = v.object({
  ...Answer,
  response: v.object({
    clientDataJSON: Text,
    authenticatorData: Text,
    signature: Text,
    userHandle: v.optional(v.nullable(Text)),
  }),
});
const TRANSPORTS = ["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"] as const;
const Attestation = v.object({
  ...Answer,
  response: v.object({
    clientDataJSON: Text,
    attestationObject: Text,
    // Only those that there is a word for: it is stored and shown to browsers again.
    transports: v.fallback(v.array(v.picklist(TRANSPORTS)), []),
  }),
});

/** Of a passkey that there is. */
export type Assertion = v.InferOutput<typeof Assertion>;
/** Of a new one. */
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

/** What the answer must be for. */
export type Expected = { party: RelyingParty; challenge: string };

export type NewPasskey = {
  credentialId: string;
  publicKey: Uint8Array<ArrayBuffer>;
  signCount: number;
  isBackedUp: boolean;
  transports: readonly string[];
};

/** The new passkey; `undefined` if the answer is not right. */
export async function verifyAttestation(
  answer: Attestation,
  { party, challenge }: Expected,
): Promise<NewPasskey | undefined> {
  const { verifyRegistrationResponse } = await loadVerifier();
  const { transports, ...response } = answer.response;
  const result = await refuseErrors(
    verifyRegistrationResponse({
      response: { ...answer, response, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: false,
      supportedAlgorithmIDs: [...ALGORITHMS],
    }),
  );
  if (result?.verified !== true || isFramed(answer.response.clientDataJSON)) return undefined;
  const { credential, credentialBackedUp: isBackedUp } = result.registrationInfo;
  const { id: credentialId, counter: signCount } = credential;
  const publicKey = new Uint8Array(credential.publicKey);
  // The verifier does not compare the id that is said with the one in the data.
  if (credentialId !== answer.id || publicKey.length > MAX_KEY_BYTES) return undefined;
  return { credentialId, publicKey, signCount, isBackedUp, transports };
}

/** What is stored of a passkey, and whose it is. */
type StoredKey = { userId: string; publicKey: Uint8Array<ArrayBuffer> };

/**
 * What the authenticator has counted; `undefined` if the answer is not right. Whether the count rises is for the database to
 * check, in the statement that stores it.
 */
export async function verifyAssertion(
  answer: Assertion,
  { party, challenge }: Expected,
  { stored, isAlone }: { stored: StoredKey; isAlone: boolean },
): Promise<{ signCount: number } | undefined> {
  const { verifyAuthenticationResponse } = await loadVerifier();
  const { userHandle, ...response } = answer.response;
  // By itself it must say whose it is; otherwise it may.
  const handle = userHandle ?? (isAlone ? undefined : toUserHandle(stored.userId));
  if (handle !== toUserHandle(stored.userId)) return undefined;
  const result = await refuseErrors(
    verifyAuthenticationResponse({
      response: { ...answer, response, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      credential: { id: answer.id, publicKey: stored.publicKey, counter: 0 },
      requireUserVerification: isAlone,
    }),
  );
  if (result?.verified !== true || isFramed(answer.response.clientDataJSON)) return undefined;
  return { signCount: result.authenticationInfo.newCounter };
}

/** Attestations of these formats end at certificates that the verifier knows. */
const ROOTED = ["android-key", "android-safetynet", "apple"] as const;

/**
 * When it is first needed: it takes tens of milliseconds and megabytes.
 *
 * No attestation is asked for, and none is believed. With roots the verifier would follow a sender's chain of certificates, and
 * load lists of revoked ones from whatever address stands in them: a phone's own key can sign such a certificate.
 */
async function loadVerifier(): Promise<typeof import("@simplewebauthn/server")> {
  const verifier = await import("@simplewebauthn/server");
  for (const identifier of ROOTED)
    verifier.SettingsService.setRootCertificates({ identifier, certificates: [] });
  return verifier;
}

/** The verifier throws whatever it finds wrong with an answer, and bytes that it cannot read throw from within it. */
async function refuseErrors<Result>(verifying: Promise<Result>): Promise<Result | undefined> {
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

/** Whether it was asked for in a frame of another page: none of ours is ever shown in one. */
function isFramed(clientDataJSON: string): boolean {
  return read(ClientData, Buffer.from(clientDataJSON, "base64url").toString("utf8")) === undefined;
}
