/** Focuses the first invalid field after a rejected form. @module */

/** The invalid field, or the error message without one, unless the page has set the focus. */
export function focusFirstIssue(): void {
  const field = document.querySelector<HTMLElement>("[aria-invalid=true]");
  const refusal = document.querySelector<HTMLElement>("main .notice-error[role=alert]");
  if (field !== null) field.focus();
  else if (refusal !== null && document.querySelector("[autofocus]") === null) {
    refusal.tabIndex = -1;
    refusal.focus();
  }
}
