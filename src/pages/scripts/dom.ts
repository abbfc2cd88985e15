/** Elements, announcements, fragments and requests of pages: what most scripts use. Text stays text. @module */
import { track } from "./pending.ts";

export const SMALL_BUTTON = "button button-quiet button-small";

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.append(...children);
  return created;
}

/** A small button that runs `run` when it is pressed. */
export function makeButton(
  name: string,
  run: () => void,
  attributes: Readonly<Record<string, string>> = {},
): HTMLButtonElement {
  const button = element("button", { type: "button", class: SMALL_BUTTON, ...attributes }, name);
  button.addEventListener("click", run);
  return button;
}

// The options of a combobox, of which the chosen one has the focus for screen readers.

function listOptions(list: Element): HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>("[role=option]")];
}

export function findChosen(list: Element): HTMLElement | undefined {
  return listOptions(list).find(({ ariaSelected }) => ariaSelected === "true");
}

export function chooseOption(input: Element, list: Element, option: Element | undefined): void {
  for (const other of listOptions(list)) other.ariaSelected = String(other === option);
  if (option === undefined) input.removeAttribute("aria-activedescendant");
  else input.setAttribute("aria-activedescendant", option.id);
  option?.scrollIntoView({ block: "nearest" });
}

/** Chooses the next or previous option, around the ends. */
export function moveChoice(input: Element, list: Element, step: 1 | -1): void {
  const options = listOptions(list);
  const now = options.findIndex(({ ariaSelected }) => ariaSelected === "true");
  const next = now === -1 && step === -1 ? options.length - 1 : now + step;
  chooseOption(input, list, options[(next + options.length) % options.length]);
}

// Announces results of scripts to screen readers, without interrupting them.

const ID = "announcements";

/** A live region must exist before its first message: call this early, once. */
export function openAnnouncements(): HTMLElement {
  const open = document.getElementById(ID);
  if (open !== null) return open;
  const region = document.createElement("p");
  region.id = ID;
  region.className = "visually-hidden";
  region.setAttribute("role", "status");
  document.body.append(region);
  return region;
}

export function announce(text: string): void {
  const region = openAnnouncements();
  region.textContent = "";
  // A screen reader announces the same message again only after an empty one.
  setTimeout(() => {
    region.textContent = text;
  }, 50);
}

// The fragment of an address, such as a search, during a sign-in: redirects and forms lose it.

const STORED = "rowhouse.fragment";

/** On a page of the sign-in: stores the fragment for the page that is opened afterwards. */
export function storeFragment(): void {
  const to = new URLSearchParams(location.search).get("to");
  if (to !== null && location.hash !== "")
    sessionStorage.setItem(STORED, JSON.stringify([to, location.hash]));
}

/** Restores the fragment of this page, once. */
export function restoreFragment(): void {
  const stored = sessionStorage.getItem(STORED);
  sessionStorage.removeItem(STORED);
  if (stored === null || location.hash !== "") return;
  const [to, hash] = JSON.parse(stored) as [to: string, hash: string];
  if (to === location.pathname + location.search) history.replaceState(null, "", hash);
}

// The focus after a form was sent: the first invalid field, or else the message about the result. A
// keyboard then continues from there, not from the beginning of the page.

export function focusResult(): void {
  const field = document.querySelector<HTMLElement>("[aria-invalid=true]");
  const message = document.querySelector<HTMLElement>(
    "main .notice:is([role=alert], [role=status])",
  );
  if (field !== null) field.focus();
  else if (message !== null && document.querySelector("[autofocus]") === null) {
    message.tabIndex = -1;
    message.focus({ preventScroll: location.hash !== "" });
  }
}

const SAVING_MS = 60_000;

/** Saves a text as a file. Safari and Firefox read it some time after the click. */
export function saveFile(download: string, text: string, type: string): void {
  const link = element("a", { download, href: URL.createObjectURL(new Blob([text], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), SAVING_MS);
}

// Sends a form once: ignores a second click during the request.

// Browsers report no event when a person stops a request.
const FORGOTTEN_MS = 20_000;

export function startSendingOnce(): void {
  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (!(form instanceof HTMLFormElement)) return;
    // GET forms can be sent again. getAttribute, because form.method could be a field with that name.
    if (form.getAttribute("method") !== "post") return;
    if (form.ariaBusy === "true") event.preventDefault();
    if (event.defaultPrevented) return;
    form.ariaBusy = "true";
    submitter?.setAttribute("aria-disabled", "true");
    setTimeout(() => release(form), FORGOTTEN_MS);
  });
  // The browser can restore the page from its cache with a disabled form.
  addEventListener("pageshow", () => {
    for (const form of document.forms) release(form);
  });
}

function release(form: HTMLFormElement): void {
  form.ariaBusy = null;
  for (const button of form.querySelectorAll("[type=submit][aria-disabled]"))
    button.removeAttribute("aria-disabled");
}

// Requests pages that the server rendered.

export type PageResponse = {
  status: number;
  /** The address after redirects. */
  url: URL;
  page: Document;
};

/** Gets a page, or sends a form and gets the next page. @throws {Error} no response, or the response is not a page */
export function requestPage(url: string, form?: FormData): Promise<PageResponse> {
  // XMLHttpRequest parses the document. With fetch(), a script would turn text into markup, which the page's policy forbids.
  const request = new XMLHttpRequest();
  request.open(form === undefined ? "GET" : "POST", url);
  request.responseType = "document";
  const response = new Promise<PageResponse>((resolve, reject) => {
    request.addEventListener("error", () => reject(new Error(`No response from ${url}`)));
    request.addEventListener("load", () => {
      const { status, responseURL, responseXML: page } = request;
      if (page === null) reject(new Error(`No page at ${url}`));
      else resolve({ status, url: new URL(responseURL), page });
    });
  });
  request.send(form === undefined ? null : toText(form));
  return track(response);
}

function toText(form: FormData): URLSearchParams {
  const text = new URLSearchParams();
  for (const [name, value] of form) if (typeof value === "string") text.append(name, value);
  return text;
}
