/** The two ways to push: over HTTP with an app's key, or straight to the database as its operator. Both run the same code. @module */
import { findAppId, unknownApp } from "../../accounts/mod.ts";
import type { Config } from "../../config/mod.ts";
import type { Database } from "../../db/mod.ts";
import type { Definition } from "../../dsl/mod.ts";
import type { Log } from "../../observe.ts";
import { Problem } from "../../problem.ts";
import {
  checkDefinition,
  type Difference,
  type JournalEntry,
  type Migration,
  type PlannedMigration,
  type PushDeps,
  type PushResult,
  planReplay,
  push,
  readDrift,
  readMigration,
  readReplayBody,
  readStatus,
  readTableApps,
  replay,
  type Status,
  type TableApps,
} from "../../push/mod.ts";
import {
  type Address,
  checkIsolation,
  checkMigrated,
  withDatabase,
  withPushDatabase,
} from "../cli/database.ts";
import { callService, type Target } from "./http.ts";
import type { Place } from "./places.ts";

export type PushRequest = {
  definition: Definition;
  journal: readonly JournalEntry[];
  dryRun: boolean;
};
/** The project's migrations that the service lacks, as texts, and what the project declares now. */
export type ReplayRequest = { definition: Definition; migrations: readonly string[] };
export type Pushed = Omit<PushResult, "deferred"> & {
  /** The project's migrations that were applied before, or would be. */
  replays?: PlannedMigration[];
};
export type SchemaService = {
  /** `log` is told about failures of deferred steps, if this process runs them. */
  readonly push: (request: PushRequest, log: Log) => Promise<Pushed>;
  /** Applies one of the project's migrations. */
  readonly replay: (request: ReplayRequest, log: Log) => Promise<Pushed>;
  /** What applying the project's migrations and then pushing the definition would do. */
  readonly planReplay: (request: ReplayRequest) => Promise<Pushed>;
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
  | {
      kind: "service";
      target: Target;
      /** The place of rowhouse.json that has this URL. */
      place?: Place;
    }
  | { kind: "database"; address: Address; app: string; isDev?: boolean };

/** A command that goes there: without its flag it might go somewhere else. */
export function withDestination(command: string, destination: Destination): string {
  if (destination.kind === "database") return `${command} --app ${destination.app}`;
  const { target, place } = destination;
  const isNamed = place !== undefined && target.keyVariable !== undefined;
  return isNamed ? `${command} --to ${place.name}` : command;
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
    const app = { id, slug: destination.app };
    const { address } = destination;
    const withPusher = async <Pushed>(push: (pushing: Database) => Promise<Pushed>) => {
      await checkIsolation(admin);
      return await withPushDatabase({ admin, address, config }, push);
    };
    return await task({
      push: (request, log) =>
        withPusher((pushing) => pushStraight({ admin: pushing, log }, app, request)),
      replay: (request, log) =>
        withPusher((pushing) => replayStraight({ admin: pushing, log }, app, request)),
      planReplay: (request) => withPusher((pushing) => planStraight(pushing, app, request)),
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

type App = { id: string; slug: string };

async function replayStraight(deps: PushDeps, app: App, request: ReplayRequest): Promise<Pushed> {
  const { definition, next } = await readReplayBody(request, app.id);
  if (next === undefined) throw new Error("A replay of no migration");
  const { deferred, ...pushed } = await replay(deps, next, { app, definition, options: {} });
  await deferred;
  return pushed;
}

async function planStraight(admin: Database, app: App, request: ReplayRequest): Promise<Pushed> {
  const { definition, migrations } = await readReplayBody({ ...request, dryRun: true }, app.id);
  return await planReplay({ admin }, migrations, { app, definition, options: {} });
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
    replay: async (request) =>
      (await callService(target, { path: "/migrations", body: request })) as Pushed,
    planReplay: async (request) => {
      const body = { ...request, dryRun: true };
      return (await callService(target, { path: "/migrations", body })) as Pushed;
    },
    status: async () => (await callService(target)) as Status,
    migration: async (seq) =>
      (await callService(target, { path: `/migrations/${seq}` })) as Migration,
  };
}
