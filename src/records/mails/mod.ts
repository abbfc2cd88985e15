/** The queue of emails. One process claims and settles each email, and derives its link: links are never stored. @module */
import { call, type Database } from "../../db/mod.ts";
import { FORGOTTEN_LINK_LIFE_S } from "../../std/limits.ts";
import type { RandomBytes } from "../../std/random_text.ts";
import { isConfirmed, renewAddress } from "../people/addresses.ts";
import { deriveLinkText, makeLink, toLinkValues } from "../people/password_links.ts";
import { findIdentitySecret, type IdentitySecrets } from "../secrets/identity_secrets.ts";
import { type PasswordRecord, proveSignIn } from "../secrets/secrets.ts";
import { SIGN_IN_LIMITS, toClient } from "../sessions/sign_in_attempts.ts";

/** An email to send now. */
export type ClaimedMail = {
  id: number;
  /** A key of the templates in `mail/`. */
  template: string;
  userId: string;
  /** The recipient: the person's address, or the previous address. */
  email: string;
  emailDigest: string | null;
  emailSecretId: string | null;
  displayName: string | null;
  isDisabled: boolean;
  /** More values for the template, such as the IP address of a sign-in. */
  details: Record<string, string>;
  createdAt: string;
  /** Whether the email contains a link. The link can have ended since. */
  hasLink: boolean;
  link: { id: string; secretId: string; expiresAtS: number } | null;
  /** The stored password, if the email is for a forgotten password. */
  password: Pick<PasswordRecord, "hash" | "secretId"> | null;
};

type PasswordRequest = {
  email: string;
  address: string;
  /** The app that the person was signing in to, and the checked return address. */
  returnTo?: { slug: string; redirectUri: string } | undefined;
};

/**
 * Queues an email with a password link, if the person with this address has a password. Does the same work for an unknown
 * address. Returns the number of seconds to wait if the limit is reached.
 */
export async function askForPassword(
  deps: { db: Database },
  { email, address, returnTo }: PasswordRequest,
): Promise<number> {
  const { networks, bounds } = toClient(address);
  return await call(deps.db, "ask_for_password", {
    email,
    client_networks: networks,
    bounds: [SIGN_IN_LIMITS.pair, ...bounds],
    window_s: SIGN_IN_LIMITS.windowS,
    client_address: address,
    return_app: returnTo?.slug,
    return_to: returnTo?.redirectUri,
  });
}

/** Claims emails for the time of the lease. Unsettled emails are claimed again, with a longer delay each time. */
export async function claimMails(
  deps: { db: Database },
  { maxRows, leaseS, retryS }: { maxRows: number; leaseS: number; retryS: number },
): Promise<ClaimedMail[]> {
  const values = { max_rows: maxRows, lease_s: leaseS, retry_s: retryS };
  return (await call(deps.db, "claim_mails", values)) as ClaimedMail[];
}

type MailOutcome = "sent" | "rejected" | "void";

/** Records the result of a claimed email, so that it is not sent again. */
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

/** The text of the link in an email; `undefined` if the link has ended or the address is not confirmed. */
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
  const proof = proveSignIn(deps.identitySecrets, mail.userId, mail.password);
  if (proof === undefined) return undefined;
  const link = makeLink(deps, FORGOTTEN_LINK_LIFE_S);
  const { link_id, link_secret_id, ...values } = toLinkValues(link);
  const isDone = await call(deps.db, "put_forgotten_link", {
    mail_id: mail.id,
    sent_to: email,
    presented_proof: proof,
    new_id: link_id,
    new_secret_id: link_secret_id,
    ...values,
  });
  return isDone ? link.text : undefined;
}

/**
 * Whether the service can send to this address. The service must have set the address, because a stolen login can create people
 * with addresses of strangers. The previous address of a change is allowed: only an administrator can name it.
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
  /** Whether a process that sends emails was running recently. */
  hasSender: boolean;
  waiting: number;
  /** Age of the oldest waiting email, in seconds. */
  oldestS: number;
  /** The number of emails that were recently not delivered. */
  givenUp: number;
};

/** The state of the queue, for operators and metrics. */
export async function readMailState(deps: { db: Database }): Promise<MailState> {
  return (await call(deps.db, "mail_state", {})) as MailState;
}

/** The state of the email with a link. `unconfirmed`: not sent, because the service did not set the address. */
export type LinkMail = "mailed" | "unconfirmed" | "none";

/** The state of the email with a new link, and whether the link waits for the account to be enabled. */
export async function findLinkMail(
  deps: { admin: Database; identitySecrets: IdentitySecrets },
  linkText: string,
): Promise<{ mail: LinkMail; isDisabled: boolean }> {
  const [id = ""] = linkText.split(".");
  const [row] = await call(deps.admin, "find_link_mail", { link_id: id });
  if (row === undefined) return { mail: "none", isDisabled: false };
  const { user_id: userId, email, digest, secret_id: secretId, is_disabled: isDisabled } = row;
  const address = { userId, email, digest, secretId };
  if (row.has_sender && !isConfirmed(deps.identitySecrets, address))
    return { mail: "unconfirmed", isDisabled };
  return { mail: row.is_queued ? "mailed" : "none", isDisabled };
}
