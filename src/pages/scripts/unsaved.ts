/** Forms marked with data-unsaved: whoever leaves with something typed is asked first. @module */

export function startUnsavedWarnings(): void {
  const forms = document.querySelectorAll<HTMLFormElement>("form[data-unsaved]");
  for (const form of forms) {
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    form.addEventListener("input", () => addEventListener("beforeunload", warn));
    form.addEventListener("submit", () => removeEventListener("beforeunload", warn));
  }
}
