/** Enables the button of a permanent deletion after the name is typed. The server checks it again. @module */

export function startTypedNames(root: ParentNode = document): void {
  for (const field of root.querySelectorAll<HTMLInputElement>("input[data-must-be]")) {
    const button = field.form?.querySelector<HTMLButtonElement>("button[type=submit]");
    const check = () => {
      if (button) button.disabled = field.value !== field.dataset["mustBe"];
    };
    field.addEventListener("input", check);
    // Browsers can restore the fields of a page from history.
    addEventListener("pageshow", check);
    check();
  }
}
