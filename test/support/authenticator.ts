/**
 * An authenticator in software with its browser: signs with ES256, and returns wrong values that a test asks for.
 *
 * @module
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";

/** Values that replace the correct values of a response. */
export type Lies = {
  origin?: string;
  rpId?: string;
  challenge?: string;
  type?: string;
  /** More members of the client data, such as `crossOrigin`. */
  client?: Record<string, unknown>;
  /** Whether the authenticator verified the person, by a PIN or a fingerprint. */
  isVerified?: boolean;
  isPresent?: boolean;
  count?: number;
  userHandle?: string | null;
  credentialId?: string;
  isTampered?: boolean;
};

/** The members of the W3C's JSON options that the authenticator reads. */
type Options = Record<string, unknown> & {
  challenge: string;
  rpId?: string;
  rp?: { id: string };
  user?: { id: string };
  excludeCredentials?: { id: string }[];
};

export type Authenticator = {
  credentialId: string;
  /** The next signature has this count plus 1. 0 stays 0, as in passkeys that devices share. */
  count: number;
  /** Returns the response to a page that asks for a new passkey. */
  create: (options: Options, lies?: Lies) => string;
  /** Returns the response to a page that asks for this passkey. */
  get: (options: Options, lies?: Lies) => string;
  save: () => SavedAuthenticator;
};

/** An authenticator as plain data, with its private key in PEM. */
export type SavedAuthenticator = { credentialId: string; userHandle: string; privateKey: string };

const FLAGS = { present: 1, verified: 4, mayBackUp: 8, hasKey: 64 };

/** A new authenticator in a browser at this origin, or a saved one. */
export function makeAuthenticator(origin: string, saved?: SavedAuthenticator): Authenticator {
  const privateKey =
    saved === undefined
      ? generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
      : createPrivateKey(saved.privateKey);
  const publicKey = createPublicKey(privateKey);
  let userHandle = saved?.userHandle ?? "";
  const authenticator: Authenticator = {
    credentialId: saved?.credentialId ?? randomBytes(32).toString("base64url"),
    count: 0,
    create: (options, lies = {}) => {
      userHandle = options.user?.id ?? "";
      const id = lies.credentialId ?? authenticator.credentialId;
      const client = toClientData({ origin, options, type: "webauthn.create" }, lies);
      const data = toData(options, { ...lies, count: lies.count ?? authenticator.count }, [
        toNewKey(Buffer.from(id, "base64url"), publicKey),
      ]);
      return toResponse(id, {
        clientDataJSON: client.toString("base64url"),
        attestationObject: toAttestation(data).toString("base64url"),
        transports: ["internal", "hybrid"],
      });
    },
    get: (options, lies = {}) => {
      if (lies.count === undefined && authenticator.count > 0) authenticator.count += 1;
      const client = toClientData({ origin, options, type: "webauthn.get" }, lies);
      const data = toData(options, { ...lies, count: lies.count ?? authenticator.count });
      const signature = sign("sha256", Buffer.concat([data, digest(client)]), privateKey);
      if (lies.isTampered === true) signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1;
      return toResponse(lies.credentialId ?? authenticator.credentialId, {
        clientDataJSON: client.toString("base64url"),
        authenticatorData: data.toString("base64url"),
        signature: signature.toString("base64url"),
        userHandle: lies.userHandle === undefined ? userHandle : lies.userHandle,
      });
    },
    save: () => ({
      credentialId: authenticator.credentialId,
      userHandle,
      privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    }),
  };
  return authenticator;
}

function toResponse(id: string, response: Record<string, unknown>): string {
  return JSON.stringify({
    id,
    rawId: id,
    type: "public-key",
    authenticatorAttachment: "platform",
    clientExtensionResults: {},
    response,
  });
}

function toClientData(
  { origin, options, type }: { origin: string; options: Options; type: string },
  lies: Lies,
): Buffer {
  return Buffer.from(
    JSON.stringify({
      type: lies.type ?? type,
      challenge: lies.challenge ?? options.challenge,
      origin: lies.origin ?? origin,
      crossOrigin: false,
      ...lies.client,
    }),
  );
}

/** Renders the authenticator data: the host's digest, flags, the count, and a new key. */
function toData(options: Options, lies: Lies, more: readonly Buffer[] = []): Buffer {
  const flags =
    (lies.isPresent === false ? 0 : FLAGS.present) +
    (lies.isVerified === false ? 0 : FLAGS.verified) +
    FLAGS.mayBackUp +
    (more.length > 0 ? FLAGS.hasKey : 0);
  const count = Buffer.alloc(4);
  count.writeUInt32BE(lies.count ?? 0);
  const host = lies.rpId ?? options.rpId ?? options.rp?.id ?? "";
  return Buffer.concat([digest(Buffer.from(host)), Buffer.from([flags]), count, ...more]);
}

/** Renders a public key as COSE in CBOR. */
function toNewKey(id: Buffer, publicKey: KeyObject): Buffer {
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const length = Buffer.alloc(2);
  length.writeUInt16BE(id.length);
  return Buffer.concat([
    Buffer.alloc(16),
    length,
    id,
    Buffer.from("a5010203262001215820", "hex"),
    Buffer.from(x, "base64url"),
    Buffer.from("225820", "hex"),
    Buffer.from(y, "base64url"),
  ]);
}

/** `{ fmt: "none", attStmt: {}, authData }` in CBOR. */
function toAttestation(data: Buffer): Buffer {
  const length = Buffer.alloc(3, 0x59);
  length.writeUInt16BE(data.length, 1);
  return Buffer.concat([
    Buffer.from("a363666d74646e6f6e656761747453746d74a0", "hex"),
    Buffer.from("686175746844617461", "hex"),
    length,
    data,
  ]);
}

function digest(bytes: Buffer): Buffer {
  return createHash("sha256").update(bytes).digest();
}
