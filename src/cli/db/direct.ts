/** Pushes directly to the database, as its operator. @module */

import { Problem } from "../../problem.ts";
import { unknownApp } from "../../records/actions/mod.ts";
import { findAppId } from "../../records/apps/mod.ts";
import {
  push,
  readDrift,
  readMigration,
  readPush,
  readStatus,
  readTableApps,
  workInPlace,
} from "../../tables/mod.ts";
import { checkIsolation, checkMigrated, withDatabase, withPushDatabase } from "../database.ts";
import { openLog } from "../settings.ts";
import type { DirectDestination, DirectOptions, SchemaService } from "./schema_service.ts";

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
    return await task({
      push: async (body) => {
        const request = await readPush(workInPlace, { appId: id, body });
        await checkIsolation(admin);
        return await withPushDatabase({ admin, address, config }, async (pushing) => {
          const { deferred, ...pushed } = await push({ admin: pushing, log }, { app, ...request });
          // No other process would continue these steps.
          await deferred;
          return pushed;
        });
      },
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
