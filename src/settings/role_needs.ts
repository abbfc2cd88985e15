/** The settings that a role requires, and the settings that it must not have. @module */
import { FETCH_LIMIT, isFetchLimit } from "../std/network.ts";
import { type Environment, readRole, readVariable } from "./environment.ts";
import { findProviderVariables } from "./providers.ts";
import type { SettingName } from "./settings.ts";

/** The gateway's secrets for each service, if it does not share one secret with both. */
const AUDIENCE_SECRETS = ["INTERNAL_HMAC_SECRET_DATA", "INTERNAL_HMAC_SECRET_IDENTITY"] as const;

type RoleNeeds = {
  needed: readonly SettingName[];
  /** Settings that belong to another role, with the name of that role. */
  foreign: Readonly<Partial<Record<SettingName, string>>>;
};

/** With another service's secret, a service could sign requests to that service. */
const OF_GATEWAY = {
  INTERNAL_HMAC_SECRET_DATA: "the gateway",
  INTERNAL_HMAC_SECRET_IDENTITY: "the gateway",
};
const OF_IDENTITY = {
  IDENTITY_SECRET: "the identity service",
  CONSOLE_DATABASE_URL: "the identity service",
};
/** A process that runs one part of the service has only one login. */
const OF_ALL = { IDENTITY_DATABASE_URL: "a process where ROLE is all" };
const ROLE_NEEDS: Readonly<Record<string, RoleNeeds>> = {
  gateway: {
    needed: ["UPSTREAM_DATA_URL", "UPSTREAM_IDENTITY_URL"],
    foreign: { ...OF_ALL, ...OF_IDENTITY },
  },
  data: { needed: ["INTERNAL_HMAC_SECRET"], foreign: { ...OF_ALL, ...OF_GATEWAY, ...OF_IDENTITY } },
  identity: { needed: ["INTERNAL_HMAC_SECRET"], foreign: { ...OF_ALL, ...OF_GATEWAY } },
};

/** Errors for settings that the environment's ROLE lacks, or must not have. */
export function findRoleIssues(env: Environment): string[] {
  const role = readRole(env);
  const isUnset = (name: string) => readVariable(env, name) === undefined;
  const { needed, foreign } = ROLE_NEEDS[role] ?? { needed: [], foreign: {} };
  // A gateway needs a secret for each service: separate secrets or one for both.
  const secret =
    role === "gateway" && AUDIENCE_SECRETS.some(isUnset) && isUnset("INTERNAL_HMAC_SECRET")
      ? [
          `INTERNAL_HMAC_SECRET must be set when ROLE is gateway, or ${AUDIENCE_SECRETS.join(" and ")}`,
        ]
      : [];
  const providers = role === "gateway" || role === "data" ? findProviderVariables(env) : [];
  return [
    ...findFetchIssues(env, role),
    ...secret,
    ...providers.map(
      (name) =>
        `${name} must not be set when ROLE is ${role}: only the identity service may have it`,
    ),
    ...needed.filter(isUnset).map((name) => `${name} must be set when ROLE is ${role}`),
    ...Object.entries(foreign)
      .filter(([name]) => !isUnset(name))
      .map(
        ([name, holder]) =>
          `${name} must not be set when ROLE is ${role}: only ${holder} may have it`,
      ),
  ];
}

/** The roles that forward requests to another process. */
export function forwards(role: string | undefined): boolean {
  return role === "gateway" || role === "identity";
}

/** Without the variable, `serve` starts again with it. */
function findFetchIssues(env: Environment, role: string): string[] {
  const { variable, min, max } = FETCH_LIMIT;
  const text = readVariable(env, variable);
  if (text === undefined || !forwards(role) || isFetchLimit(text)) return [];
  return [
    `${variable} must be a whole number from ${min} to ${max} when ROLE is ${role}, or unset: Bun sends no more concurrent requests`,
  ];
}
