/**
 * The form that edits a row, fetched from the row's page for a dialog. The form contains the row's version. The response is the
 * page of rows, or the form with its validation errors.
 *
 * @module
 */

import { SIGNED_OUT } from "../data.ts";
import { element, type PageResponse, requestPage } from "../dom.ts";
import { addReferencePicker } from "../reference/picker.ts";

/** After an accepted form, the address of the next page has one of these parameters. */
const DONE = ["stored", "added", "deleted"];
/** The token belongs to the session, which can have changed since the form was opened. */
const TOKEN = 'input[type="hidden"][name="form_token"]';

/** Whether a form was accepted. The status is not enough: without a session, the sign-in page responds with 200. */
export function isDone({ url }: PageResponse): boolean {
  return DONE.some((name) => url.searchParams.has(name));
}

/** Explains a response without a form. */
export function toLost({ status, url, page }: PageResponse): { kind: "lost"; reason: string } {
  const isSignedOut = status === 403 || url.pathname.includes("/sign-in");
  const reason = isSignedOut
    ? SIGNED_OUT
    : (page.querySelector("main h1")?.textContent ?? `the server responded with ${status}`);
  return { kind: "lost", reason };
}

/** Replaces the form's token with the token of the current session, so that the form can be sent after another sign-in. */
export async function renewToken(form: HTMLFormElement): Promise<void> {
  const { page } = await requestPage(toAction(form));
  const fresh = page.querySelector<HTMLInputElement>(`main ${TOKEN}`);
  const present = form.querySelector<HTMLInputElement>(TOKEN);
  if (fresh !== null && present !== null) present.value = fresh.value;
}

/** The target of a form. `form.action` could be a field: a column can have that name. */
export function toAction(form: HTMLFormElement): string {
  return form.getAttribute("action") ?? location.href;
}

// Scripts of the fields of a row: a search for references, a calendar for times.

/** Runs before the form is displayed: later, a new button would move other elements under the pointer. */
export function addFieldHelp(form: HTMLFormElement): void {
  for (const field of form.querySelectorAll<HTMLInputElement>("input[data-pick]:not([role])"))
    addReferencePicker(field, form);
  for (const field of form.querySelectorAll<HTMLInputElement>("input[data-moment]"))
    if (field.nextElementSibling?.matches(".calendar") !== true) addCalendar(field);
}

const MOMENT = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?)(?:\.\d+)? ?(?:UTC|Z)$/;

/** Adds a calendar that fills in a time. The user can also type the time, with any offset. */
function addCalendar(field: HTMLInputElement): void {
  const name = field.name.replace(/^value\./, "");
  const calendar = element("input", {
    type: "datetime-local",
    step: "1",
    class: "calendar",
    "aria-label": `Choose ${name} in UTC`,
  });
  const show = () => {
    const [, day, time] = MOMENT.exec(field.value) ?? [];
    calendar.value = day === undefined ? "" : `${day}T${time}`;
  };
  calendar.addEventListener("input", () => {
    if (calendar.value === "") return;
    field.value = `${calendar.value.replace("T", " ")} UTC`;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  field.addEventListener("change", show);
  field.after(calendar);
  show();
}
