/** The mail server and the sender of emails. @module */

import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import { cleanPasted } from "../std/pasted_text.ts";

export type MailFrom = { name: string; address: string };
export type MailSettings = {
  /** `smtp://` or `smtps://`, with optional user and password. */
  url: string;
  from: MailFrom;
  /** The origin of the pages that links point to. */
  pagesUrl: string;
};

/**
 * The name in the greeting (EHLO): strict servers reject an address or a name without a dot. The host of the pages, or the
 * domain of the sender.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5321#section-4.1.1.1
 */
export function toGreeting({ from, pagesUrl }: Pick<MailSettings, "from" | "pagesUrl">): string {
  const { hostname } = new URL(pagesUrl);
  const domain = from.address.slice(from.address.lastIndexOf("@") + 1);
  return [hostname, domain].find(isFullName) ?? (domain || hostname);
}

function isFullName(name: string): boolean {
  // Names of containers can have underscores, which strict servers reject.
  const isName = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(name);
  return isName && isIP(name) === 0 && !name.endsWith(".localhost");
}

const ADDRESS = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)*$/i;
const NAMED = /^([^"<>@,;:\\\p{C}]{1,100}?) ?<([^<>]+)>$/u;
const QUOTED_NAME = /^"([^"]*)"(?= ?<)/;

function toAsciiDomain(address: string): string {
  const start = address.lastIndexOf("@") + 1;
  return address.slice(0, start) + domainToASCII(address.slice(start));
}

/** Parses `no-reply@example.org` or `Name <no-reply@example.org>`; `undefined` for any other text. */
export function readMailFrom(text: string): MailFrom | undefined {
  const plain = text.trim().replace(QUOTED_NAME, "$1");
  const [, name = "", typed = plain] = NAMED.exec(plain) ?? [];
  const address = toAsciiDomain(cleanPasted(typed).replace(/^mailto:/i, ""));
  return ADDRESS.test(address) && address.length <= 254
    ? { name: name.trim(), address }
    : undefined;
}
