/** A dialog over the grid, whose content changes step by step. @module */
import { inDigits, showCount } from "../../../std/count.ts";
import { startCopyButtons } from "../copy.ts";
import { element } from "../dom.ts";
import { hideSaveState } from "../save_state.ts";

export type Drawer = {
  readonly form: HTMLFormElement;
  /** Replaces the content. Buttons come last, with one that closes the dialog. */
  readonly show: (title: string, parts: readonly Node[], buttons: readonly HTMLElement[]) => void;
  readonly close: () => void;
};

export function countOf(count: number, name = "row"): string {
  return showCount(inDigits(count), name);
}

/** An empty dialog over the grid. */
export function openDrawer(onClose: () => void): Drawer {
  hideSaveState();
  const dialog = element("dialog", { class: "drawer" });
  const heading = element("h2", { tabindex: "-1" });
  const form = element("form", { class: "action row-change" });
  form.noValidate = true;
  dialog.append(heading, form);
  dialog.addEventListener("close", () => {
    dialog.remove();
    onClose();
  });
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog) dialog.close();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.querySelector("main")?.append(dialog);
  return {
    form,
    show: (title, parts, buttons) => {
      heading.textContent = title;
      dialog.ariaLabel = title;
      const close = element("a", { class: "button button-quiet", href: "#" }, "Close");
      close.addEventListener("click", (event) => {
        event.preventDefault();
        dialog.close();
      });
      const line = element("div", { class: "action-buttons" }, ...buttons, close);
      form.replaceChildren(...parts, line);
      if (!dialog.open) dialog.showModal();
      startCopyButtons(dialog);
      const field = form.querySelector<HTMLElement>(
        "[data-field] :is(textarea, select, input:not([type=checkbox]))",
      );
      (field ?? heading).focus();
    },
    close: () => dialog.close(),
  };
}

export function makeFormButton(
  name: string,
  style: "primary" | "danger" | "quiet",
  run: () => void,
): HTMLButtonElement {
  const button = element("button", { type: "button", class: `button button-${style}` }, name);
  button.addEventListener("click", () => {
    if (button.ariaDisabled !== "true") run();
  });
  return button;
}
