/** Password links as commands print them: once, and not stored. @module */
import { findLinkMail, type LinkMail } from "../../records/mails/mod.ts";
import type { Config } from "../../settings/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { LINK_LIFE_S } from "../../std/limits.ts";
import type { AdminDeps } from "./task.ts";

/** A new link in a document and as lines for people. */
export async function showLink(deps: AdminDeps, { linkText }: { linkText: string }) {
  const passwordLink = toLink(deps.config, linkText);
  const { mail, isDisabled } = await findLinkMail(deps, linkText);
  return {
    document: { passwordLink, isMailed: mail === "mailed" },
    lines: [...describeLink(passwordLink, mail), ...(isDisabled ? [DISABLED] : [])],
  };
}

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

const DISABLED =
  "The account is disabled: the link works once rowhouse admin enable has enabled it";

const MAIL_TEXTS: Readonly<Record<LinkMail, readonly string[]>> = {
  mailed: ["It is also sent by mail"],
  unconfirmed: [
    "Not mailed: the address is not confirmed with IDENTITY_SECRET; see rowhouse admin confirm-addresses",
  ],
  none: [],
};
