/**
 * Parses `OIDC_<NAME>_ROLES`: comma-separated rules that map a claim's value to a role on an app, such as
 * `groups:wiki-editors=wiki:editor`. `realm_access.roles` names a nested claim. The characters `, : = %`, and dots inside a
 * claim's name, are percent-encoded, so that no value can be mistaken for another rule.
 *
 * @module
 */
import * as v from "valibot";
import { isAppRole } from "../accounts/pure.ts";
import type { RoleRule } from "../identity/mod.ts";
import { trimPasted } from "../std/pasted_text.ts";
import { quote } from "../std/quote.ts";
import { SLUG_PATTERN } from "../std/stored_text.ts";

const RULE = /^([^:=]+):([^:=]+)=([^:=]+):([^:=]+)$/;
const SLUG = new RegExp(SLUG_PATTERN);

export const RoleRules = v.pipe(
  v.string(),
  v.transform((text) =>
    text === ""
      ? []
      : text
          .replace(/,\s*$/, "")
          .split(/,?\s*[\r\n]+|,/)
          .map(trimPasted),
  ),
  v.check(
    (rules) => findInvalid(rules).length === 0,
    ({ input }) =>
      `must be comma-separated rules such as groups:wiki-editors=wiki:editor (claim:value=app:role): ${listInvalid(input)} invalid; in a claim or a value write , : = % as %2C %3A %3D %25; claims cannot grant super_admin`,
  ),
  v.transform((rules) => rules.map(readRule).filter((rule) => rule !== undefined)),
);

function findInvalid(rules: readonly string[]): string[] {
  return rules.filter((rule) => readRule(rule) === undefined);
}

function listInvalid(rules: readonly string[]): string {
  const invalid = findInvalid(rules);
  return `${invalid.map(quote).join(", ")} ${invalid.length === 1 ? "is" : "are"}`;
}

function readRule(text: string): RoleRule | undefined {
  const [, claim = "", encoded = "", slug = "", role = ""] = RULE.exec(text) ?? [];
  const path = claim.split(".").map(decode);
  const value = decode(encoded);
  if (value === undefined || !SLUG.test(slug) || !isAppRole(role)) return undefined;
  const steps = path.filter((step) => step !== undefined);
  return steps.length === path.length ? { claim: steps, value, slug, role } : undefined;
}

/** The decoded text; `undefined` if it is empty or malformed. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text) || undefined;
  } catch {
    return undefined;
  }
}
