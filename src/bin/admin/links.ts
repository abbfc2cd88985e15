/** Password links as commands print them: once, and not stored. @module */

import type { LinkMail } from "../../accounts/mails/mod.ts";
import { LINK_LIFE_S } from "../../accounts/people/mod.ts";
import type { Config } from "../../config/mod.ts";
import { toDurationText } from "../../std/duration.ts";

/** A link to the pages; only its path if neither IDENTITY_URL nor PUBLIC_URL is set. */
export function toLink({ IDENTITY_URL, PUBLIC_URL }: Config, text: string): string {
  return `${IDENTITY_URL ?? PUBLIC_URL ?? ""}/set-password?token=${text}`;
}

/** Lines for people: the link, and whether it is emailed. */
export function describeLink(link: string, mail: LinkMail): string[] {
  const notice = link.startsWith("/")
    ? [
        "This path belongs to the origin of the identity pages; set IDENTITY_URL to print the full link",
      ]
    : [];
  const message = `This link sets the password once, within ${toDurationText(LINK_LIFE_S)}:`;
  return [message, link, ...MAIL_TEXTS[mail], ...notice];
}

const MAIL_TEXTS: Readonly<Record<LinkMail, readonly string[]>> = {
  mailed: ["It is also sent by mail"],
  unconfirmed: [
    "Not mailed: the address is not confirmed with IDENTITY_SECRET; see rowhouse admin confirm-addresses",
  ],
  none: [],
};
