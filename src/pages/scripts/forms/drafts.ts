/**
 * Input that must not be lost: a warning before the user leaves a form, and a draft of a form that was sent after the session
 * ended. The session storage of the tab holds the draft until the next page of the Console. A draft omits the form's token,
 * which belongs to the ended session.
 *
 * @module
 */

import { announce, element } from "../dom.ts";

const FORM = "form[data-unsaved]";
const STORED = "rowhouse.draft";
const TOKEN = "form_token";

export function startDrafts(): void {
  const draft = sessionStorage.getItem(STORED);
  sessionStorage.removeItem(STORED);
  const form = document.querySelector<HTMLFormElement>(FORM);
  // A rejected form already contains the input.
  const isRejected = document.querySelector("main .notice-error") !== null;
  if (draft !== null && form !== null && !isRejected) restore(form, draft);
  document.addEventListener("submit", ({ target, defaultPrevented }) => {
    if (defaultPrevented || !(target instanceof HTMLFormElement) || !target.matches(FORM)) return;
    sessionStorage.setItem(STORED, toDraft(target));
  });
}

function toDraft(form: HTMLFormElement): string {
  const values = [...new FormData(form)].filter(([name]) => name !== TOKEN);
  return JSON.stringify({ action: form.getAttribute("action"), values });
}

function restore(form: HTMLFormElement, draft: string): void {
  const { action, values } = JSON.parse(draft) as { action: string; values: [string, string][] };
  if (action !== form.getAttribute("action")) return;
  const typed = new Map(values);
  for (const control of form.elements) {
    if (control instanceof HTMLInputElement && control.type === "checkbox")
      control.checked = typed.has(control.name);
    else if (
      control instanceof HTMLInputElement ||
      control instanceof HTMLTextAreaElement ||
      control instanceof HTMLSelectElement
    )
      control.value = typed.get(control.name) ?? control.value;
  }
  const text = "Not saved: your session had ended. Your input is restored. Save it again.";
  form.before(element("p", { class: "notice notice-warn" }, text));
  announce(text);
}

// Asks before the user leaves a page with unsaved input in a form with `data-unsaved`.

export function startUnsavedWarnings(): void {
  const changed = new Set<HTMLFormElement>();
  const findForm = ({ target }: Event) =>
    target instanceof Element ? target.closest<HTMLFormElement>(FORM) : null;
  document.addEventListener("input", (event) => {
    const form = findForm(event);
    if (form !== null) changed.add(form);
  });
  document.addEventListener("submit", (event) => {
    const form = findForm(event);
    if (form !== null && !event.defaultPrevented) changed.delete(form);
  });
  addEventListener("beforeunload", (event) => {
    for (const form of changed) if (!form.isConnected) changed.delete(form);
    if (changed.size > 0) event.preventDefault();
  });
}
