/** The choice of NULL in a field, as a checkbox or an option. Typing clears the checkbox. @module */

const BOX = "input[data-null]";

export function startNullChoices(): void {
  document.addEventListener("input", ({ target }) => {
    if (!(target instanceof HTMLElement) || target.matches(BOX)) return;
    clearNull(target.closest("[data-field]"));
  });
}

/** Clears the choice of NULL in a field. */
export function clearNull(field: Element | null): void {
  const box = field?.querySelector<HTMLInputElement>(BOX);
  if (box) box.checked = false;
}

/** Selects NULL in a field; returns whether the field allows it. */
export function chooseNull(field: Element | null): boolean {
  const box = field?.querySelector<HTMLInputElement>(BOX);
  const entry = field?.querySelector<HTMLOptionElement>("option[value=null]");
  const text = field?.querySelector<HTMLTextAreaElement | HTMLInputElement>(
    "textarea, input[type=text]",
  );
  if (box) box.checked = true;
  // A text next to a box that was not ticked before is intended.
  if (box && text) text.value = "";
  if (entry) entry.selected = true;
  return Boolean(box ?? entry);
}
