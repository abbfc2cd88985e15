/**
 * The form that edits a row, fetched from its own page: a cell shows the field of one column, a dialog all. It is sent as on its
 * own page, with the version at which it was opened. The response is the rows again, or the form with its validation errors.
 *
 * @module
 */
import { type PageResponse, requestPage } from "./request_page.ts";

const FORM = "form[data-row-form]";
/** The address of a page of rows that follows an accepted form contains this. */
const DONE = ["stored", "added", "deleted"];
/** The token belongs to the session, which can have changed since the form was opened. */
const TOKEN = 'input[type="hidden"][name="form_token"]';

export type SentForm =
  /** The page of rows after the redirect. */
  | { kind: "stored"; page: Document }
  /** The form with its validation errors, and the messages above it. */
  | { kind: "rejected"; form: HTMLFormElement; issues: string[] }
  /** No response: only the page still has the input. */
  | { kind: "lost"; reason: string };

export type ReadForm = { kind: "form"; form: HTMLFormElement } | { kind: "lost"; reason: string };

/** The form at an address. */
export async function readRowForm(url: string): Promise<ReadForm> {
  const response = await requestPage(url);
  const form = adoptForm(response.page);
  return form === undefined ? toLost(response) : { kind: "form", form };
}

export async function sendRowForm(
  form: HTMLFormElement,
  submitter?: HTMLElement | null,
): Promise<SentForm> {
  const response = await requestPage(toAction(form), new FormData(form, submitter));
  if (isDone(response)) return { kind: "stored", page: response.page };
  const again = adoptForm(response.page);
  return again === undefined
    ? toLost(response)
    : { kind: "rejected", form: again, issues: readIssues(response.page) };
}

/** Whether a form was accepted. Without a session, the server redirects to the sign-in, which is not an error response. */
export function isDone({ url }: PageResponse): boolean {
  return DONE.some((name) => url.searchParams.has(name));
}

/** Explains a response without the form, and what happens to the input. */
export function toLost({ status, url, page }: PageResponse): { kind: "lost"; reason: string } {
  const isSignedOut = status === 403 || url.pathname.includes("/sign-in");
  const reason = isSignedOut
    ? "your session has ended. Sign in again in another tab, then retry."
    : (page.querySelector("main h1")?.textContent ?? `the server responded with ${status}`);
  return { kind: "lost", reason };
}

/** Uses the token of the current session, so that a form from before the sign-in can be sent. */
export async function renewToken(form: HTMLFormElement): Promise<void> {
  const { page } = await requestPage(toAction(form));
  const fresh = page.querySelector<HTMLInputElement>(`main ${TOKEN}`);
  const present = form.querySelector<HTMLInputElement>(TOKEN);
  if (fresh !== null && present !== null) present.value = fresh.value;
}

/** The target of a form. `form.action` could be the field of a column with that name. */
export function toAction(form: HTMLFormElement): string {
  return form.getAttribute("action") ?? location.href;
}

function adoptForm(page: Document): HTMLFormElement | undefined {
  const form = page.querySelector<HTMLFormElement>(FORM);
  return form === null ? undefined : document.adoptNode(form);
}

/** The messages above the form and at its fields. */
function readIssues(page: Document): string[] {
  const issues = page.querySelectorAll("main .notice-error p, main .notice-error li, .issues li");
  const texts = [...issues].map(({ textContent }) => textContent?.trim() ?? "");
  return [...new Set(texts.filter((text) => text !== ""))];
}
