/**
 * The form that edits a row, fetched from its own page: in a cell only one column's field is shown, in a dialog all. It is sent
 * as it is on its own page, with the version that it was opened at; the answer is the rows again, or the form with its
 * faults.
 *
 * @module
 */
import { requestPage } from "./request_page.ts";

const FORM = "form[data-row-form]";

export type SentForm =
  /** Stored: the page of rows, if the server led back to it. */
  | { kind: "stored"; page: Document }
  /** Refused: the form with its faults, and what is said above it. */
  | { kind: "refused"; form: HTMLFormElement; faults: string[] }
  | { kind: "elsewhere"; url: URL };

/** The form at an address; `undefined` where there is none, such as after a sign-out. */
export async function readRowForm(url: string): Promise<HTMLFormElement | undefined> {
  const { page } = await requestPage(url);
  return adoptForm(page);
}

export async function sendRowForm(
  form: HTMLFormElement,
  submitter?: HTMLElement | null,
): Promise<SentForm> {
  const { status, url, page } = await requestPage(toAction(form), new FormData(form, submitter));
  if (status < 300) return { kind: "stored", page };
  const faults = readFaults(page);
  const again = adoptForm(page);
  return again === undefined
    ? { kind: "elsewhere", url }
    : { kind: "refused", form: again, faults };
}

/** Where a form is sent. Not form.action: a column of that name would be meant. */
export function toAction(form: HTMLFormElement): string {
  return form.getAttribute("action") ?? location.href;
}

function adoptForm(page: Document): HTMLFormElement | undefined {
  const form = page.querySelector<HTMLFormElement>(FORM);
  return form === null ? undefined : document.adoptNode(form);
}

/** What is said above the form and at its fields. */
function readFaults(page: Document): string[] {
  const said = page.querySelectorAll("main .notice-fault p, main .notice-fault li, .faults li");
  const texts = [...said].map(({ textContent }) => textContent?.trim() ?? "");
  return [...new Set(texts.filter((text) => text !== ""))];
}
