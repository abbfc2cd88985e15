/** The queue of mails: asked for, claimed by one process, settled. Links are derived from what is claimed, never stored. @module */
import { call, type Database } from "../../db/mod.ts";
import type { RandomBytes } from "../../std/random_text.ts";
import { isConfirmed, renewAddress } from "../people/addresses.ts";
import { deriveLinkText, makeLink, toLinkValues } from "../people/password_links.ts";
import { findIdentitySecret, type IdentitySecrets } from "../secrets/identity_secrets.ts";
import { type PasswordRecord, proveSignIn } from "../secrets/passwords.ts";
import { SIGN_IN_LIMITS, toClient } from "../sessions/sign_in_attempts.ts";

/** How long a link for a forgotten password can be used. */
export const FORGOTTEN_LINK_LIFE_S = 1800;

/** A mail whose turn it is. */
export type ClaimedMail = {
  id: number;
  /** A key of the templates in `mail/`. */
  template: string;
  userId: string;
  /** Where it goes: the person's address, or the one before it. */
  email: string;
  emailDigest: string | null;
  emailSecretId: string | null;
  displayName: string | null;
  isDisabled: boolean;
  /** What the template says besides, such as the address of a sign-in. */
  details: Record<string, string>;
  createdAt: string;
  /** Whether it is about a link, which may have ended meanwhile. */
  hasLink: boolean;
  link: { id: string; secretId: string; expiresAtS: number } | null;
  /** What a link is made by for someone who forgot it. */
  password: Pick<PasswordRecord, "hash" | "secretId"> | null;
};

export type PasswordRequest = {
  email: string;
  address: string;
  /** The app that the person was signing in to, and the checked address there. */
  returnTo?: { slug: string; redirectUri: string } | undefined;
};

/**
 * Has a link mailed to whoever has this address and a password, and does the same for no one; returns how many seconds to
 * wait instead.
 */
export async function askForPassword(
  deps: { db: Database },
  { email, address, returnTo }: PasswordRequest,
): Promise<number> {
  const { networks, bounds } = toClient(address);
  return await call(deps.db, "ask_for_password", {
    typed: email,
    client_networks: networks,
    bounds: [SIGN_IN_LIMITS.pair, ...bounds],
    window_s: SIGN_IN_LIMITS.windowS,
    shown_from: address,
    return_app: returnTo?.slug,
    return_to: returnTo?.redirectUri,
  });
}

/** No one else gets these while the lease lasts; those that are not settled come again, later each time. */
export async function claimMails(
  deps: { db: Database },
  { maxRows, leaseS, retryS }: { maxRows: number; leaseS: number; retryS: number },
): Promise<ClaimedMail[]> {
  const values = { max_rows: maxRows, lease_s: leaseS, retry_s: retryS };
  return (await call(deps.db, "claim_mails", values)) as ClaimedMail[];
}

export type MailOutcome = "sent" | "refused" | "void";

/** Records what became of a claimed mail, so that it is not sent again. */
export async function settleMail(
  deps: { db: Database },
  id: number,
  outcome: MailOutcome,
): Promise<void> {
  await call(deps.db, "settle_mail", { mail_id: id, outcome });
}

export type MailLinkDeps = {
  db: Database;
  identitySecrets: IdentitySecrets;
  randomBytes: RandomBytes;
  now: () => Date;
};

/** The text of the link that a mail is about; `undefined` if there is none any more, or the address is not confirmed. */
export async function findMailedLink(
  deps: MailLinkDeps,
  mail: ClaimedMail,
): Promise<string | undefined> {
  const { userId, email, emailDigest: digest, emailSecretId: secretId } = mail;
  const address = { userId, email, digest, secretId };
  if (!isConfirmed(deps.identitySecrets, address)) return undefined;
  await renewAddress(deps, address);
  if (mail.link !== null) return readMailedLink(deps, mail.link);
  if (mail.password === null) return undefined;
  const shown = proveSignIn(deps.identitySecrets, mail.userId, mail.password);
  if (shown === undefined) return undefined;
  const link = makeLink(deps, FORGOTTEN_LINK_LIFE_S);
  const { link_id, link_secret_id, ...values } = toLinkValues(link);
  const isDone = await call(deps.db, "put_forgotten_link", {
    mail_id: mail.id,
    sent_to: email,
    shown,
    new_id: link_id,
    new_secret_id: link_secret_id,
    ...values,
  });
  return isDone ? link.text : undefined;
}

/**
 * Whether the service may write to the address of the mail: one that it has set itself, or the address before a change, which
 * only an administrator can name. A stolen login can create people with addresses of strangers.
 */
export function isMailable(
  { identitySecrets }: Pick<MailLinkDeps, "identitySecrets">,
  mail: ClaimedMail,
): boolean {
  const { userId, email, emailDigest: digest, emailSecretId: secretId } = mail;
  const isFormer = mail.template === "address_changed" && !mail.hasLink;
  return isFormer || isConfirmed(identitySecrets, { userId, email, digest, secretId });
}

function readMailedLink(
  { identitySecrets }: MailLinkDeps,
  link: NonNullable<ClaimedMail["link"]>,
): string | undefined {
  const by = findIdentitySecret(identitySecrets, link.secretId);
  return by && deriveLinkText(by, link.id, link.expiresAtS);
}

export type MailState = {
  /** Whether a process was there in the last ten minutes that sends. */
  hasSender: boolean;
  waiting: number;
  /** How long the one has waited that was first, in seconds. */
  oldestS: number;
  /** In the last 30 days. */
  givenUp: number;
};

/** The state of the queue, for operators and metrics. */
export async function readMailState(deps: { db: Database }): Promise<MailState> {
  return (await call(deps.db, "mail_state", {})) as MailState;
}

/** What becomes of the mail about a link: "unconfirmed" if none is sent because the service did not set the address. */
export type LinkMail = "mailed" | "unconfirmed" | "none";

/** What becomes of the mail about a link that was just made. */
export async function findLinkMail(
  deps: { admin: Database; identitySecrets: IdentitySecrets },
  linkText: string,
): Promise<LinkMail> {
  const [id = ""] = linkText.split(".");
  const [row] = await call(deps.admin, "find_link_mail", { link_id: id });
  if (row === undefined) return "none";
  const { user_id: userId, email, digest, secret_id: secretId } = row;
  const address = { userId, email, digest, secretId };
  if (row.has_sender && !isConfirmed(deps.identitySecrets, address)) return "unconfirmed";
  return row.is_queued ? "mailed" : "none";
}
