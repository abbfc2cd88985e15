/**
 * A row's form in a dialog over the grid, to edit or delete the row. It is fetched from the row's page, and contains the row's
 * version; the response is the page of rows, or the form with its validation errors. The focus returns to the previous element.
 *
 * @module
 */

import { startCopyButtons } from "../copy.ts";
import { explainSilence, SIGNED_OUT } from "../data.ts";
import { element, makeButton, type PageResponse, requestPage } from "../dom.ts";
import { hideSaveState, showNotSaved, showSaved } from "../save_state.ts";
import { addReferencePicker } from "../search/picker.ts";

/** Does not match the form of the sign-in page. */
const FORM = "main form.action[method=post]";

type FormDialog = {
  /** The page that has the form. */
  url: string;
  /** The message after the form was accepted. */
  done: string;
  onDone: () => void;
  onClose?: () => void;
  /** Whether the form is still to be shown when its page has arrived. */
  isWanted?: () => boolean;
  /** Opens the form again after its page was not read. */
  retry?: () => void;
  /** The forms before and after this one: whether there is one, and the page that has it, which is then shown. */
  beside?: { has: (step: 1 | -1) => boolean; move: (step: 1 | -1) => string };
  /** Fills the form before it is shown. Returns the element that gets the focus. */
  fillForm?: (form: HTMLFormElement) => HTMLElement | null;
};

/** Asks whether to discard changes; set while a dialog is open. */
let leave: (() => boolean) | undefined;

/** Closes the open dialog. Returns whether none is open. */
export function closeFormDialog(): boolean {
  return leave?.() ?? true;
}

/** Opens the form of a page in a dialog; opens the page itself if it has no form. Returns whether the dialog is open. */
export async function openFormDialog(options: FormDialog): Promise<boolean> {
  const { url, isWanted } = options;
  const { retry = () => void openFormDialog(options) } = options;
  hideSaveState();
  const response = await requestPage(url).catch(() => undefined);
  if (isWanted?.() === false) return false;
  const dialog = element("dialog", { class: "drawer" });
  if (response === undefined) showNotSaved(explainSilence(), { name: "Retry", run: retry });
  else if (fill(dialog, response.page)) {
    openFilled(dialog, options);
    return true;
  } else location.assign(url);
  return false;
}

function openFilled(dialog: HTMLDialogElement, options: FormDialog): void {
  const { url, done, onDone, onClose, beside, fillForm } = options;
  let first = toState(dialog);
  let wanted = url;
  const isLeft = () => toState(dialog) === first || confirm("Discard unsaved changes?");
  leave = () => {
    if (!isLeft()) return false;
    dialog.close();
    return true;
  };
  const showBeside = () => {
    if (beside !== undefined) dialog.prepend(makeBeside(beside.has, (step) => void move(step)));
  };
  const move = async (step: 1 | -1) => {
    if (beside?.has(step) !== true || !isLeft()) return;
    const to = beside.move(step);
    wanted = to;
    const next = await requestPage(to).catch(() => undefined);
    if (!dialog.open || wanted !== to) return;
    if (next === undefined || !fill(dialog, next.page)) return location.assign(to);
    first = toState(dialog);
    showBeside();
    const button = dialog.querySelector<HTMLElement>(`[data-step="${step}"]:not([disabled])`);
    (button ?? dialog.querySelector("h2"))?.focus();
  };
  showBeside();
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    leave?.();
  });
  dialog.addEventListener("close", () => {
    leave = undefined;
    dialog.remove();
    onClose?.();
  });
  dialog.addEventListener("click", (event) => {
    // "Cancel" leads to the page that is already behind the dialog.
    const isCancel = event.target instanceof Element && event.target.closest(".action-buttons > a");
    if (isCancel) event.preventDefault();
    if (isCancel || event.target === dialog) leave?.();
  });
  dialog.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(event).then((stored) => {
      showBeside();
      if (!stored) return;
      dialog.close();
      showSaved(done);
      onDone();
    });
  });
  document.querySelector("main")?.append(dialog);
  const form = dialog.querySelector("form");
  const field = form === null ? null : (fillForm?.(form) ?? null);
  dialog.showModal();
  if (field === null) focusFirst(dialog);
  else field.focus();
}

function makeBeside(has: (step: 1 | -1) => boolean, move: (step: 1 | -1) => void): HTMLElement {
  const make = (name: string, sign: string, step: 1 | -1) =>
    makeButton(sign, () => move(step), {
      ...{ "aria-label": name, title: name, "data-step": String(step) },
      ...(has(step) ? {} : { disabled: "" }),
    });
  const buttons = [make("Previous row", "↑", -1), make("Next row", "↓", 1)];
  return element("div", { class: "beside-rows" }, ...buttons);
}

/** Focuses the first field with the caret at its end; in a form that deletes, focuses Cancel. */
function focusFirst(dialog: HTMLDialogElement): void {
  const field = dialog.querySelector<HTMLElement>(
    "[data-field] :is(textarea, select, input:not([type=checkbox]))",
  );
  const first = field ?? dialog.querySelector<HTMLElement>(".action-buttons a");
  first?.focus();
  const isField = first instanceof HTMLTextAreaElement || first instanceof HTMLInputElement;
  // A date and an email address have no selection.
  if (isField && first.selectionStart !== null)
    first.setSelectionRange(first.value.length, first.value.length);
}

/** Returns whether the form was accepted. Shows a rejected form with its issues. */
async function send({ target, submitter }: SubmitEvent): Promise<boolean> {
  const form = target as HTMLFormElement;
  const dialog = form.closest("dialog");
  if (form.ariaBusy === "true" || dialog === null) return false;
  hideSaveState();
  form.ariaBusy = "true";
  const response = await requestPage(toAction(form), new FormData(form, submitter)).catch(
    () => undefined,
  );
  form.ariaBusy = null;
  if (response !== undefined && isDone(response)) return true;
  if (response !== undefined && fill(dialog, response.page)) {
    (
      dialog.querySelector<HTMLElement>("[aria-invalid=true], .notice-error") ??
      dialog.querySelector<HTMLElement>("h2")
    )?.focus();
    return false;
  }
  const reason = response === undefined ? explainSilence() : toLost(response).reason;
  const retry = () => renewToken(form).finally(() => form.requestSubmit());
  showNotSaved(reason, { name: "Retry", run: () => void retry().catch(() => undefined) });
  return false;
}

/** Shows the form of a page. Returns whether the page has one. */
function fill(dialog: HTMLDialogElement, page: Document): boolean {
  const form = page.querySelector<HTMLFormElement>(FORM);
  const title = page.querySelector("main h1")?.textContent ?? "";
  if (form === null) return false;
  const notice = page.querySelector<HTMLElement>("main .notice-error");
  if (notice !== null) notice.tabIndex = -1;
  form.classList.remove("sheet");
  const parts = [
    element("h2", { tabindex: "-1" }, title),
    ...(notice === null ? [] : [notice]),
    form,
  ];
  dialog.replaceChildren(...parts.map((part) => document.adoptNode(part)));
  dialog.ariaLabel = title;
  startCopyButtons(dialog);
  addFieldHelp(form);
  return true;
}

function toState(dialog: HTMLDialogElement): string {
  const form = dialog.querySelector("form");
  return form === null ? "" : JSON.stringify([...new FormData(form)]);
}

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
    addReferencePicker(field);
  for (const field of form.querySelectorAll<HTMLInputElement>("input[data-moment]"))
    if (field.nextElementSibling?.matches(".calendar") !== true) addCalendar(field);
}

const MOMENT = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?)(?:\.\d+)? ?(?:UTC|Z)$/;

/** Adds a button with a calendar that fills in a time. The user can also type the time, with any offset. */
function addCalendar(field: HTMLInputElement): void {
  const name = field.name.replace(/^value\./, "");
  const calendar = element("input", {
    ...{ type: "datetime-local", step: "1", class: "calendar", tabindex: "-1" },
    "aria-hidden": "true",
  });
  const label = `Choose ${name} in UTC`;
  const open = makeButton("▾", () => calendar.showPicker(), {
    ...{ class: "calendar-button", "aria-label": label, title: label },
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
  field.after(calendar, open);
  show();
}
