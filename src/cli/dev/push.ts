/** A push of `dev` to itself: first the project's migrations, then the schema. @module */

import { SERVICE_QUEUE } from "../../db/mod.ts";
import { splitTarget } from "../../http/mod.ts";
import type { Definition } from "../../schema/mod.ts";
import type { Service } from "../../service/mod.ts";
import type { Config } from "../../settings/mod.ts";
import { isObject, tryParseJson } from "../../std/json.ts";
import { SCHEMA_PATH } from "../../tables/limits.ts";
import { RejectedError, type Setting } from "../command.ts";
import { withDatabase } from "../database.ts";
import { findColumn, findTable } from "../db/change_schema.ts";
import { describePush } from "../db/describe.ts";
import { planHistory } from "../db/history.ts";
import type { Project } from "../db/project.ts";
import { type ProjectPush, pushProject } from "../db/push.ts";
import { nameDestination } from "../db/service.ts";
import { readShare } from "../db/sharing.ts";
import { explain } from "../failures.ts";
import { DEV_ENVIRONMENT } from "../project_file.ts";
import type { DevDatabase } from "./database.ts";
import { isUnfit } from "./dev_tables.ts";
import { describe, type Replayed, replayMigrations } from "./migrations.ts";
import { checkNeeds } from "./projects.ts";
import { findRenames } from "./renames.ts";

type Destination = {
  config: Config;
  target: { url: string; key: string; isDev: boolean };
  /** `undefined` before the first push of this process. */
  pushedLast: Definition | undefined;
};

/** A failed push is only reported: the service keeps serving the previous schema. */
export async function pushOnce(
  setting: Setting,
  { config, target, pushedLast }: Destination,
): Promise<ProjectPush | undefined> {
  const destination = { kind: "service", target, to: DEV_ENVIRONMENT } as const;
  const print = (line: string) => setting.terminal.print(nameDestination(line, destination));
  const share = readShare(setting);
  let replayed: Replayed | undefined;
  let wanted: Definition | undefined;
  const prepare = async (project: Project) => {
    checkNeeds(project.definition, config.PREVIEW);
    replayed = await replayMigrations(project, print);
    wanted = project.definition;
    await checkRenames({ ...project, share }, { pushedLast, committed: replayed.committed });
    return wanted;
  };
  const push = async (task: Pick<Parameters<typeof pushProject>[1], "prepare">) =>
    await pushProject(setting, {
      ...{ destination, config, dryRun: false, waitS: 10, share },
      ...task,
    });
  try {
    const pushed = await push({ prepare }).catch(async (error: unknown) => {
      // The project's state must not stop dev: rows that do not fit it make its own tables looser.
      let rejection = error;
      for (;;) {
        if (replayed === undefined || wanted === undefined) throw rejection;
        const { dev, committed } = replayed;
        const looser = await dev.fit(rejection, wanted, committed);
        if (looser === undefined) throw error;
        wanted = looser;
        const result = await push({ prepare: async () => looser }).catch((next: unknown) => {
          rejection = next;
        });
        if (result === undefined) continue;
        for (const line of describe(dev, "Notice: dev differs from the schema:")) print(line);
        return result;
      }
    });
    for (const line of describePush(pushed)) print(line);
    return pushed;
  } catch (error) {
    setting.terminal.warn(nameDestination(explain(error), destination));
    return undefined;
  }
}

/** The service, with a call after each push that changed tables: another command can have resolved what stopped the last push of `dev`. */
export function withPushes(service: Service, onApplied: () => void): Service {
  return {
    ...service,
    fetch: async (request, peer) => {
      const response = await service.fetch(request, peer);
      const isPush = request.method === "POST" && splitTarget(request.url).path === SCHEMA_PATH;
      const body = isPush && response.ok ? tryParseJson(await response.clone().text()) : undefined;
      if (isObject(body) && body["status"] === "applied") onApplied();
      return response;
    },
  };
}

const LAST_MIGRATION = `
select checksum from rowhouse.migrations
  join rowhouse.apps on apps.id = migrations.app_id
  where apps.slug = $1
  order by migrations.seq desc
  limit 1`;

/** The checksum of the app's last migration; `undefined` without one. Not by the service, which prints each request. */
export async function readRecord({ admin }: DevDatabase, config: Config, app: string) {
  const [last] = await withDatabase(admin, config, (database) =>
    database.query<{ checksum: string }>(LAST_MIGRATION, [app], {
      retry: "safe",
      queue: SERVICE_QUEUE,
    }),
  );
  return last?.checksum;
}

type Checked = Project & { share: ReturnType<typeof readShare> };

/** @throws {RejectedError} an edit of the schema may be a rename. A name in the project's migrations is not such an edit. */
async function checkRenames(
  project: Checked,
  { pushedLast, committed }: { pushedLast: Definition | undefined; committed: Definition },
): Promise<void> {
  const { definition } = project;
  const isCommitted = (name: string) => {
    const [table = "", column] = name.split(".");
    return column === undefined
      ? findTable(committed, table) !== undefined
      : findColumn(committed, table, column) !== undefined;
  };
  const renames = findRenames(pushedLast ?? definition, definition).filter(
    ({ to }) => !isCommitted(to),
  );
  if (renames.length === 0) return;
  const added = await listAdded(project);
  const pending = renames.filter(({ to }) => added(to));
  if (pending.length === 0) return;
  throw new RejectedError(pending.map(({ message }) => message).join("\n"));
}

/** Whether a push would add a table or a column, or cannot, because rows have no value for it. */
async function listAdded(project: Checked): Promise<(name: string) => boolean> {
  try {
    const { steps } = await planHistory(project);
    return (name) => steps.some((step) => step.endsWith(` ${name}`));
  } catch (error) {
    if (!isUnfit(error)) throw error;
    const paths = (error.details ?? []).map(({ path }) => path);
    return (name) => paths.includes(`/${name.replace(".", "/")}`);
  }
}
