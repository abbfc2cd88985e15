/**
 * Roles on apps from a provider's claims. Each role is stored with the digest of a proof, which is derived from the service's
 * secret and covers person, role, app and provider. Without proofs, the login that writes these roles could grant any role to
 * anyone. Roles that people grant need no proof, because that login cannot write them.
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

/**
 * As `finish_provider_sign_in` expects them. With a fourth element, an earlier role on the app stays, for this reason; without a
 * role, none is granted.
 */
export type ClaimedRecord =
  | readonly [appId: string, role: string, digest: string]
  | readonly [appId: string, role: string | null, digest: string | null, preservedBecause: string];

export type ClaimedRecords = {
  records: ClaimedRecord[];
  /** Apps in the settings that do not exist or are disabled. */
  unknown: string[];
  disabled: string[];
};

type ClaimDeps = { db: Database; identitySecrets: IdentitySecrets };
type ClaimOptions = {
  userId: string;
  provider: string;
  claimed: readonly ClaimedRole[];
  /** Apps with an earlier role that stays, and the reason. */
  preserved?: readonly string[];
  withheld?: readonly string[];
};

/** The records of a person's claimed roles. A role on a disabled app is stored, too. */
export async function makeClaimedRecords(
  deps: ClaimDeps,
  { userId, provider, claimed, preserved = [], withheld = [] }: ClaimOptions,
): Promise<ClaimedRecords> {
  const apps = await findClaimedApps(deps, [...claimed.map(({ slug }) => slug), ...preserved]);
  const why = withheld.join(", ");
  const records = claimed.flatMap(({ slug, role }): ClaimedRecord[] => {
    const app = apps.found.get(slug);
    if (app === undefined) return [];
    const proof = proveRole(deps.identitySecrets.current, { userId, appId: app, role, provider });
    const digest = toStoredDigest(proof, userId);
    return [preserved.includes(slug) ? [app, role, digest, why] : [app, role, digest]];
  });
  const only = preserved.filter((slug) => claimed.every((granted) => granted.slug !== slug));
  const left = only.flatMap((slug) => apps.found.get(slug) ?? []);
  return {
    records: [...records, ...left.map((app) => [app, null, null, why] as const)],
    unknown: apps.unknown,
    disabled: apps.disabled,
  };
}

export type ClaimedApps = {
  /** The ids, by slug. */
  found: ReadonlyMap<string, string>;
  unknown: string[];
  disabled: string[];
};

/** The existing apps among the apps in the rules. */
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

/** The number of current roles from each provider's claims. */
export async function countClaimedRoles(deps: { db: Database }) {
  return await call(deps.db, "count_claimed_roles", {});
}

/** A role from `rowhouse.stored_grant`. */
export type StoredGrant = readonly [
  role: string,
  provider: string | null,
  digest: string | null,
  secretId: string | null,
];

/** The role of a grant; `undefined` if it is marked as claimed, but this service did not write it. */
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
