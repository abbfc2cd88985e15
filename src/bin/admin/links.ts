/** Links that set a password, as commands print them: once, and stored nowhere. @module */

import type { LinkMail } from "../../accounts/mails/mod.ts";
import { LINK_LIFE_S } from "../../accounts/people/mod.ts";
import type { Config } from "../../config/mod.ts";
import { toDurationText } from "../../std/duration.ts";

/** A link to the pages; without a setting only its path is known. */
export function toLink({ IDENTITY_URL, PUBLIC_URL }: Config, text: string): string {
  return `${IDENTITY_URL ?? PUBLIC_URL ?? ""}/set-password?token=${text}`;
}

/** Lines for people: the link, and where else it goes. */
export function describeLink(link: string, mail: LinkMail): string[] {
  const remark = link.startsWith("/")
    ? ["This path is on the identity pages' origin; set IDENTITY_URL to get the whole link"]
    : [];
  const says = `This link sets the password once, within ${toDurationText(LINK_LIFE_S)}:`;
  return [says, link, ...MAIL_WORDS[mail], ...remark];
}

const MAIL_WORDS: Readonly<Record<LinkMail, readonly string[]>> = {
  mailed: ["It is on its way by mail, too"],
  unconfirmed: [
    "No mail is sent: the address is not confirmed by IDENTITY_SECRET; see rowhouse admin confirm-addresses",
  ],
  none: [],
};
