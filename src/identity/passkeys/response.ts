/**
 * A browser's WebAuthn response: parsed, then verified against the challenge, the pages' origin and host, and the stored
 * key. The sender never gets a reason for a failure.
 *
 * @module
 */

import * as v from "valibot";
import { CHALLENGE_LIFE_S } from "../../std/limits.ts";
import { makeSealedCookie, type SealDeps, type UnsealDeps } from "../cookies.ts";
import type { RelyingParty } from "../settings.ts";
import { ALGORITHMS, toUserHandle } from "./form.tsx";

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
type Assertion = v.InferOutput<typeof Assertion>;
/** The response of a new passkey. */
type Attestation = v.InferOutput<typeof Attestation>;

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

type Expected = { party: RelyingParty; challenge: string };

type NewPasskey = {
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

// The challenge that a passkey signs: random, for one purpose, in a sealed cookie. The database
// ensures that it is used only once, in the statement that uses it.

export const CHALLENGE_COOKIE = "__Host-rowhouse_passkey";
/** Age up to which a second tab gets the same challenge, so that it does not invalidate the first tab. */
const REUSE_S = 300;
const CHALLENGE_BYTES = 32;

const Purpose = v.variant("kind", [
  /** A passkey without a password: its response names the owner. */
  v.object({ kind: v.literal("sign-in") }),
  v.object({ kind: v.literal("second-factor"), pendingId: v.string() }),
  v.object({ kind: v.literal("register"), userId: v.string(), sessionId: v.string() }),
]);
const Stored = v.object({ challenge: v.string(), startedAtS: v.number(), purpose: Purpose });

type ChallengePurpose = v.InferOutput<typeof Purpose>;
const COOKIE = makeSealedCookie({
  name: CHALLENGE_COOKIE,
  purpose: "passkey challenge",
  schema: Stored,
  lifeS: CHALLENGE_LIFE_S,
});

/**
 * A challenge for a page, and its cookie unless the browser already has it. `isNew` creates a new challenge after a failure,
 * which may have used the previous one.
 */
export function makeChallenge(
  deps: SealDeps & UnsealDeps,
  request: Request,
  { purpose, isNew = false }: { purpose: ChallengePurpose; isNew?: boolean },
): { challenge: string; cookies: string[] } {
  const startedAtS = Math.floor(deps.now() / 1000);
  const old = isNew ? undefined : readStored(deps, request, purpose);
  if (old !== undefined && startedAtS - old.startedAtS < REUSE_S)
    return { challenge: old.challenge, cookies: [] };
  const challenge = Buffer.from(deps.randomBytes(CHALLENGE_BYTES)).toString("base64url");
  return { challenge, cookies: [COOKIE.set(deps, { challenge, startedAtS, purpose })] };
}

/** The browser's challenge for this purpose; `undefined` if it expired. */
export function readChallenge(
  deps: UnsealDeps,
  request: Request,
  purpose: ChallengePurpose,
): string | undefined {
  return readStored(deps, request, purpose)?.challenge;
}

export const clearChallenge = COOKIE.clear;

function readStored(deps: UnsealDeps, request: Request, purpose: ChallengePurpose) {
  const stored = COOKIE.read(request, deps);
  return Bun.deepEquals(stored?.purpose, purpose) ? stored : undefined;
}
