/**
 * Roles of people: one per person and app, granted and revoked by operators and administrators, or claimed from a
 * provider.
 *
 * @module
 */

import { call, type Database } from "../../db/mod.ts";
import { type Detail, Problem } from "../../problem.ts";
import { findNearest } from "../../std/names.ts";
import { ROLE_LABELS } from "../../std/patterns.ts";
import { quote } from "../../std/quote.ts";
import { type Actor, callAsOperator, runAction } from "../actions/action.ts";
import { findIssues, rejectFor, unknownApp, unknownUser } from "../actions/rejections.ts";
import { toAskedSlug } from "../apps/keys.ts";
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  isDigestOf,
  toStoredDigest,
} from "../secrets/identity_secrets.ts";
import { readEmail } from "./addresses.ts";
import { isAppRole } from "./app_role.ts";

export type GrantOptions = { email: string; slug: string; role: string };

/**
 * Grants a role on an app, and replaces the previous role.
 *
 * @throws {Problem} invalid_request — every malformed value, and an unknown address; unknown_app
 */
export async function grantRole(
  actor: Actor,
  { email: text, slug, role }: GrantOptions,
): Promise<void> {
  const [ofEmail = [], ofRole = []] = [() => readEmail(text), () => checkRole(role)].map(
    findIssues,
  );
  if (ofEmail.length + ofRole.length > 0)
    throw rejectFor([...ofEmail, ...(await findUnknown(actor, text, slug)), ...ofRole]);
  const values = { email: readEmail(text), app_slug: toAskedSlug(slug), new_role: role };
  await runAction(actor, "grant_role", values).catch(async (error: unknown) => {
    const unknown = error instanceof Problem ? await findUnknown(actor, text, slug) : [];
    throw unknown.length > 1 ? rejectFor(unknown) : error;
  });
}

/** The address that no person has, and the unknown app. */
async function findUnknown(actor: Actor, text: string, slug: string): Promise<Detail[]> {
  const ofApp = await findAppIssues(actor, slug);
  if (findIssues(() => readEmail(text)).length > 0) return ofApp;
  const email = readEmail(text);
  const known = await runAction(actor, "find_addresses", { mails: [email] });
  const { message } = unknownUser(email, { isInBrowser: "cookies" in actor });
  return known.length > 0 ? ofApp : [{ path: "", message }, ...ofApp];
}

/** An issue if no app has the slug. */
export async function findAppIssues(actor: Actor, slug = ""): Promise<Detail[]> {
  if (slug === "") return [];
  const known = await runAction(actor, "find_app_id", { app_slug: toAskedSlug(slug) });
  if (known !== null) return [];
  const { message } = unknownApp(slug, { isInBrowser: "cookies" in actor });
  return [{ path: "", message }];
}

/** Grants a checked role on several apps, or with an error on none. @throws {Problem} invalid_request — the person or an app was deleted */
export async function grantAppRoles(
  actor: Actor,
  { email, slugs, role }: { email: string; slugs: readonly string[]; role: string },
): Promise<void> {
  checkRole(role);
  await runAction(actor, "grant_app_roles", { email, app_slugs: [...slugs], new_role: role });
}

/** @throws {Problem} invalid_request — the text cannot be a role on an app */
export function checkRole(role: string): void {
  if (isAppRole(role)) return;
  throw new Problem("invalid_request", {
    message: `Cannot grant the role ${quote(role)}: must be ${ROLE_LABELS}, and super_admin is a Console role`,
  });
}

/**
 * Revokes the role on an app. Returns whether there was one.
 *
 * @throws {Problem} invalid_request — no one has this address; unknown_app
 */
export async function revokeRole(
  actor: Actor,
  { slug, ...options }: Omit<GrantOptions, "role"> & { id?: string },
): Promise<boolean> {
  const email = readEmail(options.email);
  const values = { email, person: options.id, app_slug: slug };
  return await runAction(actor, "revoke_role", values);
}

export type ClaimedGrant = { email: string; app: string; role: string };

/** The roles that the claims of a provider gave, by app and address. */
export async function listClaimedGrants(
  { admin }: { admin: Database },
  provider: string,
): Promise<ClaimedGrant[]> {
  return await call(admin, "list_claimed_grants", { by_provider: provider });
}

/** Revokes all roles from the provider's claims, even if the provider is not set up. Returns the revoked roles. */
export async function revokeClaimedRoles(
  { admin }: { admin: Database },
  provider: string,
): Promise<ClaimedGrant[]> {
  return await callAsOperator({ admin }, "revoke_claimed_roles", { by_provider: provider });
}

// Roles on apps from a provider's claims. Each role is stored with the digest of a proof, which is
// derived from the service's secret and covers person, role, app and provider. Without proofs, the
// login that writes these roles could grant any role to anyone. Roles that people grant need no
// proof, because that login cannot write them.

export type ClaimedRole = { slug: string; role: string };

/**
 * As `finish_provider_sign_in` expects them. With a fourth element, an earlier role on the app stays, for this reason; without a
 * role, none is granted.
 */
export type ClaimedRecord =
  | readonly [appId: string, role: string, digest: string]
  | readonly [appId: string, role: string | null, digest: string | null, preservedBecause: string];

type ClaimedRecords = {
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

type ClaimedApps = {
  /** The ids, by slug. */
  found: ReadonlyMap<string, string>;
  unknown: string[];
  disabled: string[];
};

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
  grant: StoredGrant,
): string | undefined {
  const [role, provider, digest] = grant;
  if (provider === null) return role;
  const proof = proveGrantedRole(secrets, { userId, appId }, grant);
  if (proof === undefined || digest === null) return undefined;
  return isDigestOf(digest, proof, userId) ? role : undefined;
}

/** The proof of a role that a provider's claim gave; `undefined` if its secret was removed from the settings. */
export function proveGrantedRole(
  secrets: IdentitySecrets,
  { userId, appId }: { userId: string; appId: string },
  [role, provider, , secretId]: StoredGrant,
): Uint8Array | undefined {
  if (provider === null) return undefined;
  const by = findIdentitySecret(secrets, secretId ?? "");
  return by && proveRole(by, { userId, appId, role, provider });
}

type RoleOf = { userId: string; appId: string; role: string; provider: string };

function proveRole(by: IdentitySecret, { userId, appId, role, provider }: RoleOf): Uint8Array {
  return by.prove("claimed role", provider, appId, role, userId);
}

// Finds roles that no one has on an app yet: many are misspelled.

type ClaimRule = { readonly slug: string; readonly role: string };
type NewRoleOptions = {
  slug: string;
  role: string;
  rules: readonly ClaimRule[];
};

/** Max roles in the message. */
const MAX_NAMED = 20;
/** Console administrators have this role on every app. */
const OF_ADMINISTRATORS = "admin";

/**
 * A message that lists the app's roles, if neither a person nor a rule of a provider has the role. The first role of an app, and a
 * role or app that cannot be granted, have no message. `listRoles` returns the roles of people.
 */
export async function describeNewRole(
  { slug, role, rules }: NewRoleOptions,
  listRoles: () => Promise<readonly string[]>,
): Promise<string | undefined> {
  if (toAskedSlug(slug) === "" || role === OF_ADMINISTRATORS || !isAppRole(role)) return undefined;
  const granted = await listRoles().catch((error: unknown) => {
    // The grant reports an unknown app with every other issue.
    if (error instanceof Problem && error.code === "unknown_app") return [];
    throw error;
  });
  const ofRules = rules.filter((rule) => rule.slug === slug).map((rule) => rule.role);
  const known = [...new Set([...granted, ...ofRules])].sort();
  if (known.length === 0 || known.includes(role)) return undefined;
  const nearest = findNearest(role, [...known, OF_ADMINISTRATORS]);
  const more = known.length > MAX_NAMED ? ` and ${known.length - MAX_NAMED} more` : "";
  return `No one has the role ${quote(role)} on ${slug}: its roles are ${known.slice(0, MAX_NAMED).join(", ")}${more}${nearest === undefined ? "" : `; did you mean ${nearest}?`}`;
}
