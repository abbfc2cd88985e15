/**
 * What mails say. Subjects are constant texts; what people typed stands in bodies alone, without anything that a screen
 * does not show. One link leads on; nothing is loaded from anywhere.
 *
 * @module
 */
import { isIP } from "node:net";
import { type ClaimedMail, FORGOTTEN_LINK_LIFE_S } from "../accounts/mails/mod.ts";
import { LINK_LIFE_S } from "../accounts/people/mod.ts";
import { isDeviceName } from "../accounts/sessions/mod.ts";
import { toDurationText } from "../std/duration.ts";

/** One mail as text and markup are made of it. */
export type MailWords = {
  subject: string;
  /** Before the link. */
  before: readonly string[];
  link: { name: string; url: string };
  /** After the link. */
  after: readonly string[];
};

export type MailPlaces = {
  /** The origin of the pages. */
  pagesUrl: string;
  /** The text of the link, where the mail is about one. */
  linkText: string | undefined;
};

type Write = (mail: Said, places: MailPlaces) => MailWords;
/** What a template says of an event. */
type Said = {
  when: string;
  device: string;
  from: string;
  role: string;
  label: string;
  left: string;
};

const IGNORE = "If you did not expect this, you need not do anything.";
const NOT_YOU =
  "If this was not you, set a new password now, and tell whoever runs these apps for you.";

/** By the name under which the database queues a mail. */
export const TEMPLATES: Readonly<Record<string, Write>> = {
  invitation: (_, places) => ({
    subject: "Your account: choose a password",
    before: [`There is an account for you at ${hostOf(places)}, which signs you in to your apps.`],
    link: { name: "Choose a password", url: toPasswordUrl(places) },
    after: [`The link works once, within ${toDurationText(LINK_LIFE_S)}.`, IGNORE],
  }),
  password_link: (_, places) => ({
    subject: "Set a new password",
    before: [`An administrator made a link for you that sets a new password at ${hostOf(places)}.`],
    link: { name: "Set a new password", url: toPasswordUrl(places) },
    after: [
      `The link works once, within ${toDurationText(LINK_LIFE_S)}. Until then your password stays as it is.`,
    ],
  }),
  forgotten_password: ({ when, from }, places) => ({
    subject: "Set a new password",
    before: [`Somebody asked for a new password for your account, ${when}${from}.`],
    link: { name: "Set a new password", url: toPasswordUrl(places) },
    after: [
      `The link works once, within ${toDurationText(FORGOTTEN_LINK_LIFE_S)}. It signs you out wherever you are signed in.`,
      "If you did not ask for it, you need not do anything: your password stays as it is.",
    ],
  }),
  password_changed: ({ when, device, from }, { pagesUrl }) => ({
    subject: "Your password was changed",
    before: [
      `The password of your account was changed, ${when}${device}${from}. All other sessions have ended.`,
    ],
    link: { name: "Set a new password", url: `${pagesUrl}/forgot` },
    after: [NOT_YOU],
  }),
  new_device: ({ when, device, from }, { pagesUrl }) => ({
    subject: "New sign-in to your account",
    before: [`Your account was used on a new device, ${when}${device}${from}.`],
    link: { name: "See your sessions", url: `${pagesUrl}/account/sessions` },
    after: [NOT_YOU],
  }),
  provider_linked: ({ when, from }, { pagesUrl }) => ({
    subject: "A new way to sign in to your account",
    before: [
      `An account elsewhere was linked to yours, ${when}${from}: whoever signs in with it is you here.`,
    ],
    link: { name: "See what is linked", url: `${pagesUrl}/account/linked` },
    after: [NOT_YOU],
  }),
  passkey_added: ({ when, label, from }, { pagesUrl }) => ({
    subject: "A passkey was added to your account",
    before: [`The passkey "${label}" was added, ${when}${from}: whoever holds it is you here.`],
    link: { name: "See your passkeys", url: `${pagesUrl}/account/security/passkeys` },
    after: [NOT_YOU],
  }),
  passkey_removed: ({ when, label, from }, { pagesUrl }) => ({
    subject: "A passkey was removed from your account",
    before: [`The passkey "${label}" was removed, ${when}${from}. It no longer signs you in.`],
    link: { name: "See your passkeys", url: `${pagesUrl}/account/security/passkeys` },
    after: [NOT_YOU],
  }),
  console_role: ({ when, role }, { pagesUrl }) => ({
    subject: "Your role in the Console was changed",
    before: [
      role === ""
        ? `You can no longer administer apps and people in the Console, since ${when}.`
        : `You are now ${role} in the Console, since ${when}.`,
    ],
    link: { name: "Open your account", url: `${pagesUrl}/login` },
    after: ["If this surprises you, tell whoever runs these apps for you."],
  }),
  address_changed: ({ when }, places) => ({
    subject: "The address of your account was changed",
    before: [
      `Your account at ${hostOf(places)} has another email address, since ${when}. Sign in with the new one; your password stays as it is.`,
    ],
    link: { name: "Open your account", url: `${places.pagesUrl}/login` },
    after: ["If this surprises you, tell whoever runs these apps for you."],
  }),

  second_factor_added: ({ when, from }, places) => ({
    subject: "A second factor was added to your account",
    before: [
      `From now on your account asks for a second factor when you sign in: it was added ${when}${from}.`,
    ],
    link: toSecurity(places),
    after: ["Keep your recovery codes where you find them without your phone.", NOT_YOU],
  }),
  second_factor_removed: ({ when, from }, places) => ({
    subject: "A second factor was removed from your account",
    before: [`A second factor of your account was removed, ${when}${from}.`],
    link: toSecurity(places),
    after: [NOT_YOU],
  }),
  second_factor_reset: ({ when }, places) => ({
    subject: "The second factor of your account was reset",
    before: [
      `An administrator took away the second factor of your account, ${when}. All your sessions have ended.`,
    ],
    link: { name: "Sign in and add a new one", url: `${places.pagesUrl}/account/security` },
    after: ["If you did not ask for it, tell whoever runs these apps for you."],
  }),
  second_factor_refused: ({ when }, { pagesUrl }) => ({
    subject: "Somebody knows your password",
    before: [
      `Somebody entered your password, or signed in with an account linked to yours, and then a wrong code many times; the last one ${when}. They did not get in.`,
    ],
    link: { name: "Set a new password", url: `${pagesUrl}/forgot` },
    after: ["If this was not you, set a new password now. Codes are accepted again once you have."],
  }),
  recovery_codes_made: ({ when, from }, places) => ({
    subject: "You have new recovery codes",
    before: [
      `New recovery codes were made for your account, ${when}${from}. The ones before no longer work.`,
    ],
    link: toSecurity(places),
    after: [NOT_YOU],
  }),
  recovery_code_used: ({ when, from, left }, places) => ({
    subject: "A recovery code was used",
    before: [
      `Your account was signed in to with a recovery code, ${when}${from}. You have ${left} left.`,
    ],
    link: toSecurity(places),
    after: [NOT_YOU],
  }),
};

/** `undefined` if the mail is about a link that there is no more. */
export function writeMail(mail: ClaimedMail, places: MailPlaces): MailWords | undefined {
  const needsLink = mail.hasLink || mail.template === "forgotten_password";
  if (mail.isDisabled || (needsLink && places.linkText === undefined)) return undefined;
  const { device, from, role, label, left = "" } = mail.details;
  const said = {
    when: toMoment(mail.createdAt),
    // A stolen login can store any text as these: only what this service can have stored is sent.
    device: device !== undefined && isDeviceName(device) ? `, with ${device}` : "",
    from: from !== undefined && isIP(from) !== 0 ? `, from ${from}` : "",
    role: role === undefined ? "" : toPlainText(role).replace("_", " "),
    label: toPlainText(label ?? ""),
    left: toPlainText(left),
  };
  const write = TEMPLATES[mail.template];
  if (write === undefined) throw new Error(`Mail template ${mail.template} does not exist`);
  const words = write(said, places);
  const name = toPlainText(mail.displayName ?? "");
  return { ...words, before: [name === "" ? "Hello," : `Hello ${name},`, ...words.before] };
}

const NAME_CHARS = 80;

/** Without control characters, line breaks and what turns the direction of a text, and not too long. */
function toPlainText(text: string): string {
  return [...text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ").trim()].slice(0, NAME_CHARS).join("");
}

function toMoment(text: string): string {
  return `on ${new Date(text).toUTCString().replace(/:\d\d GMT$/, " UTC")}`;
}

function toSecurity({ pagesUrl }: MailPlaces): MailWords["link"] {
  return { name: "See your second factor", url: `${pagesUrl}/account/security` };
}

function hostOf({ pagesUrl }: MailPlaces): string {
  return new URL(pagesUrl).host;
}

function toPasswordUrl({ pagesUrl, linkText = "" }: MailPlaces): string {
  return `${pagesUrl}/set-password?token=${linkText}`;
}
