/** Buttons that show the text of a password field. @module */

export function startRevealButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-reveal]")) {
    const field = document.getElementById(button.dataset["reveal"] ?? "");
    if (!(field instanceof HTMLInputElement)) continue;
    button.hidden = false;
    button.addEventListener("click", () => show(field, button, field.type === "password"));
    // Browsers and password managers recognize a password by the type of its field.
    field.form?.addEventListener("submit", () => show(field, button, false));
  }
}

function show(field: HTMLInputElement, button: HTMLButtonElement, isVisible: boolean): void {
  field.type = isVisible ? "text" : "password";
  const label = button.querySelector("[data-label]");
  if (label !== null) label.textContent = isVisible ? "Hide" : "Show";
}
