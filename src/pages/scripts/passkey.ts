/**
 * Forms for passkeys. They are visible if the browser supports passkeys, and are sent with the response of the browser's dialog.
 * Autofill can offer passkeys, too.
 *
 * @module
 */

import { element } from "./dom.ts";

// Converts passkeys between JSON and the browser's API, also in older browsers.

// The service requests no extensions, and these types do not match those of the options.
type CreationJson = Omit<PublicKeyCredentialCreationOptionsJSON, "extensions">;
type RequestJson = Omit<PublicKeyCredentialRequestOptionsJSON, "extensions">;

/** The response of a new passkey, as JSON. @throws {DOMException} from the browser or the person */
async function makePasskey(options: unknown): Promise<string> {
  const json = options as CreationJson;
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON?.(json) ?? readCreation(json);
  return toText(await navigator.credentials.create({ publicKey }));
}

/** The response of an existing passkey; with a signal, autofill offers the passkeys. @throws {DOMException} */
async function askForPasskey(options: unknown, signal?: AbortSignal): Promise<string> {
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

/** Texts for errors of the browser, by name. @see https://www.w3.org/TR/webauthn-3/#sctn-op-create */
const LABELS: Readonly<Record<string, string>> = {
  NotAllowedError: "The request was canceled or timed out. Try again.",
  InvalidStateError: "This device already has a passkey for this service.",
  NotSupportedError: "This device cannot create a passkey for this service.",
};
const OTHER_TEXTS = "Your browser could not use a passkey here.";

/** Cancels the autofill request before the dialog opens: browsers allow only one request at a time. */
let offered: AbortController | undefined;

if ("PublicKeyCredential" in globalThis)
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-passkey]")) start(form);

function start(form: HTMLFormElement): void {
  const part = form.closest<HTMLElement>("[data-passkey-part]") ?? form;
  part.hidden = false;
  // Runs before the listener of `send_once.ts`, which sends each form only once.
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    // Ignores a second click while the dialog is open.
    if (form.ariaBusy === "true") return;
    offered?.abort();
    void askAndSend(form);
  });
  if (form.dataset["passkey"] === "sign-in") void offer(form);
}

/** Opens the browser's dialog, and sends the form with the response. */
async function askAndSend(form: HTMLFormElement): Promise<void> {
  form.querySelector("[role=alert]")?.remove();
  form.ariaBusy = "true";
  const options: unknown = JSON.parse(form.dataset["options"] ?? "{}");
  const isNew = form.dataset["passkey"] === "new";
  try {
    send(form, await (isNew ? makePasskey(options) : askForPasskey(options)));
  } catch (error) {
    const name = error instanceof Error || error instanceof DOMException ? error.name : "";
    const terms = LABELS[name] ?? OTHER_TEXTS;
    form.ariaBusy = null;
    form.prepend(element("p", { class: "notice notice-error", role: "alert" }, terms));
  }
}

/** Offers passkeys in the autofill of a field, until one is selected or the form is used. */
async function offer(form: HTMLFormElement): Promise<void> {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  offered = new AbortController();
  const options: unknown = JSON.parse(form.dataset["options"] ?? "{}");
  try {
    send(form, await askForPasskey(options, offered.signal));
  } catch {
    // The user selected no passkey.
  }
}

function send(form: HTMLFormElement, text: string): void {
  const field = form.elements.namedItem("passkey");
  if (field instanceof HTMLInputElement) field.value = text;
  form.submit();
}
