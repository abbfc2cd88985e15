/**
 * Forms for passkeys. They are visible if the browser supports passkeys, and are sent with the response of the browser's dialog.
 * Autofill can offer passkeys, too.
 *
 * @module
 */
import { element } from "./element.ts";
import { askForPasskey, makePasskey } from "./passkey_json.ts";

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
