/** A row's form in a dialog over the grid, to edit or delete the row. The focus returns to the previous element. @module */
import { startCopyButtons } from "../copy.ts";
import { explainSilence } from "../data.ts";
import { element, requestPage } from "../dom.ts";
import { hideSaveState, showNotSaved, showSaved } from "../save_state.ts";
import { addFieldHelp, isDone, renewToken, toAction, toLost } from "./row_form.ts";

/** Does not match the form of the sign-in page. */
const FORM = "main form.action[method=post]";

type FormDialog = {
  /** The page that has the form. */
  url: string;
  /** The message after the form was accepted. */
  done: string;
  onDone: () => void;
};

/** Opens the form of a page in a dialog; opens the page itself if it has no form. */
export async function openFormDialog(options: FormDialog): Promise<void> {
  const { url, done, onDone } = options;
  hideSaveState();
  const run = () => void openFormDialog(options);
  const response = await requestPage(url).catch(() => undefined);
  if (response === undefined) return showNotSaved(explainSilence(), { name: "Retry", run });
  const dialog = element("dialog", { class: "drawer" });
  if (!fill(dialog, response.page)) return location.assign(url);
  const first = toState(dialog);
  const leave = () => {
    if (toState(dialog) === first || confirm("Discard unsaved changes?")) dialog.close();
  };
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    leave();
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    // "Cancel" leads to the page that is already behind the dialog.
    const isCancel = event.target instanceof Element && event.target.closest(".action-buttons > a");
    if (isCancel) event.preventDefault();
    if (isCancel || event.target === dialog) leave();
  });
  dialog.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(event).then((stored) => {
      if (!stored) return;
      dialog.close();
      showSaved(done);
      onDone();
    });
  });
  document.querySelector("main")?.append(dialog);
  dialog.showModal();
  focusFirst(dialog);
}

/** Focuses the first field with the caret at its end; in a form that deletes, focuses Cancel. */
function focusFirst(dialog: HTMLDialogElement): void {
  const field = dialog.querySelector<HTMLElement>(
    "[data-field] :is(textarea, select, input:not([type=checkbox]))",
  );
  const first = field ?? dialog.querySelector<HTMLElement>(".action-buttons a");
  first?.focus();
  if (first instanceof HTMLTextAreaElement || first instanceof HTMLInputElement)
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
