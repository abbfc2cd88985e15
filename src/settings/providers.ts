/** Settings of sign-in providers; the operator chooses a name for each. @module */

import * as v from "valibot";
import type { ProviderSettings, RoleRule } from "../identity/mod.ts";
import { isAppRole } from "../records/people/app_role.ts";
import { trimPasted } from "../std/pasted_text.ts";
import { SLUG_PATTERN } from "../std/patterns.ts";
import { quote } from "../std/quote.ts";
import { type Environment, readVariable } from "./environment.ts";
import { choice, list, type Setting, TrueOrFalse, toAsciiHost, toDomain } from "./forms.ts";

// Parses `OIDC_<NAME>_ROLES`: comma-separated rules that map a claim's value to a role on an app,
// such as `groups:wiki-editors=wiki:editor`. `realm_access.roles` names a nested claim. The
// characters `, : = %`, and dots inside a claim's name, are percent-encoded, so that no value can
// be mistaken for another rule.

const RULE = /^([^:=]+):([^:=]+)=([^:=]+):([^:=]+)$/;
const SLUG = new RegExp(SLUG_PATTERN);

const RoleRules = v.pipe(
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

const DOMAIN =
  /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The settings of one provider: `OIDC_<NAME>_ISSUER` and so on. */
export const PROVIDER_SETTINGS = {
  ISSUER: {
    form: v.pipe(
      v.string("must also be set"),
      v.transform(toAsciiHost),
      v.check(
        isIssuer,
        "must be the issuer exactly as the provider writes it, such as https://accounts.example.com; http is allowed only on localhost",
      ),
    ),
    about:
      "The issuer of an OpenID Connect provider, exactly as the provider writes it. Choose a NAME for each provider, such as OIDC_GOOGLE_ISSUER. Register the redirect URI at the provider: the origin of the identity pages with the path `/oidc/<name>/callback`.",
  },
  CLIENT_ID: {
    form: v.string("must also be set"),
    about: "Client ID from the provider. Required for each provider.",
  },
  CLIENT_SECRET: {
    form: v.string("must also be set"),
    isSecret: true,
    about: "Client secret from the provider. Required for each provider.",
  },
  LABEL: {
    form: v.optional(
      v.pipe(v.string(), v.regex(/^[^\p{C}]{1,40}$/u, "must be 1 to 40 printable characters")),
    ),
    about: "The text after “Sign in with” on the button. Default: the name.",
  },
  TRUSTED_DOMAINS: {
    form: list((text) => DOMAIN.test(text), "must be comma-separated domains such as example.org", {
      toItem: toDomain,
    }),
    initial: "",
    about:
      "Domains for which the service trusts the provider's email addresses. An invited person with such an address is linked at the first sign-in.",
  },
  CREATE: {
    form: TrueOrFalse,
    initial: "false",
    about:
      "Whether people from trusted domains get an account at their first sign-in without an invitation. The account has no app role unless a claim grants it.",
  },
  PROMPT: {
    form: v.optional(choice(["select_account", "login"])),
    about:
      "What the provider asks at each sign-in: select_account to choose an account, login to enter the password. Default: the provider decides, and asks to choose after a rejected sign-in.",
  },
  SCOPES: {
    form: list(
      (text) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text),
      "must be comma-separated scopes such as groups",
    ),
    initial: "",
    about:
      "Comma-separated scopes to request in addition to openid, email and profile, such as groups.",
  },
  ROLES: {
    form: RoleRules,
    initial: "",
    about:
      "Rules that map the provider's claims to app roles, such as groups:wiki-editors=wiki:editor (claim:value=app:role), comma-separated. Applied at each sign-in; the first match per app counts.",
  },
} as const satisfies Record<string, Setting>;

/** http is allowed only for a provider on this machine. */
function isIssuer(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || /[?#\s]|\/\.well-known\//.test(text) || url.username !== "")
    return false;
  const isLocal = /(^|\.)localhost$/.test(url.hostname);
  return url.protocol === "https:" || (url.protocol === "http:" && isLocal);
}

/** A provider's variable: the provider's name and the setting. The lazy match keeps the name as short as possible. */
const PROVIDER_VARIABLE = new RegExp(
  `^OIDC_([A-Z][A-Z0-9_]{0,31}?)_(${Object.keys(PROVIDER_SETTINGS).join("|")})$`,
);

export function isProviderSetting(name: string): boolean {
  return PROVIDER_VARIABLE.test(name);
}

export function isProviderSecret(name: string): boolean {
  const key = PROVIDER_VARIABLE.exec(name)?.[2];
  return Object.entries<Setting>(PROVIDER_SETTINGS).some(
    ([name, { isSecret }]) => name === key && isSecret,
  );
}

/** All providers with settings, sorted by name, and all errors. */
export function readProviders(env: Environment): {
  settings: ProviderSettings[];
  issues: string[];
} {
  const given = Object.keys(env).filter(
    (name) => name.startsWith("OIDC_") && readVariable(env, name) !== undefined,
  );
  const issues = given
    .filter((name) => !PROVIDER_VARIABLE.test(name))
    .map((name) => `${name} is not a setting: see .env.example`);
  const names = given.flatMap((name) => PROVIDER_VARIABLE.exec(name)?.[1] ?? []);
  const settings: ProviderSettings[] = [];
  for (const name of [...new Set(names)].sort()) {
    const read = readProvider(env, name);
    if ("issues" in read) issues.push(...read.issues);
    else if (settings.some(({ issuer }) => issuer === read.issuer))
      issues.push(`OIDC_${name}_ISSUER must not be the issuer of another provider`);
    else settings.push(read);
  }
  return { settings, issues };
}

type ProviderForms = typeof PROVIDER_SETTINGS;

function readProvider(env: Environment, name: string): ProviderSettings | { issues: string[] } {
  const issues: string[] = [];
  const read = <Key extends keyof ProviderForms>(
    key: Key,
  ): v.InferOutput<ProviderForms[Key]["form"]> | undefined => {
    const { form, initial }: Setting = PROVIDER_SETTINGS[key];
    const parsed = v.safeParse(form, readVariable(env, `OIDC_${name}_${key}`) ?? initial);
    // The compiler does not connect the form of a key with its type.
    if (parsed.success) return parsed.output as v.InferOutput<ProviderForms[Key]["form"]>;
    issues.push(`OIDC_${name}_${key} ${parsed.issues[0].message}`);
    return undefined;
  };
  const settings = {
    name: name.toLowerCase().replaceAll("_", "-"),
    issuer: read("ISSUER") ?? "",
    clientId: read("CLIENT_ID") ?? "",
    clientSecret: read("CLIENT_SECRET") ?? "",
    label: read("LABEL") ?? name.charAt(0) + name.slice(1).toLowerCase(),
    trustedDomains: read("TRUSTED_DOMAINS") ?? [],
    creates: read("CREATE") ?? false,
    prompt: read("PROMPT"),
    scopes: read("SCOPES") ?? [],
    roles: read("ROLES") ?? [],
  };
  if (settings.creates && settings.trustedDomains.length === 0)
    issues.push(
      `OIDC_${name}_TRUSTED_DOMAINS must be set if OIDC_${name}_CREATE is true: otherwise every user of the provider would get an account`,
    );
  return issues.length > 0 ? { issues } : settings;
}

/** The names of all variables of providers that have a value. */
export function findProviderVariables(env: Environment): string[] {
  return Object.keys(env).filter(
    (name) => PROVIDER_VARIABLE.test(name) && readVariable(env, name) !== undefined,
  );
}
