/**
 * The destination of a `db` command: a named environment, a URL, the running `dev`, or directly a database; and the flags that
 * name it.
 *
 * @module
 */

import { type Config, readEnvironmentKey, toKeyVariable } from "../../settings/mod.ts";
import { isHttpOrigin, isLoopback } from "../../std/network.ts";
import { EXIT, RejectedError, type Setting, UsageError } from "../command.ts";
import { findDevDatabase, findDevFile, isDevKey, readDevFile, servesDev } from "../dev_file.ts";
import {
  ALL_ENVIRONMENTS,
  DEV_ENVIRONMENT,
  findEnvironment,
  PROJECT_FILE,
  readEnvironments,
} from "../project_file.ts";
import { findAdminAddress } from "../settings.ts";
import {
  type Destination,
  findSchemaFlag,
  type ServiceDestination,
  showDestination,
} from "./service.ts";

/** The required scope of a key, for messages. */
const SCHEMA_SCOPE = "schema:push, or schema:read to plan, check and pull";

type Where = Pick<Setting, "args" | "env" | "folder" | "terminal">;

/** Flags that each name a destination. */
const EXCLUSIVE: readonly (readonly [string, string, string])[] = [
  ["app", "url", "push either to a service or directly to the database"],
  ["app", "to", "push either to a service or directly to the database"],
  ["to", "url", "an environment has its own URL"],
];

type Options = {
  /** The required scope of the key, for messages. */
  scope?: string;
  /** Whether only a flag or a person selects a shared service, as variables are also set for other commands. */
  mustBeNamed?: boolean;
};

/**
 * Says where the command goes, before it does anything. On a terminal it asks if a shared environment may be meant and none is
 * named. Warns if the key would be sent unencrypted.
 *
 * @throws {UsageError} no destination is named, a setting is missing, or the environment does not exist
 */
export async function findDestination(
  where: Where,
  config: Config,
  options: Options = {},
): Promise<Destination> {
  const { args } = where;
  for (const [flag, other, reason] of EXCLUSIVE) {
    if (args.has(flag) && args.has(other))
      throw new UsageError(`Cannot use --${flag} with --${other}: ${reason}`);
  }
  const app = args.text("app");
  if (app === undefined) return await findService(where, config, options);
  return announce(where, findDatabase(app, config, where));
}

/** The destination, which must be a service. */
export async function findService(
  where: Where,
  config: Config,
  options: Options = {},
): Promise<ServiceDestination> {
  const name = where.args.text("to");
  if (name === ALL_ENVIRONMENTS)
    throw new UsageError(
      `Flag --to ${ALL_ENVIRONMENTS} is only for rowhouse db status: select one environment`,
    );
  const selected =
    name === undefined
      ? await selectUnnamed(where, config, options)
      : await toDestination(where, name, options);
  return announce(where, selected);
}

/** One line, with a warning if the key can be intercepted. */
function announce<Found extends Destination>(
  where: Pick<Where, "args" | "terminal">,
  found: Found,
): Found {
  where.terminal.warn(`Destination: ${showDestination(found)}`);
  if (found.kind === "service") warnPlain(where, found.target.url);
  return { ...found, schema: findSchemaFlag(where) };
}

function warnPlain({ terminal }: Pick<Where, "terminal">, url: string): void {
  if (new URL(url).protocol === "https:" || isLoopback(url)) return;
  terminal.warn(`Warning: ${url} is not encrypted: the API key can be intercepted`);
}

/** @throws {UsageError} the key of the environment is not set; the key of another service is never sent */
export async function toDestination(
  where: Omit<Where, "args">,
  name: string,
  { scope = SCHEMA_SCOPE }: Options = {},
): Promise<ServiceDestination> {
  if (name === DEV_ENVIRONMENT) return toDev(where);
  const environment = findEnvironment(readEnvironments(where.folder), name);
  const { url } = environment;
  const keyVariable = toKeyVariable(name);
  const key = readEnvironmentKey(where.env, name);
  if (key === undefined)
    throw new UsageError(
      `${keyVariable} is not set: set it to a key of ${name} with the scope ${scope}`,
    );
  const isDev = await isDevService(where, url);
  return { kind: "service", target: { url, key, keyVariable, isDev }, to: name, environment };
}

/** The running `dev`, as the app of `key`, else as the project's app. @throws {RejectedError} dev does not run */
function toDev({ folder }: Pick<Where, "folder">, key?: string): ServiceDestination {
  const dev = findDevFile(folder);
  if (dev === undefined)
    throw new RejectedError(
      "rowhouse dev does not run in this folder: start rowhouse dev",
      EXIT.unreachable,
    );
  const { baseUrl: url, apiKey, app } = dev;
  return {
    ...{ kind: "service", target: { url, key: key ?? apiKey, isDev: true }, to: DEV_ENVIRONMENT },
    ...(key === undefined || key === apiKey ? { app } : {}),
  };
}

/** The destination of a command without `--to`. */
async function selectUnnamed(
  where: Where,
  config: Config,
  options: Options,
): Promise<ServiceDestination> {
  const { args, folder, terminal } = where;
  const environments = readEnvironments(folder);
  const typed = args.text("url");
  const set = await findSet(where, config, options);
  const isNamed = typed !== undefined || environments.length === 0 || set?.target.isDev === true;
  if (set !== undefined && isNamed) return set;
  if (environments.length > 0 && terminal.canAsk)
    return await askForDestination(where, { set, options });
  if (set !== undefined && options.mustBeNamed !== true) return set;
  if (environments.length > 0)
    throw new UsageError(
      `Select an environment with --to: ${PROJECT_FILE} has ${environments.map(({ name }) => name).join(", ")}, and ${DEV_ENVIRONMENT} is the running rowhouse dev. Another service needs ${options.mustBeNamed === true ? "--url" : "ROWHOUSE_URL"} and ROWHOUSE_API_KEY`,
    );
  if (findDevFile(folder) !== undefined) return toDev(where);
  throw new UsageError(
    `No service is set: set ROWHOUSE_URL and ROWHOUSE_API_KEY, select an environment of ${PROJECT_FILE} with --to, or start rowhouse dev in this folder${options.scope === undefined ? "; or use --app <slug> with ADMIN_DATABASE_URL" : ""}`,
  );
}

/** The service of `--url` or of the variables; `undefined` if neither is set. */
async function findSet(
  where: Where,
  config: Config,
  { scope = SCHEMA_SCOPE }: Options,
): Promise<ServiceDestination | undefined> {
  const { args, folder } = where;
  const typed = args.text("url");
  const key = config.ROWHOUSE_API_KEY;
  const url = typed === undefined ? config.ROWHOUSE_URL : readUrl(typed);
  if (url === undefined && key === undefined) return undefined;
  if (key === undefined)
    throw new UsageError(`ROWHOUSE_API_KEY is not set: set it to a key with the scope ${scope}`);
  if (url === undefined)
    throw new UsageError("ROWHOUSE_URL is not set: set it to the URL of the service, or add --url");
  const environment = readEnvironments(folder).find((environment) => environment.url === url);
  // dev may run at another port than when its key was copied.
  if (isLoopback(url) && isDevKey(folder, key)) return toDev(where, key);
  const isDev = isDevKey(folder, key) || (await isDevService(where, url));
  return {
    ...{ kind: "service", target: { url, key, isDev } },
    ...(environment === undefined ? {} : { environment }),
  };
}

/** Whether a URL is a `rowhouse dev` of this machine: its migrations are private, and never those of a project. */
async function isDevService({ folder }: Pick<Where, "folder">, url: string): Promise<boolean> {
  if (!isLoopback(url)) return false;
  const dev = readDevFile(folder);
  return (dev !== undefined && isSamePort(url, dev.baseUrl)) || (await servesDev(url));
}

/** One process listens on a port, whatever name of this machine a URL has. */
function isSamePort(url: string, other: string): boolean {
  return isLoopback(other) && new URL(url).port === new URL(other).port;
}

type Choosing = { set: ServiceDestination | undefined; options: Options };

/** Never defaults to a shared environment. */
async function askForDestination(
  where: Where,
  { set, options }: Choosing,
): Promise<ServiceDestination> {
  const { folder, terminal } = where;
  const fallback = readDevFile(folder) === undefined ? undefined : DEV_ENVIRONMENT;
  const unlisted = set === undefined || set.environment !== undefined ? [] : [set.target.url];
  const names = [
    ...(fallback === undefined ? [] : [fallback]),
    ...readEnvironments(folder).map(({ name }) => name),
    ...unlisted,
  ];
  const hint = fallback === undefined ? "" : ` [${fallback}]`;
  const reply = await terminal.ask(`Which destination: ${names.join(", ")}${hint}?`);
  const name = reply?.trim() || fallback;
  if (name === undefined) throw new RejectedError("Nothing was done: no destination was selected");
  const isSet =
    name === set?.environment?.name && readEnvironmentKey(where.env, name) === undefined;
  if (set !== undefined && (isSet || name === set.target.url)) return set;
  return await toDestination(where, name, options);
}

function findDatabase(app: string, config: Config, where: Where): Destination {
  const address = findAdminAddress(config);
  if (address !== undefined) {
    const isDev = address.url === readDevFile(where.folder)?.databaseUrl;
    return { kind: "database", address, app, isDev };
  }
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
