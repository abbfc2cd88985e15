/** Where a `db` command goes: a named place, a URL, the running `dev`, or straight to a database. @module */
import { type Config, readPlaceKey, toKeyVariable } from "../../config/mod.ts";
import { isHttpOrigin } from "../../std/is_http_origin.ts";
import { type Setting, UsageError } from "../cli/command.ts";
import { findAdminAddress } from "../cli/settings.ts";
import { readDevFile, tellDevDatabase, toDevAddress } from "../dev/file.ts";
import type { Target } from "./http.ts";
import { ALL_PLACES, findPlace, type Place, readPlaces } from "./places.ts";
import type { Destination, ServiceDestination } from "./service.ts";

/** What a key needs, in words. */
const SCHEMA_SCOPE = "schema:push, or schema:read to plan, check and pull";

type Where = Pick<Setting, "args" | "env" | "folder" | "terminal">;

/** Flags that each name a destination. */
const EXCLUSIVE: readonly (readonly [string, string, string])[] = [
  ["app", "url", "push through the service or straight to the database"],
  ["app", "to", "push through the service or straight to the database"],
  ["to", "url", "a place has its own URL"],
];

/**
 * Warns where a key would travel unencrypted.
 *
 * @throws {UsageError} nothing, or only half of what is needed, is set, or there is no such place
 */
export function findDestination(where: Where, config: Config): Destination {
  const { args } = where;
  for (const [flag, other, reason] of EXCLUSIVE) {
    if (args.has(flag) && args.has(other))
      throw new UsageError(`Flags --${flag} and --${other} exclude each other: ${reason}`);
  }
  const app = args.text("app");
  return app === undefined ? findService(where, config) : findDatabase(app, config, where);
}

/** The same without a database. `scope` is that of the key. */
export function findService(
  where: Where,
  config: Config,
  scope = SCHEMA_SCOPE,
): ServiceDestination {
  const { args, folder } = where;
  const places = readPlaces(folder);
  const name = args.text("to");
  if (name === ALL_PLACES)
    throw new UsageError(`Flag --to ${ALL_PLACES} is for rowhouse db status: name one place here`);
  if (name !== undefined) return toPlace(where, findPlace(places, name), scope);
  const target = findTarget(where, config, scope);
  if (target.isDev !== true) warnPlain(where, target.url);
  const place = places.find(({ url }) => url === target.url);
  return { kind: "service", target, ...(place === undefined ? {} : { place }) };
}

/** @throws {UsageError} its key is not set; that of another service is never sent instead */
export function toPlace(
  where: Omit<Where, "args">,
  place: Place,
  scope = SCHEMA_SCOPE,
): ServiceDestination {
  const { name, url } = place;
  const keyVariable = toKeyVariable(name);
  const key = readPlaceKey(where.env, name);
  if (key === undefined)
    throw new UsageError(
      `${keyVariable} is not set: use a key that ${name} issued, with the scope ${scope}`,
    );
  warnPlain(where, url);
  const isDev = url === readDevFile(where.folder)?.baseUrl;
  return { kind: "service", target: { url, key, keyVariable, isDev }, place };
}

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

function warnPlain({ terminal }: Pick<Where, "terminal">, url: string): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:" || LOOPBACK.test(hostname)) return;
  terminal.warn(`Note: ${url} is not encrypted: whoever is on the way can read the key`);
}

function findTarget({ args, folder }: Where, config: Config, scope: string): Target {
  const url = args.text("url");
  const key = config.ROWHOUSE_API_KEY;
  const service = url === undefined ? config.ROWHOUSE_URL : readUrl(url);
  const dev = readDevFile(folder);
  // What dev printed, in .env for the app's server: it stays dev, with its own journal.
  if (service !== undefined && key !== undefined)
    return { url: service, key, isDev: service === dev?.baseUrl };
  if (service !== undefined)
    throw new UsageError(`ROWHOUSE_API_KEY is not set: use a key with the scope ${scope}`);
  if (key !== undefined)
    throw new UsageError("ROWHOUSE_URL is not set, and no --url given: say where the service is");
  if (dev !== undefined) return { url: dev.baseUrl, key: dev.apiKey, isDev: true };
  throw new UsageError(
    `No service is known: set ROWHOUSE_URL and ROWHOUSE_API_KEY, name a place of rowhouse.json with --to, or start rowhouse dev in this folder${scope === SCHEMA_SCOPE ? "; or use --app <slug> with ADMIN_DATABASE_URL" : ""}`,
  );
}

function findDatabase(app: string, config: Config, { folder, terminal }: Where): Destination {
  const address = findAdminAddress(config);
  if (address !== undefined) return { kind: "database", address, app };
  const dev = readDevFile(folder);
  if (dev === undefined)
    throw new UsageError(
      "Flag --app needs a database: set ADMIN_DATABASE_URL (or DATABASE_URL), or start rowhouse dev in this folder",
    );
  tellDevDatabase(terminal);
  return { kind: "database", address: toDevAddress(dev), app, isDev: true };
}

function readUrl(text: string): string {
  const origin = text.replace(/\/$/, "");
  if (isHttpOrigin(origin)) return origin;
  throw new UsageError("Cannot read --url: must be an origin such as https://api.example.org");
}
