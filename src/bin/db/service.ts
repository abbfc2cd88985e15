/** The two ways to push: over HTTP with an app's key, or straight to the database as its operator. Both run the same code. @module */
import { findAppId, unknownApp } from "../../accounts/mod.ts";
import type { Config } from "../../config.ts";
import type { Database } from "../../db/mod.ts";
import type { Definition } from "../../dsl/mod.ts";
import type { Log } from "../../observe.ts";
import { Problem } from "../../problem.ts";
import {
  checkDefinition,
  type Difference,
  type JournalEntry,
  type Migration,
  type PushDeps,
  type PushResult,
  push,
  readDrift,
  readMigration,
  readStatus,
  readTableApps,
  type Status,
  type TableApps,
} from "../../push/mod.ts";
import { isHttpOrigin } from "../../std/is_http_origin.ts";
import { type Arguments, UsageError } from "../cli/command.ts";
import { type Address, checkMigrated, findAdminAddress, withDatabase } from "../cli/database.ts";
import { readDevFile, toDevAddress } from "../dev/file.ts";
import { callService, type Target } from "./http.ts";

export type PushRequest = {
  definition: Definition;
  journal: readonly JournalEntry[];
  dryRun: boolean;
};
export type Pushed = Omit<PushResult, "deferred">;
export type SchemaService = {
  /** `log` is told about failures of deferred steps, if this process runs them. */
  readonly push: (request: PushRequest, log: Log) => Promise<Pushed>;
  readonly status: () => Promise<Status>;
  /** One that the status lists, with its SQL. */
  readonly migration: (seq: number) => Promise<Migration>;
  /** For operators only: it covers every app's tables. */
  readonly drift?: () => Promise<Difference[]>;
  /** For operators only: an app never learns about another one. */
  readonly apps?: () => Promise<TableApps[]>;
};

/** Where flags and settings point to. */
export type Destination =
  | { kind: "service"; target: Target }
  | { kind: "database"; address: Address; app: string; isDev?: boolean };

/** @throws {UsageError} nothing, or only half of what is needed, is set */
export function findDestination(args: Arguments, config: Config, folder: string): Destination {
  const app = args.text("app");
  const url = args.text("url");
  if (app !== undefined && url !== undefined)
    throw new UsageError(
      "Flags --app and --url exclude each other: push through the service or straight to the database",
    );
  if (app !== undefined) return findDatabase(app, config, folder);
  const key = config.ROWHOUSE_API_KEY;
  const service = url === undefined ? config.ROWHOUSE_URL : readUrl(url);
  if (service !== undefined && key !== undefined)
    return { kind: "service", target: { url: service, key } };
  if (service !== undefined)
    throw new UsageError("ROWHOUSE_API_KEY is not set: use a key with the scope schema:push");
  if (key !== undefined)
    throw new UsageError("ROWHOUSE_URL is not set, and no --url given: say where the service is");
  const dev = readDevFile(folder);
  if (dev !== undefined)
    return { kind: "service", target: { url: dev.baseUrl, key: dev.apiKey, isDev: true } };
  throw new UsageError(
    "There is nowhere to push to: set ROWHOUSE_URL and ROWHOUSE_API_KEY, start rowhouse dev in this folder, or use --app <slug> with ADMIN_DATABASE_URL",
  );
}

function findDatabase(app: string, config: Config, folder: string): Destination {
  const address = findAdminAddress(config);
  if (address !== undefined) return { kind: "database", address, app };
  const dev = readDevFile(folder);
  if (dev === undefined)
    throw new UsageError(
      "Flag --app needs a database: set ADMIN_DATABASE_URL (or DATABASE_URL), or start rowhouse dev in this folder",
    );
  return {
    kind: "database",
    address: toDevAddress(dev),
    app,
    isDev: true,
  };
}

function readUrl(text: string): string {
  const origin = text.replace(/\/$/, "");
  if (isHttpOrigin(origin)) return origin;
  throw new UsageError("Cannot read --url: must be an origin such as https://api.example.org");
}

/** Runs a task against the service of a destination. */
export async function withService<Result>(
  destination: Destination,
  config: Config,
  task: (service: SchemaService) => Promise<Result>,
): Promise<Result> {
  if (destination.kind === "service") return await task(overHttp(destination.target));
  return await withDatabase(destination.address, config, async (admin) => {
    await checkMigrated(admin);
    const id = await findAppId({ admin }, destination.app);
    if (id === undefined) throw unknownApp(destination.app);
    return await task({
      push: (request, log) => pushStraight({ admin, log }, { id, slug: destination.app }, request),
      status: () => findStatus(admin, { id, slug: destination.app }),
      migration: (seq) => findMigration(admin, id, seq),
      drift: () => readDrift(admin),
      apps: () => readTableApps(admin, id),
    });
  });
}

/** Waits for deferred steps: nobody else would continue them after this process ends. */
async function pushStraight(
  deps: PushDeps,
  app: { id: string; slug: string },
  { definition, journal, dryRun }: PushRequest,
): Promise<Pushed> {
  const options = { dryRun };
  const request = { app, definition: checkDefinition(definition), journal, options };
  const { deferred, ...pushed } = await push(deps, request);
  await deferred;
  return pushed;
}

async function findStatus(admin: Database, app: { id: string; slug: string }): Promise<Status> {
  const status = await readStatus(admin, app.id);
  if (status === undefined) throw unknownApp(app.slug);
  return status;
}

async function findMigration(admin: Database, appId: string, seq: number): Promise<Migration> {
  const migration = await readMigration(admin, appId, seq);
  if (migration === undefined) throw new Problem("not_found");
  return migration;
}

function overHttp(target: Target): SchemaService {
  return {
    push: async (request) => (await callService(target, { body: request })) as Pushed,
    status: async () => (await callService(target)) as Status,
    migration: async (seq) =>
      (await callService(target, { path: `/migrations/${seq}` })) as Migration,
  };
}
