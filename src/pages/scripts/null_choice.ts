/** NULL beside a value: whoever types means a value, and NULL is told apart from an empty text. @module */

export function startNullChoices(): void {
  document.addEventListener("input", ({ target }) => {
    if (!(target instanceof HTMLElement) || target.matches("[data-null]")) return;
    const choice = findNullChoice(target.closest("[data-field]"));
    if (choice !== null) choice.checked = false;
  });
}

export function findNullChoice(field: Element | null): HTMLInputElement | null {
  return field?.querySelector<HTMLInputElement>("input[data-null]") ?? null;
}
