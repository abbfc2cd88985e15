/** The queue of mails: asked for, claimed by one process, settled. Links are derived from what is claimed, never stored. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import type { RandomBytes } from "../std/random_text.ts";
import { isConfirmed, renewAddress, type StoredAddress } from "./addresses.ts";
import { findIdentitySecret, type IdentitySecrets } from "./identity_secrets.ts";
import { deriveLinkText, makeLink } from "./password_links.ts";
import { type PasswordRecord, proveSignIn } from "./passwords.ts";
import { SIGN_IN_LIMITS, toClient } from "./sign_in_attempts.ts";

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
  /** What a link is made by for somebody who forgot it. */
  password: Pick<PasswordRecord, "hash" | "secretId"> | null;
};

/**
 * Has a link mailed to whoever has this address and a password, and does the same for nobody; returns how many seconds to
 * wait instead.
 */
export async function askForPassword(
  deps: { db: Database },
  { email, address }: { email: string; address: string },
): Promise<number> {
  const { networks, bounds } = toClient(address);
  const [row] = await deps.db.query<{ wait_s: number }>(
    `select rowhouse.ask_for_password($1, string_to_array($2, ','), string_to_array($3, ',')::int4[], $4, $5) as wait_s`,
    [
      email,
      networks.join(","),
      [SIGN_IN_LIMITS.pair, ...bounds].join(","),
      SIGN_IN_LIMITS.windowS,
      address,
    ],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) throw new Error("The queue of mails gave no row");
  return row.wait_s;
}

/** Nobody else gets these while the lease lasts; those that are not settled come again, later each time. */
export async function claimMails(
  deps: { db: Database },
  { most, leaseS, retryS }: { most: number; leaseS: number; retryS: number },
): Promise<ClaimedMail[]> {
  const [row] = await deps.db.query<{ mails: string }>(
    "select rowhouse.claim_mails($1, $2, $3)::text as mails",
    [most, leaseS, retryS],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return JSON.parse(row?.mails ?? "[]") as ClaimedMail[];
}

export type MailOutcome = "sent" | "refused" | "void";

/** Records what became of a claimed mail, so that it is not sent again. */
export async function settleMail(
  deps: { db: Database },
  id: number,
  outcome: MailOutcome,
): Promise<void> {
  await deps.db.query("select rowhouse.settle_mail($1, $2)", [id, outcome], {
    retry: "safe",
    queue: SERVICE_QUEUE,
  });
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
  const [row] = await deps.db.query<{ is_done: boolean }>(
    "select rowhouse.put_forgotten_link($1, $7, decode($2, 'hex'), $3, decode($4, 'hex'), $5, to_timestamp($6)) as is_done",
    [mail.id, shown, link.id, link.proof, link.secretId, link.expiresAtS, email],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  return row?.is_done === true ? link.text : undefined;
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
  const [row] = await deps.db.query<{ state: string }>(
    "select rowhouse.mail_state()::text as state",
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) throw new Error("The queue of mails gave no row");
  return JSON.parse(row.state) as MailState;
}

/** What becomes of the mail about a link: "unconfirmed" if none is sent because the service did not set the address. */
export type LinkMail = "mailed" | "unconfirmed" | "none";

/** What becomes of the mail about a link that was just made. */
export async function findLinkMail(
  deps: { admin: Database; identitySecrets: IdentitySecrets },
  linkText: string,
): Promise<LinkMail> {
  const [id = ""] = linkText.split(".");
  const [row] = await deps.admin.query<StoredAddress & { is_queued: boolean; has_sender: boolean }>(
    `select user_id::text as "userId", email, encode(email_digest, 'hex') as digest, email_secret_id as "secretId",
      exists (select from rowhouse.mails where link_id = $1) as is_queued, rowhouse.has_mail_sender() as has_sender
    from rowhouse.password_links join rowhouse.users on users.id = user_id where password_links.id = $1`,
    [id],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) return "none";
  if (row.has_sender && !isConfirmed(deps.identitySecrets, row)) return "unconfirmed";
  return row.is_queued ? "mailed" : "none";
}
