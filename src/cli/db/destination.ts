/**
 * The destination of a `db` command: a named environment, a URL, the running `dev`, or directly a database; and the flags that
 * name it.
 *
 * @module
 */

import { type Config, readEnvironmentKey, toKeyVariable } from "../../settings/mod.ts";
import { isHttpOrigin, isLoopback } from "../../std/network.ts";
import { type Arguments, type Flags, JSON_FLAG, type Setting, UsageError } from "../command.ts";
import { findDevDatabase, findDevFile, readDevFile } from "../dev/file.ts";
import {
  ALL_ENVIRONMENTS,
  findEnvironment,
  PROJECT_FILE,
  type ProjectEnvironment,
  readEnvironments,
} from "../project_file.ts";
import { findAdminAddress, readWhole } from "../settings.ts";
import type { Target } from "./http.ts";
import type { Destination, ServiceDestination } from "./service.ts";

/** The required scope of a key, for messages. */
const SCHEMA_SCOPE = "schema:push, or schema:read to plan, check and pull";

type Where = Pick<Setting, "args" | "env" | "folder" | "terminal">;

/** Flags that each name a destination. */
const EXCLUSIVE: readonly (readonly [string, string, string])[] = [
  ["app", "url", "push either to a service or directly to the database"],
  ["app", "to", "push either to a service or directly to the database"],
  ["to", "url", "an environment has its own URL"],
];

/**
 * Warns if the key would be sent unencrypted.
 *
 * @throws {UsageError} a setting is missing, or the environment does not exist
 */
export function findDestination(where: Where, config: Config): Destination {
  const { args } = where;
  for (const [flag, other, reason] of EXCLUSIVE) {
    if (args.has(flag) && args.has(other))
      throw new UsageError(`Cannot use --${flag} with --${other}: ${reason}`);
  }
  const app = args.text("app");
  return app === undefined ? findService(where, config) : findDatabase(app, config, where);
}

/** The destination, which must be a service. `scope` is the required scope of the key. */
export function findService(
  where: Where,
  config: Config,
  scope = SCHEMA_SCOPE,
): ServiceDestination {
  const { args, folder } = where;
  const environments = readEnvironments(folder);
  const name = args.text("to");
  if (name === ALL_ENVIRONMENTS)
    throw new UsageError(
      `Flag --to ${ALL_ENVIRONMENTS} is only for rowhouse db status: select one environment`,
    );
  if (name !== undefined) return toDestination(where, findEnvironment(environments, name), scope);
  const target = findTarget(where, config, scope);
  if (target.isDev !== true) warnPlain(where, target.url);
  const environment = environments.find(({ url }) => url === target.url);
  return { kind: "service", target, ...(environment === undefined ? {} : { environment }) };
}

/** @throws {UsageError} the key of the environment is not set; the key of another service is never sent */
export function toDestination(
  where: Omit<Where, "args">,
  environment: ProjectEnvironment,
  scope = SCHEMA_SCOPE,
): ServiceDestination {
  const { name, url } = environment;
  const keyVariable = toKeyVariable(name);
  const key = readEnvironmentKey(where.env, name);
  if (key === undefined)
    throw new UsageError(
      `${keyVariable} is not set: set it to a key of ${name} with the scope ${scope}`,
    );
  warnPlain(where, url);
  const isDev = url === readDevFile(where.folder)?.baseUrl;
  return { kind: "service", target: { url, key, keyVariable, isDev }, environment };
}

function warnPlain({ terminal }: Pick<Where, "terminal">, url: string): void {
  if (new URL(url).protocol === "https:" || isLoopback(url)) return;
  terminal.warn(`Warning: ${url} is not encrypted: the API key can be intercepted`);
}

function findTarget({ args, folder }: Where, config: Config, scope: string): Target {
  const url = args.text("url");
  const key = config.ROWHOUSE_API_KEY;
  const service = url === undefined ? config.ROWHOUSE_URL : readUrl(url);
  // The URL of dev can also be in .env, for the app's server: it is still dev, with its own journal.
  if (service !== undefined && key !== undefined)
    return { url: service, key, isDev: service === readDevFile(folder)?.baseUrl };
  if (service !== undefined)
    throw new UsageError(`ROWHOUSE_API_KEY is not set: set it to a key with the scope ${scope}`);
  if (key !== undefined)
    throw new UsageError("ROWHOUSE_URL is not set: set it to the URL of the service, or add --url");
  const dev = findDevFile(folder);
  if (dev !== undefined) return { url: dev.baseUrl, key: dev.apiKey, isDev: true };
  throw new UsageError(
    `No service is set: set ROWHOUSE_URL and ROWHOUSE_API_KEY, select an environment of rowhouse.json with --to, or start rowhouse dev in this folder${scope === SCHEMA_SCOPE ? "; or use --app <slug> with ADMIN_DATABASE_URL" : ""}`,
  );
}

function findDatabase(app: string, config: Config, where: Where): Destination {
  const address = findAdminAddress(config);
  if (address !== undefined) return { kind: "database", address, app };
  const dev = findDevDatabase(where);
  if (dev === undefined)
    throw new UsageError(
      "Flag --app requires a database: set ADMIN_DATABASE_URL (or DATABASE_URL), or start rowhouse dev in this folder",
    );
  return { kind: "database", address: dev.address, app, isDev: true };
}

function readUrl(text: string): string {
  const origin = text.replace(/\/$/, "");
  if (isHttpOrigin(origin)) return origin;
  throw new UsageError("Cannot read --url: must be an origin such as https://api.example.org");
}

// Shared flags of `rowhouse db` commands.

const WAIT_S = 60;
const MAX_WAIT_S = 3600;

export const ENVIRONMENT_FLAGS = {
  url: { value: "url", about: "the service's URL; default: ROWHOUSE_URL" },
  to: { value: "environment", about: `an environment in ${PROJECT_FILE}, such as staging` },
  app: {
    value: "slug",
    about: "directly to the database as this app (ADMIN_DATABASE_URL, else DATABASE_URL)",
  },
  json: JSON_FLAG,
} as const satisfies Flags;
export const FILE_FLAGS = {
  schema: { value: "path", about: "the schema file, or a folder with mod.ts; default schema/" },
  journal: {
    value: "folder",
    about: "the migrations folder; default migrations/ next to the schema",
  },
} as const satisfies Flags;
export const SCHEMA_FLAGS: Flags = {
  ...FILE_FLAGS,
  ...ENVIRONMENT_FLAGS,
  "no-share": {
    about: `report a conflict instead of sharing a table of another app; also "share": false in ${PROJECT_FILE}`,
  },
  wait: { value: "seconds", about: `max wait for another push; default ${WAIT_S}` },
};

/** Max seconds to wait for another push. */
export function readWait(args: Arguments): number {
  const text = args.text("wait");
  return text === undefined ? WAIT_S : readWhole("--wait", text, [0, MAX_WAIT_S]);
}
