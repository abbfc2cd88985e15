/** Parsers for form fields of the Console. @module */
import { isIdText } from "../accounts/secrets/mod.ts";
import { Problem } from "../problem.ts";
import { isUuid } from "../std/is_uuid.ts";

/** @throws {Problem} invalid_request — the form was not sent by its page */
export function readKeyId(text: string | undefined): string {
  if (text !== undefined && isIdText(text)) return text;
  throw new Problem("invalid_request", {
    message: "The form has no key id: reload the page and try again",
  });
}

/** @throws {Problem} invalid_request — the form was not sent by its page */
export function readPersonId(text = ""): string {
  if (isUuid(text)) return text;
  throw new Problem("invalid_request", {
    message: "The form has no person id: reload the page and try again",
  });
}

/** A hidden field whose value is sent in a header. @throws {Problem} invalid_request — the form was not sent by its page */
export function readHeaderValue(text = ""): string {
  if (/^[\x21-\x7e]{1,200}$/.test(text)) return text;
  throw new Problem("invalid_request", {
    message: "The form is incomplete: reload the page and try again",
  });
}

export function toMessages({ message, details = [] }: Problem): string[] {
  return details.length === 0 ? [message] : details.map((detail) => detail.message);
}

export function readText(fields: ReadonlyMap<string, string>, name: string): string {
  return (fields.get(name) ?? "").trim();
}

/** A field with one value per line. */
export function readLines(text: string | undefined): string[] {
  return (text ?? "")
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
