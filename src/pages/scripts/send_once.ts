/** Sends a form once: ignores a second click during the request. @module */

// Browsers report no event when a person stops a request.
const FORGOTTEN_MS = 20_000;

export function startSendingOnce(): void {
  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (!(form instanceof HTMLFormElement)) return;
    // GET forms can be sent again. getAttribute, because form.method could be a field with that name.
    if (form.getAttribute("method") !== "post") return;
    if (form.ariaBusy === "true") event.preventDefault();
    if (event.defaultPrevented) return;
    form.ariaBusy = "true";
    submitter?.setAttribute("aria-disabled", "true");
    setTimeout(() => release(form), FORGOTTEN_MS);
  });
  // The browser can restore the page from its cache with a disabled form.
  addEventListener("pageshow", () => {
    for (const form of document.forms) release(form);
  });
}

function release(form: HTMLFormElement): void {
  form.ariaBusy = null;
  for (const button of form.querySelectorAll("[type=submit][aria-disabled]"))
    button.removeAttribute("aria-disabled");
}
