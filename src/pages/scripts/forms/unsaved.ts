/** Asks before the user leaves a page with unsaved input in a form with `data-unsaved`. @module */
import { FORM } from "./drafts.ts";

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
