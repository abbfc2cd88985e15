/** A form is sent once: a second press while the first is under way does nothing. @module */

// Browsers report no event when a person stops a request.
const FORGOTTEN_MS = 20_000;

export function startSendingOnce(): void {
  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (!(form instanceof HTMLFormElement)) return;
    // A form that is read may be sent as often as anyone likes. Not form.method: a field of that name would be meant.
    if (form.getAttribute("method") !== "post") return;
    if (form.ariaBusy === "true") event.preventDefault();
    if (event.defaultPrevented) return;
    form.ariaBusy = "true";
    submitter?.setAttribute("aria-disabled", "true");
    setTimeout(() => release(form), FORGOTTEN_MS);
  });
  // A page that is come back to is as it was left.
  addEventListener("pageshow", () => {
    for (const form of document.forms) release(form);
  });
}

function release(form: HTMLFormElement): void {
  form.ariaBusy = null;
  for (const button of form.querySelectorAll("[type=submit][aria-disabled]"))
    button.removeAttribute("aria-disabled");
}
