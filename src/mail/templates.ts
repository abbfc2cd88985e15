/**
 * Texts of emails. Subjects are constants. Text that people typed appears only in bodies, without invisible characters.
 * Each email has one link and loads nothing.
 *
 * @module
 */
import { isIP } from "node:net";
import type { ClaimedMail } from "../records/mails/mod.ts";
import { isDeviceName } from "../records/sessions/mod.ts";
import { toDurationText } from "../std/duration.ts";
import { FORGOTTEN_LINK_LIFE_S, LINK_LIFE_S } from "../std/limits.ts";

/** The content of an email, rendered as plain text and as HTML. */
export type MailText = {
  subject: string;
  /** Before the link. */
  before: readonly string[];
  link: { name: string; url: string };
  /** After the link. */
  after: readonly string[];
};

type MailLinks = {
  /** The origin of the pages. */
  pagesUrl: string;
  /** The secret part of the link, if the email has a password link. */
  linkText: string | undefined;
};

/** The values that templates insert. */
type MailFacts = {
  /** The host of the pages. */
  host: string;
  when: string;
  device: string;
  from: string;
  role: string;
  label: string;
  left: string;
};

type Template = {
  subject: string;
  /** The sentence before the link. */
  event: string;
  /** A page, with the text of its link. */
  link: { name: string; path: string };
  /** Defaults to the advice for an event that the person did not cause. */
  after?: readonly string[];
};

const NOT_YOU = "If this was not you, set a new password now and contact your administrator.";
const UNEXPECTED = "If you did not expect this, contact your administrator.";
const LINK_LIFE = `The link works once and expires in ${toDurationText(LINK_LIFE_S)}.`;

/** The secret of the link is added to this path. */
const TOKEN_PATH = "/set-password?token=";
const SET_PASSWORD = { name: "Set a new password", path: TOKEN_PATH };
const FORGOT = { name: "Set a new password", path: "/forgot" };
const ACCOUNT = { name: "Open your account", path: "/login" };
const SECURITY = { name: "Review your second factor", path: "/account/security" };
const PASSKEYS = { name: "Review your passkeys", path: "/account/security/passkeys" };

/** Keyed by the template name in the mail queue. */
export const TEMPLATES: Readonly<Record<string, (facts: MailFacts) => Template>> = {
  invitation: ({ host }) => ({
    subject: "Your account: choose a password",
    event: `You have a new account at ${host}. It signs you in to your apps.`,
    link: { name: "Choose a password", path: TOKEN_PATH },
    after: [LINK_LIFE, "If you did not expect this email, you can ignore it."],
  }),
  password_link: ({ host }) => ({
    subject: "Set a new password",
    event: `An administrator sent you a password reset link for ${host}.`,
    link: SET_PASSWORD,
    after: [`${LINK_LIFE} Your current password works until you use it.`],
  }),
  forgotten_password: ({ when, from }) => ({
    subject: "Set a new password",
    event: `We received a password reset request for your account ${when}${from}.`,
    link: SET_PASSWORD,
    after: [
      `The link works once and expires in ${toDurationText(FORGOTTEN_LINK_LIFE_S)}. Setting a new password ends all your sessions.`,
      "If you did not request this, you can ignore this email. Your password does not change.",
    ],
  }),
  password_changed: ({ when, device, from }) => ({
    subject: "Your password was changed",
    event: `Your password was changed ${when}${device}${from}. All other sessions have ended.`,
    link: FORGOT,
  }),
  new_device: ({ when, device, from }) => ({
    subject: "New sign-in to your account",
    event: `Someone signed in to your account on a new device ${when}${device}${from}.`,
    link: { name: "Review your sessions", path: "/account/sessions" },
  }),
  provider_linked: ({ when, from }) => ({
    subject: "A new way to sign in to your account",
    event: `An external account was linked to your account ${when}${from}. Anyone who controls it can sign in as you.`,
    link: { name: "Review linked accounts", path: "/account/linked" },
  }),
  passkey_added: ({ when, label, from }) => ({
    subject: "A passkey was added to your account",
    event: `The passkey "${label}" was added ${when}${from}. Anyone who holds it can sign in as you.`,
    link: PASSKEYS,
  }),
  passkey_removed: ({ when, label, from }) => ({
    subject: "A passkey was removed from your account",
    event: `The passkey "${label}" was removed ${when}${from}. It no longer signs you in.`,
    link: PASSKEYS,
  }),
  console_role: ({ when, role }) => ({
    subject: "Your role in the Console was changed",
    event:
      role === ""
        ? `Your Console role was removed ${when}. You can no longer administer apps and people.`
        : `Your Console role was changed to ${role} ${when}.`,
    link: ACCOUNT,
    after: [UNEXPECTED],
  }),
  address_changed: ({ when, host }) => ({
    subject: "Your email address was changed",
    event: `The email address of your account at ${host} was changed ${when}. Sign in with the new address. Your password did not change.`,
    link: ACCOUNT,
    after: [UNEXPECTED],
  }),
  second_factor_added: ({ when, from }) => ({
    subject: "A second factor was added to your account",
    event: `A second factor was added to your account ${when}${from}. You now need it to sign in.`,
    link: SECURITY,
    after: ["Store your recovery codes where you can find them without your phone.", NOT_YOU],
  }),
  second_factor_removed: ({ when, from }) => ({
    subject: "A second factor was removed from your account",
    event: `A second factor was removed from your account ${when}${from}.`,
    link: SECURITY,
  }),
  second_factor_reset: ({ when }) => ({
    subject: "Your second factor was reset",
    event: `An administrator reset your second factor ${when}. All your sessions have ended.`,
    link: { name: "Add a new second factor", path: "/account/security" },
    after: ["If you did not request this, contact your administrator."],
  }),
  second_factor_rejected: ({ when }) => ({
    subject: "Someone may know your password",
    event: `Someone passed the first step of your sign-in, with your password or a linked account, and then entered many wrong codes. The last attempt was ${when}. No attempt succeeded.`,
    link: FORGOT,
    after: [
      "If this was not you, set a new password now. Codes are accepted again after you set it.",
    ],
  }),
  recovery_codes_made: ({ when, from }) => ({
    subject: "You have new recovery codes",
    event: `New recovery codes were created for your account ${when}${from}. Your old codes no longer work.`,
    link: SECURITY,
  }),
  recovery_code_used: ({ when, from, left }) => ({
    subject: "A recovery code was used",
    event: `Someone signed in to your account with a recovery code ${when}${from}. Recovery codes left: ${left}.`,
    link: SECURITY,
  }),
};

/** The content of an email; `undefined` if its link is no longer valid. */
export function writeMail(
  mail: ClaimedMail,
  { pagesUrl, linkText }: MailLinks,
): MailText | undefined {
  const needsLink = mail.hasLink || mail.template === "forgotten_password";
  if (mail.isDisabled || (needsLink && linkText === undefined)) return undefined;
  const write = TEMPLATES[mail.template];
  if (write === undefined) throw new Error(`Mail template ${mail.template} does not exist`);
  const { device, from, role, label, left = "" } = mail.details;
  const { subject, event, link, after } = write({
    host: new URL(pagesUrl).host,
    when: toMoment(mail.createdAt),
    // A stolen login can store any text here: send only values that this service can have stored.
    device: device !== undefined && isDeviceName(device) ? `, with ${device}` : "",
    from: from !== undefined && isIP(from) !== 0 ? `, from ${from}` : "",
    role: role === undefined ? "" : toPlainText(role).replace("_", " "),
    label: toPlainText(label ?? ""),
    left: toPlainText(left),
  });
  const name = toPlainText(mail.displayName ?? "");
  const token = link.path === TOKEN_PATH ? (linkText ?? "") : "";
  return {
    subject,
    before: [name === "" ? "Hello," : `Hello ${name},`, event],
    link: { name: link.name, url: `${pagesUrl}${link.path}${token}` },
    after: after ?? [NOT_YOU],
  };
}

const NAME_CHARS = 80;

/** Removes control characters, line breaks and direction overrides, and truncates. */
function toPlainText(text: string): string {
  return [...text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ").trim()].slice(0, NAME_CHARS).join("");
}

function toMoment(text: string): string {
  return `on ${new Date(text).toUTCString().replace(/:\d\d GMT$/, " UTC")}`;
}
