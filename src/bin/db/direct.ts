/** Pushes directly to the database, as its operator. @module */
import { unknownApp } from "../../accounts/actions/mod.ts";
import { findAppId } from "../../accounts/apps/mod.ts";
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
} from "../../push/mod.ts";
import { checkIsolation, checkMigrated, withDatabase, withPushDatabase } from "../cli/database.ts";
import { openLog } from "../cli/log.ts";
import type { DirectDestination, DirectOptions, SchemaService } from "./schema_service.ts";

type Deferring<Result> = Promise<Result & { deferred: Promise<void> }>;

/** Runs a task against the database of a destination. */
export async function withDirectService<Result>(
  { address, app: slug }: DirectDestination,
  { config, terminal }: DirectOptions,
  task: (service: SchemaService) => Promise<Result>,
): Promise<Result> {
  const log = openLog(config, terminal.warn);
  return await withDatabase(address, config, async (admin) => {
    await checkMigrated(admin);
    const id = await findAppId({ admin }, slug);
    if (id === undefined) throw unknownApp(slug);
    const app = { id, slug };
    const withPusher = async <Pushed>(push: (pushing: Database) => Promise<Pushed>) => {
      await checkIsolation(admin);
      return await withPushDatabase({ admin, address, config }, push);
    };
    /** Waits for deferred steps: no other process would continue them. */
    const pushAll = <Pushed>(push: (deps: PushDeps) => Deferring<Pushed>) =>
      withPusher(async (pushing) => {
        const { deferred, ...pushed } = await push({ admin: pushing, log });
        await deferred;
        return pushed;
      });
    return await task({
      push: ({ definition, journal, ...options }) =>
        pushAll((deps) =>
          push(deps, { app, definition: checkDefinition(definition), journal, options }),
        ),
      replay: (request) =>
        pushAll(async (deps) => {
          const { definition, next, share } = await readReplayBody(request, id);
          if (next === undefined) throw new Error("A replay of no migration");
          return await replay(deps, next, { app, definition, options: { share } });
        }),
      join: (request) =>
        pushAll(async (deps) => push(deps, { app, ...(await readJoinBody(request, id)) })),
      change: (request) =>
        pushAll((deps) => applyChange(deps, { app, ...readChangeBody(request) })),
      planReplay: (request) =>
        withPusher(async (pushing) => {
          const body = await readReplayBody({ ...request, dryRun: true }, id);
          const { definition, migrations, share } = body;
          return await planReplay({ admin: pushing }, migrations, {
            app,
            definition,
            options: { share },
          });
        }),
      status: async () => {
        const status = await readStatus(admin, id);
        if (status === undefined) throw unknownApp(slug);
        return status;
      },
      migration: async (seq) => {
        const migration = await readMigration(admin, id, seq);
        if (migration === undefined) throw new Problem("not_found");
        return migration;
      },
      drift: () => readDrift(admin),
      apps: () => readTableApps(admin, id),
    });
  });
}
