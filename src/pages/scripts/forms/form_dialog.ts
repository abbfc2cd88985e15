/**
 * A link with `data-dialog` opens a page with one form in a dialog. The form is sent as on its own page, and the next page
 * replaces this one.
 *
 * @module
 */
import { element, requestPage } from "../dom.ts";
import { startPeopleLookup, startTypedNames } from "./inputs.ts";

export function startFormDialogs(): void {
  document.addEventListener("click", (event) => {
    const { target } = event;
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = target instanceof Element ? target.closest("a") : null;
    if (link?.dataset["dialog"] === undefined) return;
    event.preventDefault();
    void openForm(link.href);
  });
}

/** Opens the page itself if it has no form: the page then states the reason, or asks for the password. */
async function openForm(url: string): Promise<void> {
  const response = await requestPage(url).catch(() => undefined);
  const form = response?.page.querySelector<HTMLFormElement>("main form.action[method=post]");
  if (response === undefined || form === null || form === undefined) return location.assign(url);
  const title = response.page.querySelector("main h1")?.textContent ?? "";
  form.classList.remove("sheet");
  const dialog = element(
    "dialog",
    { class: "dialog", "aria-labelledby": "dialog-title" },
    element("h2", { id: "dialog-title" }, title),
    document.adoptNode(form),
  );
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    // "Cancel" leads to the page that is already behind the dialog.
    const isCancel = event.target instanceof Element && event.target.closest(".action-buttons > a");
    if (isCancel) event.preventDefault();
    if (isCancel || event.target === dialog) dialog.close();
  });
  document.querySelector("main")?.append(dialog);
  startTypedNames(dialog);
  startPeopleLookup(dialog);
  dialog.showModal();
  focusFirst(dialog);
}

/** Focuses Cancel in a form that ends something, otherwise the first field. */
function focusFirst(dialog: HTMLDialogElement): void {
  const cancel = dialog.querySelector<HTMLElement>(".action-buttons > a");
  const isEnd = dialog.querySelector(".action-buttons > .button-danger") !== null;
  const field = dialog.querySelector<HTMLElement>("input:not([type=hidden]), select, textarea");
  (isEnd ? cancel : (field ?? cancel))?.focus();
}
