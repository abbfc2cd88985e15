/**
 * Proves that this service set a person's address. The address is stored with the digest of a proof, which is derived from the
 * service's secret and covers the person. A thief who can write the table can change an address, but the service sends no link
 * to that address and links no account by it.
 *
 * @module
 */

import { domainToASCII } from "node:url";
import { call, type Database } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import { cleanPasted } from "../../std/pasted_text.ts";
import { EMAIL_MAX_CHARS, EMAIL_PATTERN } from "../../std/patterns.ts";
import { quote } from "../../std/quote.ts";
import { type Actor, runAction } from "../actions/action.ts";
import { findIssues, rejectFor, unknownUser, usedEmail } from "../actions/rejections.ts";
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  isDigestOf,
  toStoredDigest,
} from "../secrets/identity_secrets.ts";

type StoredAddress = {
  userId: string;
  email: string;
  digest: string | null;
  secretId: string | null;
};

/** The stored digest of an address, in hexadecimal. */
export function makeAddressDigest(
  { current }: IdentitySecrets,
  userId: string,
  email: string,
): string {
  return toStoredDigest(proveAddress(current, userId, email), userId);
}

/** The digest of a new address and the id of its secret, as the database expects them. */
export function toAddressValues(secrets: IdentitySecrets, userId: string, email: string) {
  return {
    mail_digest: makeAddressDigest(secrets, userId, email),
    mail_secret_id: secrets.current.id,
  };
}

/** Whether this service has set the address for this person. */
export function isConfirmed(secrets: IdentitySecrets, stored: StoredAddress): boolean {
  return proveConfirmed(secrets, stored) !== undefined;
}

/** The proof that this service set the address, in hexadecimal; `undefined` if it did not. */
export function proveConfirmed(
  secrets: IdentitySecrets,
  { userId, email, digest, secretId }: StoredAddress,
): string | undefined {
  const by = findIdentitySecret(secrets, secretId ?? "");
  const proof = by && proveAddress(by, userId, email);
  if (proof === undefined || !isDigestOf(digest ?? "", proof, userId)) return undefined;
  return Buffer.from(proof).toString("hex");
}

/**
 * The proofs of an address by every secret, in hexadecimal. The database compares them with the stored digest, which can be
 * renewed with another secret at any time.
 */
export function proveByEach({ all }: IdentitySecrets, userId: string, email: string): string[] {
  return all.map((by) => Buffer.from(proveAddress(by, userId, email)).toString("hex"));
}

/** Renews the digest of a confirmed address with the current secret. */
export async function renewAddress(
  { db, identitySecrets }: { db: Database; identitySecrets: IdentitySecrets },
  { userId, email, secretId }: StoredAddress,
): Promise<void> {
  const by = findIdentitySecret(identitySecrets, secretId ?? "");
  const { current } = identitySecrets;
  if (by === undefined || by === current) return;
  const presentedProof = Buffer.from(proveAddress(by, userId, email)).toString("hex");
  await call(db, "renew_address", {
    who: userId,
    email,
    presented_proof: presentedProof,
    fresh_digest: makeAddressDigest(identitySecrets, userId, email),
    fresh_secret_id: current.id,
  });
}

function proveAddress(by: IdentitySecret, userId: string, email: string): Uint8Array {
  return by.prove("address", userId, email);
}

const PAGE = 5000;

/** The unconfirmed addresses, and the addresses that an older secret confirms. */
export type AddressState = { unconfirmed: StoredAddress[]; outdated: StoredAddress[] };

/** Reads every address, in pages, and checks each address against the secrets. */
export async function readAddresses(
  { db }: { db: Database },
  secrets: IdentitySecrets,
): Promise<AddressState> {
  const state: AddressState = { unconfirmed: [], outdated: [] };
  let page: StoredAddress[] = [];
  do {
    const after = page.at(-1)?.email ?? "";
    const rows = await call(db, "list_addresses", { after_email: after, max_rows: PAGE });
    page = rows.map((row) => ({ ...row, userId: row.user_id, secretId: row.secret_id }));
    state.unconfirmed.push(...page.filter((address) => !isConfirmed(secrets, address)));
    state.outdated.push(
      ...page.filter(
        (address) => address.secretId !== secrets.current.id && isConfirmed(secrets, address),
      ),
    );
  } while (page.length === PAGE);
  return state;
}

/**
 * Confirms the addresses that have not changed since they were read; returns their number. Unless this is a renewal, every
 * way to sign in to the accounts ends, because a thief can own an account that this service did not create.
 */
export async function confirmAddresses(
  { admin, identitySecrets }: { admin: Database; identitySecrets: IdentitySecrets },
  addresses: readonly StoredAddress[],
  { isRenewal }: { isRenewal: boolean },
): Promise<number> {
  const records = addresses.map(({ userId, email }) => [
    userId,
    email,
    makeAddressDigest(identitySecrets, userId, email),
  ]);
  return await call(admin, "confirm_addresses", {
    confirmed: records,
    new_secret_id: identitySecrets.current.id,
    is_renewal: isRenewal,
  });
}

// People's addresses in their canonical form.

const EMAIL = new RegExp(EMAIL_PATTERN);

/**
 * An address in the form that is compared and stored: lowercase, and the domain in ASCII letters (`xn--`). Also understands
 * an address with a name, such as `Ada <ada@example.org>`, and a link.
 */
export function toCanonicalEmail(text: string): string {
  const plain = cleanPasted(text);
  const [, name = "", named] = /^([^<]*)<([^<>]*)>[,;.]*$/.exec(plain) ?? [];
  if (named === undefined) return toAddress(plain);
  // A name that is another address would be mistaken for the address.
  const isOther = name.includes("@") && toAddress(cleanPasted(name)) !== toAddress(named);
  return toAddress(isOther ? plain : named);
}

function toAddress(text: string): string {
  const address = text
    .replace(/^mailto:([^?]*).*$/i, "$1")
    .replace(/[,;.]+$/, "")
    .replace(/ *@ */g, "@")
    .trim()
    .toLowerCase();
  const at = address.lastIndexOf("@");
  const domain = address.slice(at + 1);
  if (at < 1 || !/[^\x21-\x7e]/.test(domain) || domain.split(".").some(isMixed)) return address;
  return `${address.slice(0, at)}@${domainToASCII(domain) || domain}`;
}

/** Whether a label mixes similar letters of two scripts, such as the Latin and the Cyrillic "e". */
function isMixed(label: string): boolean {
  return /\p{Script=Latin}/u.test(label) && /\p{Script=Cyrillic}|\p{Script=Greek}/u.test(label);
}

/** An address within a list can have a name with a comma before it. */
const LISTED = /(?:"[^"]*"|[^<>";\n])*<[^<>]*>|[^,;\n]+/g;

/** The addresses in a pasted list, separated by commas, semicolons, spaces or line ends, each as it is in the text. */
export function splitEmails(text: string): string[] {
  const lines = text.replaceAll(/[\r\n\u2028\u2029]+/g, "\n").replaceAll(/[、，]/g, ",");
  const parts = lines.replaceAll("；", ";").match(LISTED) ?? [];
  return parts
    .flatMap((part) => (part.includes("<") ? splitNamed(part) : splitSpaced(part)))
    .filter((part) => cleanPasted(part) !== "");
}

/** A name can have a comma, but no address: an address before a comma is one of its own. */
function splitNamed(part: string): string[] {
  const pieces = part.match(/(?:"[^"]*"|[^,"])+/g) ?? [];
  const last = pieces.findLastIndex(
    (piece, index) => index < pieces.length - 1 && piece.includes("@"),
  );
  return [...pieces.slice(0, last + 1), pieces.slice(last + 1).join(",")];
}

function splitSpaced(part: string): string[] {
  const parts = part.split(/\s+/);
  return parts.length > 1 && parts.every((item) => item === "" || /.@./.test(item))
    ? parts
    : [part];
}

/**
 * The canonical form of an address.
 *
 * @throws {Problem} invalid_request — not an address of ASCII letters, or longer than 254 characters
 */
export function readEmail(text: string): string {
  const email = toCanonicalEmail(text);
  if (email.length <= EMAIL_MAX_CHARS && EMAIL.test(email)) return email;
  throw new Problem("invalid_request", {
    message: `Cannot use the address ${quote(text)}: ${toRule(email)}`,
  });
}

function toRule(email: string): string {
  if (/[^ -~]/.test(email.slice(0, email.lastIndexOf("@"))))
    return "the part before the @ must have only the letters a to z, digits and symbols";
  if (email.split("@").length > 2) return "must be one address";
  return "must look like ada@example.org";
}

// Changes of the address of a person by operators and administrators.

/** The current and the new address, and the person's id if the caller knows it. */
type Texts = { email: string; newEmail: string; id?: string };

/**
 * Changes the address of a person; returns both addresses. Password links and the link of an invitation end.
 *
 * @throws {Problem} invalid_request — lists all malformed values; the address is unknown, or the new address is in use;
 *   this service did not write the stored address: the account can belong to another person
 */
export async function changeEmail(
  deps: Actor & { identitySecrets: IdentitySecrets },
  texts: Texts,
): Promise<{ email: string; before: string }> {
  const mails = [texts.email, texts.newEmail];
  const malformed = mails.flatMap((text) => findIssues(() => readEmail(text)));
  if (malformed.length > 0) throw rejectFor(malformed);
  const [before = "", email = ""] = mails.map(readEmail);
  const found = await runAction(deps, "find_addresses", { mails: [before, email] });
  const person = found.find((user) => user.email === before);
  const isInUse = before !== email && found.some((user) => user.email === email);
  const issues = [
    ...(person === undefined ? [unknownUser(before, { isInBrowser: "cookies" in deps })] : []),
    ...(isInUse ? [usedEmail(email)] : []),
  ];
  if (person === undefined || isInUse)
    throw rejectFor(issues.map(({ message }) => ({ path: "", message })));
  await runAction(deps, "change_email", {
    person: texts.id ?? person.id,
    proofs: proveByEach(deps.identitySecrets, person.id, before),
    // Messages name the person by the address.
    ...{ email: before, new_email: email },
    ...toAddressValues(deps.identitySecrets, person.id, email),
  });
  return { email, before };
}
