/**
 * Texts of emails. Subjects are constants. Text that people typed appears only in bodies, without invisible characters.
 * Each email has one link and loads nothing.
 *
 * @module
 */
import { isIP } from "node:net";
import { type ClaimedMail, FORGOTTEN_LINK_LIFE_S } from "../accounts/mails/mod.ts";
import { LINK_LIFE_S } from "../accounts/people/mod.ts";
import { isDeviceName } from "../accounts/sessions/mod.ts";
import { toDurationText } from "../std/duration.ts";

/** The content of an email, rendered as plain text and as HTML. */
export type MailText = {
  subject: string;
  /** Before the link. */
  before: readonly string[];
  link: { name: string; url: string };
  /** After the link. */
  after: readonly string[];
};

export type MailLinks = {
  /** The origin of the pages. */
  pagesUrl: string;
  /** The secret part of the link, if the email has a password link. */
  linkText: string | undefined;
};

type Write = (mail: MailFacts, links: MailLinks) => MailText;
/** The values that templates insert. */
type MailFacts = {
  when: string;
  device: string;
  from: string;
  role: string;
  label: string;
  left: string;
};

const IGNORE = "If you did not expect this email, you can ignore it.";
const NOT_YOU = "If this was not you, set a new password now and contact your administrator.";
const UNEXPECTED = "If you did not expect this, contact your administrator.";

/** Keyed by the template name in the mail queue. */
export const TEMPLATES: Readonly<Record<string, Write>> = {
  invitation: (_, links) => ({
    subject: "Your account: choose a password",
    before: [`You have a new account at ${hostOf(links)}. It signs you in to your apps.`],
    link: { name: "Choose a password", url: toPasswordUrl(links) },
    after: [`The link works once and expires in ${toDurationText(LINK_LIFE_S)}.`, IGNORE],
  }),
  password_link: (_, links) => ({
    subject: "Set a new password",
    before: [`An administrator sent you a password reset link for ${hostOf(links)}.`],
    link: { name: "Set a new password", url: toPasswordUrl(links) },
    after: [
      `The link works once and expires in ${toDurationText(LINK_LIFE_S)}. Your current password works until you use it.`,
    ],
  }),
  forgotten_password: ({ when, from }, links) => ({
    subject: "Set a new password",
    before: [`We received a password reset request for your account ${when}${from}.`],
    link: { name: "Set a new password", url: toPasswordUrl(links) },
    after: [
      `The link works once and expires in ${toDurationText(FORGOTTEN_LINK_LIFE_S)}. Setting a new password ends all your sessions.`,
      "If you did not request this, you can ignore this email. Your password does not change.",
    ],
  }),
  password_changed: ({ when, device, from }, { pagesUrl }) => ({
    subject: "Your password was changed",
    before: [`Your password was changed ${when}${device}${from}. All other sessions have ended.`],
    link: { name: "Set a new password", url: `${pagesUrl}/forgot` },
    after: [NOT_YOU],
  }),
  new_device: ({ when, device, from }, { pagesUrl }) => ({
    subject: "New sign-in to your account",
    before: [`Someone signed in to your account on a new device ${when}${device}${from}.`],
    link: { name: "Review your sessions", url: `${pagesUrl}/account/sessions` },
    after: [NOT_YOU],
  }),
  provider_linked: ({ when, from }, { pagesUrl }) => ({
    subject: "A new way to sign in to your account",
    before: [
      `An external account was linked to your account ${when}${from}. Anyone who controls it can sign in as you.`,
    ],
    link: { name: "Review linked accounts", url: `${pagesUrl}/account/linked` },
    after: [NOT_YOU],
  }),
  passkey_added: ({ when, label, from }, { pagesUrl }) => ({
    subject: "A passkey was added to your account",
    before: [
      `The passkey "${label}" was added ${when}${from}. Anyone who holds it can sign in as you.`,
    ],
    link: { name: "Review your passkeys", url: `${pagesUrl}/account/security/passkeys` },
    after: [NOT_YOU],
  }),
  passkey_removed: ({ when, label, from }, { pagesUrl }) => ({
    subject: "A passkey was removed from your account",
    before: [`The passkey "${label}" was removed ${when}${from}. It no longer signs you in.`],
    link: { name: "Review your passkeys", url: `${pagesUrl}/account/security/passkeys` },
    after: [NOT_YOU],
  }),
  console_role: ({ when, role }, { pagesUrl }) => ({
    subject: "Your role in the Console was changed",
    before: [
      role === ""
        ? `Your Console role was removed ${when}. You can no longer administer apps and people.`
        : `Your Console role was changed to ${role} ${when}.`,
    ],
    link: { name: "Open your account", url: `${pagesUrl}/login` },
    after: [UNEXPECTED],
  }),
  address_changed: ({ when }, links) => ({
    subject: "Your email address was changed",
    before: [
      `The email address of your account at ${hostOf(links)} was changed ${when}. Sign in with the new address. Your password did not change.`,
    ],
    link: { name: "Open your account", url: `${links.pagesUrl}/login` },
    after: [UNEXPECTED],
  }),
  second_factor_added: ({ when, from }, links) => ({
    subject: "A second factor was added to your account",
    before: [
      `A second factor was added to your account ${when}${from}. You now need it to sign in.`,
    ],
    link: toSecurity(links),
    after: ["Store your recovery codes where you can find them without your phone.", NOT_YOU],
  }),
  second_factor_removed: ({ when, from }, links) => ({
    subject: "A second factor was removed from your account",
    before: [`A second factor was removed from your account ${when}${from}.`],
    link: toSecurity(links),
    after: [NOT_YOU],
  }),
  second_factor_reset: ({ when }, links) => ({
    subject: "Your second factor was reset",
    before: [`An administrator reset your second factor ${when}. All your sessions have ended.`],
    link: { name: "Add a new second factor", url: `${links.pagesUrl}/account/security` },
    after: ["If you did not request this, contact your administrator."],
  }),
  second_factor_rejected: ({ when }, { pagesUrl }) => ({
    subject: "Someone may know your password",
    before: [
      `Someone passed the first step of your sign-in, with your password or a linked account, and then entered many wrong codes. The last attempt was ${when}. No attempt succeeded.`,
    ],
    link: { name: "Set a new password", url: `${pagesUrl}/forgot` },
    after: [
      "If this was not you, set a new password now. Codes are accepted again after you set it.",
    ],
  }),
  recovery_codes_made: ({ when, from }, links) => ({
    subject: "You have new recovery codes",
    before: [
      `New recovery codes were created for your account ${when}${from}. Your old codes no longer work.`,
    ],
    link: toSecurity(links),
    after: [NOT_YOU],
  }),
  recovery_code_used: ({ when, from, left }, links) => ({
    subject: "A recovery code was used",
    before: [
      `Someone signed in to your account with a recovery code ${when}${from}. Recovery codes left: ${left}.`,
    ],
    link: toSecurity(links),
    after: [NOT_YOU],
  }),
};

/** The content of an email; `undefined` if its link is no longer valid. */
export function writeMail(mail: ClaimedMail, links: MailLinks): MailText | undefined {
  const needsLink = mail.hasLink || mail.template === "forgotten_password";
  if (mail.isDisabled || (needsLink && links.linkText === undefined)) return undefined;
  const { device, from, role, label, left = "" } = mail.details;
  const statement = {
    when: toMoment(mail.createdAt),
    // A stolen login can store any text here: send only values that this service can have stored.
    device: device !== undefined && isDeviceName(device) ? `, with ${device}` : "",
    from: from !== undefined && isIP(from) !== 0 ? `, from ${from}` : "",
    role: role === undefined ? "" : toPlainText(role).replace("_", " "),
    label: toPlainText(label ?? ""),
    left: toPlainText(left),
  };
  const write = TEMPLATES[mail.template];
  if (write === undefined) throw new Error(`Mail template ${mail.template} does not exist`);
  const text = write(statement, links);
  const name = toPlainText(mail.displayName ?? "");
  return { ...text, before: [name === "" ? "Hello," : `Hello ${name},`, ...text.before] };
}

const NAME_CHARS = 80;

/** Removes control characters, line breaks and direction overrides, and truncates. */
function toPlainText(text: string): string {
  return [...text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ").trim()].slice(0, NAME_CHARS).join("");
}

function toMoment(text: string): string {
  return `on ${new Date(text).toUTCString().replace(/:\d\d GMT$/, " UTC")}`;
}

function toSecurity({ pagesUrl }: MailLinks): MailText["link"] {
  return { name: "Review your second factor", url: `${pagesUrl}/account/security` };
}

function hostOf({ pagesUrl }: MailLinks): string {
  return new URL(pagesUrl).host;
}

function toPasswordUrl({ pagesUrl, linkText = "" }: MailLinks): string {
  return `${pagesUrl}/set-password?token=${linkText}`;
}
