/** What forms of the Console send, checked. @module */
import { isIdText } from "../accounts/secrets/mod.ts";
import { Problem } from "../problem.ts";
import { isUuid } from "../std/is_uuid.ts";

/** @throws {Problem} invalid_request — a hand made this form */
export function readKeyId(text: string | undefined): string {
  if (text !== undefined && isIdText(text)) return text;
  throw new Problem("invalid_request", {
    message: "The form has no key id: reload the page and try again",
  });
}

/** @throws {Problem} invalid_request — a hand made this form */
export function readPersonId(text = ""): string {
  if (isUuid(text)) return text;
  throw new Problem("invalid_request", {
    message: "The form has no person id: reload the page and try again",
  });
}

/** What a page put into its form, to be sent on in a header. @throws {Problem} invalid_request — a hand made this form */
export function readHeaderValue(text = ""): string {
  if (/^[\x21-\x7e]{1,200}$/.test(text)) return text;
  throw new Problem("invalid_request", {
    message: "The form is incomplete: reload the page and try again",
  });
}

/** Everything that a refusal says. */
export function toMessages({ message, details = [] }: Problem): string[] {
  return details.length === 0 ? [message] : details.map((detail) => detail.message);
}

/** A field with one value a line. */
export function readLines(text: string | undefined): string[] {
  return (text ?? "")
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
