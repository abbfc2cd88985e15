/**
 * Proves that this service set a person's address. The address is stored with the digest of a proof, which is derived from the
 * service's secret and covers the person. A thief who can write the table can change an address, but the service sends no link
 * to that address and links no account by it.
 *
 * @module
 */
import { call, type Database } from "../../db/mod.ts";
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  isDigestOf,
  toStoredDigest,
} from "../secrets/identity_secrets.ts";

export type StoredAddress = {
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
