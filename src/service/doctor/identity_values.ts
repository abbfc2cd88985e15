/**
 * Counts sessions, links and passwords by the id of their identity secret, so that operators do not remove a secret from
 * the settings while it is needed.
 *
 * @module
 */

import { call, type Database } from "../../db/mod.ts";
import { readAddresses } from "../../records/people/mod.ts";
import { makeIdentitySecrets } from "../../records/secrets/mod.ts";
import { type CheckResult, pass, warn } from "../check_result.ts";

/** Counts of the live values that depend on one secret. */
type IdentityValues = {
  secretId: string;
  passwords: number;
  sessions: number;
  links: number;
  providerLinks: number;
  /** Authenticator apps, recovery codes and passkeys. */
  secondFactors: number;
  claimedRoles: number;
  addresses: number;
};

/** Values that need each secret in the settings, and values whose secret is missing. */
export async function checkIdentitySecrets(
  admin: Database,
  texts: readonly string[],
): Promise<CheckResult[]> {
  const secrets = makeIdentitySecrets(texts);
  const ids = secrets.all.map(({ id }) => id);
  const { unconfirmed } = await readAddresses({ db: admin }, secrets);
  return [
    ...evaluateIdentitySecrets(ids, await countValues(admin)),
    ...evaluateAddresses(unconfirmed.length),
  ];
}

/** A warning about email addresses that the service did not set. */
function evaluateAddresses(unconfirmed: number): CheckResult[] {
  if (unconfirmed === 0) return [];
  const message = unconfirmed === 1 ? "1 is" : `${unconfirmed} are`;
  return [
    warn("addresses", {
      message: `${message} not confirmed by a secret in IDENTITY_SECRET: the service emails no links there, and does not link provider accounts by address`,
      remedy:
        "if the database was restored and its IDENTITY_SECRET is lost, or someone wrote to the database: check the addresses, then run rowhouse admin confirm-addresses",
    }),
  ];
}

/** `ids` are the secrets in the settings; the first creates new values. */
export function evaluateIdentitySecrets(
  ids: readonly string[],
  counted: readonly IdentityValues[],
): CheckResult[] {
  const about = "identity secret";
  const older = ids.slice(1).map((id) => {
    const values = counted.find(({ secretId }) => secretId === id);
    return values === undefined ? toUnused(id) : toNeeded(values);
  });
  const lost = counted.filter(({ secretId }) => !ids.includes(secretId)).map(toLost);
  const results = [...older, ...lost];
  return results.length > 0 ? results : [pass(about, "protects all passwords, sessions and links")];
}

function toUnused(id: string): CheckResult {
  const message = `${id} is no longer needed: it can be removed from IDENTITY_SECRET`;
  return pass("identity secret", message);
}

function toNeeded(values: IdentityValues): CheckResult {
  return warn("identity secret", {
    message: `${values.secretId} is still needed for ${describe(values)}`,
    remedy:
      "keep it in IDENTITY_SECRET after the first: a password moves to the first secret when its owner signs in, or sets it with a link from rowhouse admin password-link; addresses move with rowhouse admin confirm-addresses",
  });
}

function toLost(values: IdentityValues): CheckResult {
  return warn("identity secret", {
    message: `${values.secretId} is not in IDENTITY_SECRET, and ${describe(values)} can be used only with it`,
    remedy:
      "add it to IDENTITY_SECRET after the first; if it is lost, create new links for these people: rowhouse admin password-link",
  });
}

function describe(values: IdentityValues): string {
  return KINDS.map(([kind, singular, many]) => ({ count: values[kind], singular, many }))
    .filter(({ count }) => count > 0)
    .map(({ count, singular, many }) => `${count} ${count === 1 ? singular : many}`)
    .join(", ");
}

/** The name of each kind of stored value. */
const KINDS = [
  ["passwords", "password", "passwords"],
  ["sessions", "session", "sessions"],
  ["links", "link", "links"],
  ["providerLinks", "provider link", "provider links"],
  ["claimedRoles", "claimed role", "claimed roles"],
  ["secondFactors", "second factor", "second factors"],
  ["addresses", "address", "addresses"],
] as const satisfies readonly (readonly [
  kind: keyof IdentityValues,
  singular: string,
  many: string,
])[];

/** Counts by secret; 0 for a kind without values. */
async function countValues(admin: Database): Promise<IdentityValues[]> {
  const none = Object.fromEntries(KINDS.map(([kind]) => [kind, 0]));
  const found = (await call(admin, "count_identity_values", {})) as IdentityValues[];
  return found.map((counts) => ({ ...none, ...counts }));
}
