/** People's addresses in their canonical form. @module */
import { domainToASCII } from "node:url";
import { Problem } from "../../problem.ts";
import { cleanPasted } from "../../std/pasted_text.ts";
import { quote } from "../../std/quote.ts";
import { EMAIL_MAX_CHARS } from "../../std/stored_text.ts";

const EMAIL =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * An address in the form that is compared and stored: lowercase, and the domain in ASCII letters (`xn--`). Also understands
 * an address with a name, such as `Ada <ada@example.org>`, and a link.
 */
export function toCanonicalEmail(text: string): string {
  const plain = cleanPasted(text);
  const [, name = "", named] = /^([^<]*)<([^<>]*)>[,;.]*$/.exec(plain) ?? [];
  if (named === undefined) return toAddress(plain);
  // A name that is another address would be mistaken for the address.
  const isOther = name.includes("@") && toAddress(cleanPasted(name)) !== toAddress(named);
  return toAddress(isOther ? plain : named);
}

function toAddress(text: string): string {
  const address = text
    .replace(/^mailto:([^?]*).*$/i, "$1")
    .replace(/[,;.]+$/, "")
    .replace(/ *@ */g, "@")
    .trim()
    .toLowerCase();
  const at = address.lastIndexOf("@");
  const domain = address.slice(at + 1);
  if (at < 1 || !/[^\x21-\x7e]/.test(domain) || domain.split(".").some(isMixed)) return address;
  return `${address.slice(0, at)}@${domainToASCII(domain) || domain}`;
}

/** Whether a label mixes similar letters of two scripts, such as the Latin and the Cyrillic "e". */
function isMixed(label: string): boolean {
  return /\p{Script=Latin}/u.test(label) && /\p{Script=Cyrillic}|\p{Script=Greek}/u.test(label);
}

/** An address within a list can have a name with a comma before it. */
const LISTED = /(?:"[^"]*"|[^<>";\n])*<[^<>]*>|[^,;\n]+/g;

/** The addresses in a pasted list, separated by commas, semicolons, spaces or line ends, each as it is in the text. */
export function splitEmails(text: string): string[] {
  const lines = text.replaceAll(/[\r\n\u2028\u2029]+/g, "\n").replaceAll(/[、，]/g, ",");
  const parts = lines.replaceAll("；", ";").match(LISTED) ?? [];
  return parts
    .flatMap((part) => (part.includes("<") ? splitNamed(part) : splitSpaced(part)))
    .filter((part) => cleanPasted(part) !== "");
}

/** A name can have a comma, but no address: an address before a comma is one of its own. */
function splitNamed(part: string): string[] {
  const pieces = part.match(/(?:"[^"]*"|[^,"])+/g) ?? [];
  const last = pieces.findLastIndex(
    (piece, index) => index < pieces.length - 1 && piece.includes("@"),
  );
  return [...pieces.slice(0, last + 1), pieces.slice(last + 1).join(",")];
}

function splitSpaced(part: string): string[] {
  const parts = part.split(/\s+/);
  return parts.length > 1 && parts.every((item) => item === "" || /.@./.test(item))
    ? parts
    : [part];
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
    message: `Cannot use the address ${quote(text)}: ${toRule(email)}`,
  });
}

function toRule(email: string): string {
  if (/[^ -~]/.test(email.slice(0, email.lastIndexOf("@"))))
    return "the part before the @ must have only the letters a to z, digits and symbols";
  if (email.split("@").length > 2) return "must be one address";
  return "must look like ada@example.org";
}
