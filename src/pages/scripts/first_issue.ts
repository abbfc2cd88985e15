/** Focuses the first invalid field of a rejected form. Without such a field, focuses the error message. @module */

export function focusFirstIssue(): void {
  const field = document.querySelector<HTMLElement>("[aria-invalid=true]");
  const rejection = document.querySelector<HTMLElement>("main .notice-error[role=alert]");
  if (field !== null) field.focus();
  else if (rejection !== null && document.querySelector("[autofocus]") === null) {
    rejection.tabIndex = -1;
    rejection.focus();
  }
}
