/** Which settings a role requires, and which it must not know. @module */
import { type Environment, readVariable } from "./environment.ts";
import { findProviderVariables } from "./providers.ts";
import type { SettingName } from "./settings.ts";

/** What the gateway shares with each service, if that is not one secret for both. */
const AUDIENCE_SECRETS = ["INTERNAL_HMAC_SECRET_DATA", "INTERNAL_HMAC_SECRET_IDENTITY"] as const;

type RoleNeeds = {
  needed: readonly SettingName[];
  /** The only role that may have each of these settings. */
  foreign: Readonly<Partial<Record<SettingName, string>>>;
};

/** What a role requires, and what it must not know: a service that knew another's secret could sign for it. */
const OF_GATEWAY = {
  INTERNAL_HMAC_SECRET_DATA: "the gateway",
  INTERNAL_HMAC_SECRET_IDENTITY: "the gateway",
};
const OF_IDENTITY = {
  IDENTITY_SECRET: "the identity service",
  CONSOLE_DATABASE_URL: "the identity service",
};
/** What a process that is one part of the service cannot use: it has one login. */
const OF_ALL = { IDENTITY_DATABASE_URL: "a process where ROLE is all" };
const ROLE_NEEDS: Readonly<Record<string, RoleNeeds>> = {
  gateway: {
    needed: ["UPSTREAM_DATA_URL", "UPSTREAM_IDENTITY_URL"],
    foreign: { ...OF_ALL, ...OF_IDENTITY },
  },
  data: { needed: ["INTERNAL_HMAC_SECRET"], foreign: { ...OF_ALL, ...OF_GATEWAY, ...OF_IDENTITY } },
  identity: { needed: ["INTERNAL_HMAC_SECRET"], foreign: { ...OF_ALL, ...OF_GATEWAY } },
};

/** What the environment's ROLE lacks, or must not have. */
export function findRoleFaults(env: Environment): string[] {
  const role = readVariable(env, "ROLE") ?? "all";
  const isUnset = (name: string) => readVariable(env, name) === undefined;
  const { needed, foreign } = ROLE_NEEDS[role] ?? { needed: [], foreign: {} };
  // A gateway has a secret for each service, its own or the one for both.
  const secret =
    role === "gateway" && AUDIENCE_SECRETS.some(isUnset) && isUnset("INTERNAL_HMAC_SECRET")
      ? [
          `INTERNAL_HMAC_SECRET must be set when ROLE is gateway, or ${AUDIENCE_SECRETS.join(" and ")}`,
        ]
      : [];
  const providers = role === "gateway" || role === "data" ? findProviderVariables(env) : [];
  return [
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
