/**
 * Roles on apps that a provider's claims give. Stored with each is a digest of a proof that follows from the service's
 * secret and covers whose role it is, which one, on which app, and by which provider: the login that writes them could
 * otherwise give any role to anyone. A role that a person gave needs none, because that login cannot write one.
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

export type ClaimedRole = { slug: string; role: string };

/** As `finish_provider_sign_in` takes them. */
export type ClaimedRecord = readonly [appId: string, role: string, digest: string];

export type ClaimedRecords = {
  records: ClaimedRecord[];
  /** Apps that the settings name and that are not there, or disabled. */
  unknown: string[];
  disabled: string[];
};

type ClaimDeps = { db: Database; identitySecrets: IdentitySecrets };
type ClaimOptions = { userId: string; provider: string; claimed: readonly ClaimedRole[] };

/** What is stored of these roles of a person. A disabled app keeps them, as it keeps those that people gave. */
export async function makeClaimedRecords(
  deps: ClaimDeps,
  { userId, provider, claimed }: ClaimOptions,
): Promise<ClaimedRecords> {
  const apps = await findClaimedApps(
    deps,
    claimed.map(({ slug }) => slug),
  );
  const records = claimed.flatMap(({ slug, role }): ClaimedRecord[] => {
    const app = apps.found.get(slug);
    if (app === undefined) return [];
    const proof = proveRole(deps.identitySecrets.current, { userId, appId: app, role, provider });
    return [[app, role, toStoredDigest(proof, userId)]];
  });
  return { records, unknown: apps.unknown, disabled: apps.disabled };
}

export type ClaimedApps = {
  /** The ids, by slug. */
  found: ReadonlyMap<string, string>;
  unknown: string[];
  disabled: string[];
};

/** Which of the apps that rules name there are. */
export async function findClaimedApps(
  { db }: { db: Database },
  slugs: readonly string[],
): Promise<ClaimedApps> {
  const wanted = [...new Set(slugs)];
  if (wanted.length === 0) return { found: new Map(), unknown: [], disabled: [] };
  const rows = await call(db, "find_apps", { slugs: wanted });
  const found = new Map(rows.map(({ slug, id }) => [slug, id]));
  return {
    found,
    unknown: wanted.filter((slug) => !found.has(slug)),
    disabled: rows.filter((row) => row.is_disabled).map(({ slug }) => slug),
  };
}

/** How many roles the claims of each provider gave that people have now. */
export async function countClaimedRoles({
  db,
}: {
  db: Database;
}): Promise<{ provider: string; roles: number }[]> {
  return await call(db, "count_claimed_roles", {});
}

/** What `rowhouse.stored_grant` gives of a role. */
export type StoredGrant = readonly [
  role: string,
  provider: string | null,
  digest: string | null,
  secretId: string | null,
];

/** The role of a grant; none, if it says that a claim gave it and this service never wrote it so. */
export function toGrantedRole(
  secrets: IdentitySecrets,
  { userId, appId }: { userId: string; appId: string },
  [role, provider, digest, secretId]: StoredGrant,
): string | undefined {
  if (provider === null) return role;
  const by = findIdentitySecret(secrets, secretId ?? "");
  if (by === undefined || digest === null) return undefined;
  const proof = proveRole(by, { userId, appId, role, provider });
  return isDigestOf(digest, proof, userId) ? role : undefined;
}

type RoleOf = { userId: string; appId: string; role: string; provider: string };

function proveRole(by: IdentitySecret, { userId, appId, role, provider }: RoleOf): Uint8Array {
  return by.prove("claimed role", provider, appId, role, userId);
}
