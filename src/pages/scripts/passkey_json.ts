/** Converts passkeys between JSON and the browser's API, also in older browsers. @module */

// The service requests no extensions, and these types do not match those of the options.
type CreationJson = Omit<PublicKeyCredentialCreationOptionsJSON, "extensions">;
type RequestJson = Omit<PublicKeyCredentialRequestOptionsJSON, "extensions">;

/** The response of a new passkey, as JSON. @throws {DOMException} from the browser or the person */
export async function makePasskey(options: unknown): Promise<string> {
  const json = options as CreationJson;
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON?.(json) ?? readCreation(json);
  return toText(await navigator.credentials.create({ publicKey }));
}

/** The response of an existing passkey; with a signal, autofill offers the passkeys. @throws {DOMException} */
export async function askForPasskey(options: unknown, signal?: AbortSignal): Promise<string> {
  const json = options as RequestJson;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON?.(json) ?? readRequest(json);
  const more = signal === undefined ? {} : { signal, mediation: "conditional" as const };
  return toText(await navigator.credentials.get({ publicKey, ...more }));
}

function readCreation(json: CreationJson): PublicKeyCredentialCreationOptions {
  return {
    ...json,
    challenge: toBytes(json.challenge),
    user: { ...json.user, id: toBytes(json.user.id) },
    excludeCredentials: (json.excludeCredentials ?? []).map(readDescriptor),
  } as PublicKeyCredentialCreationOptions;
}

function readRequest(json: RequestJson): PublicKeyCredentialRequestOptions {
  return {
    ...json,
    challenge: toBytes(json.challenge),
    allowCredentials: (json.allowCredentials ?? []).map(readDescriptor),
  } as PublicKeyCredentialRequestOptions;
}

function readDescriptor(json: PublicKeyCredentialDescriptorJSON): PublicKeyCredentialDescriptor {
  return { ...json, id: toBytes(json.id) } as PublicKeyCredentialDescriptor;
}

function toText(credential: Credential | null): string {
  if (!(credential instanceof PublicKeyCredential)) throw new Error("There is no passkey");
  // `toJSON()` can fail, because some password managers return their own objects.
  try {
    return JSON.stringify(credential.toJSON());
  } catch {
    return JSON.stringify(toJson(credential));
  }
}

/** The members that the service reads. */
function toJson(credential: PublicKeyCredential): Record<string, unknown> {
  const { id, type, response } = credential;
  const names = [
    "clientDataJSON",
    "attestationObject",
    "authenticatorData",
    "signature",
    "userHandle",
  ];
  const parts = names.flatMap((name) => {
    const bytes: unknown = Reflect.get(response, name);
    return bytes instanceof ArrayBuffer ? [[name, fromBytes(bytes)]] : [];
  });
  const transports =
    response instanceof AuthenticatorAttestationResponse ? response.getTransports?.() : undefined;
  return { id, rawId: id, type, response: { ...Object.fromEntries(parts), transports } };
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(bytes, (character) => character.charCodeAt(0));
}

function fromBytes(bytes: ArrayBuffer): string {
  const text = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
