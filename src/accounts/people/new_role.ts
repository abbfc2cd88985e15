/** Finds roles that no one has on an app yet: many are misspelled. @module */
import { Problem } from "../../problem.ts";
import { findNearest } from "../../std/find_nearest.ts";
import { quote } from "../../std/quote.ts";
import { toAskedSlug } from "../apps/keys.ts";
import { isAppRole } from "./app_role.ts";

/** A role by claims, from the settings of a provider. */
export type ClaimRule = { readonly slug: string; readonly role: string };
export type NewRoleOptions = {
  slug: string;
  role: string;
  /** The rules of all providers. */
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
