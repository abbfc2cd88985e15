/** People's addresses in their canonical form. @module */
import { Problem } from "../../problem.ts";
import { quote } from "../../std/quote.ts";
import { EMAIL_MAX_CHARS } from "../../std/stored_text.ts";

const EMAIL =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** An address in the form that is compared and stored: trimmed and lowercase. */
export function toCanonicalEmail(text: string): string {
  return text.trim().normalize("NFKC").toLowerCase();
}

/**
 * The canonical form of an address.
 *
 * @throws {Problem} invalid_request — not an address of ASCII letters, or longer than 254 characters
 */
export function readEmail(text: string): string {
  const email = toCanonicalEmail(text);
  if (email.length <= EMAIL_MAX_CHARS && EMAIL.test(email)) return email;
  throw new Problem("invalid_request", {
    message: `Cannot use the address ${quote(text)}: must look like ada@example.org`,
  });
}
