/** The mail server and the sender of emails. @module */

export type MailFrom = { name: string; address: string };
export type MailSettings = {
  /** `smtp://` or `smtps://`, with optional user and password. */
  url: string;
  from: MailFrom;
  /** The origin of the pages that links point to. */
  pagesUrl: string;
};

const ADDRESS = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)*$/i;
const NAMED = /^([^"<>@,;:\\\p{C}]{1,100}?) ?<([^<>]+)>$/u;

/** Parses `no-reply@example.org` or `Name <no-reply@example.org>`; `undefined` for any other text. */
export function readMailFrom(text: string): MailFrom | undefined {
  const [, name = "", address = text] = NAMED.exec(text) ?? [];
  return ADDRESS.test(address) && address.length <= 254
    ? { name: name.trim(), address }
    : undefined;
}
