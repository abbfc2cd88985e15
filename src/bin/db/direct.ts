/** Pushes directly to the database, as its operator. @module */
import { unknownApp } from "../../accounts/actions/mod.ts";
import { findAppId } from "../../accounts/apps/mod.ts";
import type { Config } from "../../config/mod.ts";
import type { Database } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import {
  applyChange,
  checkDefinition,
  type PushDeps,
  planReplay,
  push,
  readChangeBody,
  readDrift,
  readJoinBody,
  readMigration,
  readReplayBody,
  readStatus,
  readTableApps,
  replay,
  type Status,
  type StoredMigration,
} from "../../push/mod.ts";
import { checkIsolation, checkMigrated, withDatabase, withPushDatabase } from "../cli/database.ts";
import type {
  Changed,
  ChangeRequest,
  DirectDestination,
  JoinRequest,
  Pushed,
  PushRequest,
  ReplayRequest,
  SchemaService,
} from "./schema_service.ts";

/** Runs a task against the database of a destination. */
export async function withDirectService<Result>(
  destination: DirectDestination,
  config: Config,
  task: (service: SchemaService) => Promise<Result>,
): Promise<Result> {
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
      join: (request, log) =>
        withPusher((pushing) => joinStraight({ admin: pushing, log }, app, request)),
      change: (request, log) =>
        withPusher((pushing) => changeStraight({ admin: pushing, log }, app, request)),
      planReplay: (request) => withPusher((pushing) => planStraight(pushing, app, request)),
      status: () => findStatus(admin, { id, slug: destination.app }),
      migration: (seq) => findMigration(admin, id, seq),
      drift: () => readDrift(admin),
      apps: () => readTableApps(admin, id),
    });
  });
}

/** Waits for deferred steps: no other process would continue them. */
async function pushStraight(
  deps: PushDeps,
  app: { id: string; slug: string },
  { definition, journal, dryRun, share }: PushRequest,
): Promise<Pushed> {
  const options = { dryRun, share };
  const request = { app, definition: checkDefinition(definition), journal, options };
  const { deferred, ...pushed } = await push(deps, request);
  await deferred;
  return pushed;
}

type App = { id: string; slug: string };

async function replayStraight(deps: PushDeps, app: App, request: ReplayRequest): Promise<Pushed> {
  const { definition, next, share } = await readReplayBody(request, app.id);
  if (next === undefined) throw new Error("A replay of no migration");
  const { deferred, ...pushed } = await replay(deps, next, { app, definition, options: { share } });
  await deferred;
  return pushed;
}

async function joinStraight(deps: PushDeps, app: App, request: JoinRequest): Promise<Pushed> {
  const { deferred, ...pushed } = await push(deps, {
    app,
    ...(await readJoinBody(request, app.id)),
  });
  await deferred;
  return pushed;
}

async function changeStraight(
  deps: PushDeps,
  app: App,
  { change, journal, dryRun }: ChangeRequest,
): Promise<Changed> {
  const request = { app, ...readChangeBody({ change, journal, dryRun }) };
  const { deferred, ...changed } = await applyChange(deps, request);
  await deferred;
  return changed;
}

async function planStraight(admin: Database, app: App, request: ReplayRequest): Promise<Pushed> {
  const body = await readReplayBody({ ...request, dryRun: true }, app.id);
  const { definition, migrations, share } = body;
  return await planReplay({ admin }, migrations, { app, definition, options: { share } });
}

async function findStatus(admin: Database, app: { id: string; slug: string }): Promise<Status> {
  const status = await readStatus(admin, app.id);
  if (status === undefined) throw unknownApp(app.slug);
  return status;
}

async function findMigration(
  admin: Database,
  appId: string,
  seq: number,
): Promise<StoredMigration> {
  const migration = await readMigration(admin, appId, seq);
  if (migration === undefined) throw new Problem("not_found");
  return migration;
}
