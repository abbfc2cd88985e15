/** Focuses the first invalid field after a rejected form. @module */

/** The invalid field, or the error message without one, unless the page has set the focus. */
export function focusFirstIssue(): void {
  const field = document.querySelector<HTMLElement>("[aria-invalid=true]");
  const rejection = document.querySelector<HTMLElement>("main .notice-error[role=alert]");
  if (field !== null) field.focus();
  else if (rejection !== null && document.querySelector("[autofocus]") === null) {
    rejection.tabIndex = -1;
    rejection.focus();
  }
}
