/**
 * The pushes of a project's `dev` to itself: at its start, after edits, and after a person or another command has decided what
 * stopped the last one. The service keeps serving the last good schema if one fails.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { relative } from "node:path";
import { SERVICE_QUEUE } from "../../db/mod.ts";
import type { Definition } from "../../schema/mod.ts";
import type { Config } from "../../settings/mod.ts";
import type { Setting } from "../command.ts";
import { withDatabase } from "../database.ts";
import { describePush } from "../db/describe.ts";
import { type Answers, NO_ANSWERS } from "../db/dev_renames.ts";
import { askForAnswers, pushToDev, UndecidedError } from "../db/dev_tables.ts";
import { evaluateSchema } from "../db/evaluate.ts";
import type { ProjectPush } from "../db/push.ts";
import { findSchemaFlag, nameDestination } from "../db/service.ts";
import { readShare } from "../db/sharing.ts";
import type { DevFile } from "../dev_file.ts";
import { explain } from "../failures.ts";
import { DEV_ENVIRONMENT } from "../project_file.ts";
import type { Address } from "../settings.ts";
import { toFrontEnd } from "./app_name.ts";
import type { DevProject } from "./projects.ts";
import { checkNeeds } from "./projects.ts";
import { describeOther, describeTour } from "./tour.ts";

type DevPush = {
  config: Config;
  target: { url: string; key: string; isDev: boolean };
  address: Address;
  app: string;
  answers: Answers;
  /** As of {@linkcode pushToDev}. */
  onMigration?: (checksum: string) => void;
  /** The schema, if it has just been evaluated. */
  evaluated?: Evaluated | undefined;
};

/** A definition, or why the file has none. */
type Evaluated = Definition | Error;

type DevPushed = { pushed?: ProjectPush; undecided?: UndecidedError };

/** A failed push is only reported. */
export async function pushOnce(
  setting: Setting,
  file: string,
  { config, target, address, app, answers, onMigration, evaluated }: DevPush,
): Promise<DevPushed> {
  const destination = {
    ...({ kind: "service", target, app, to: DEV_ENVIRONMENT } as const),
    schema: findSchemaFlag(setting),
  };
  const print = (line: string) => setting.terminal.print(nameDestination(line, destination));
  try {
    const definition = evaluated ?? (await evaluateSchema(setting, file));
    if (definition instanceof Error) throw definition;
    checkNeeds(definition, config.PREVIEW);
    const pushed = await pushToDev(setting, {
      ...{ destination, config, waitS: 10, share: readShare(setting) },
      ...{ definition, address, app, answers, print, onMigration },
    });
    for (const line of describePush(pushed)) print(line);
    return { pushed };
  } catch (error) {
    setting.terminal.warn(nameDestination(explain(error), destination));
    return error instanceof UndecidedError ? { undecided: error } : {};
  }
}

type Opened = {
  project: DevProject;
  /** Gets each pushed schema. */
  onPushed: (definition: Definition) => void;
  config: Config;
  admin: Address;
  localUrl: string;
  file: DevFile;
};

/** The pushes of a project: the first, and those after edits. */
export function openPushes({ project, onPushed, config, admin, localUrl, file }: Opened) {
  const { setting, name, path, schema, watch } = project;
  const { folder, terminal } = setting;
  const target = { url: localUrl, key: file.apiKey, isDev: true };
  const show = (pushed: ProjectPush | undefined) => {
    const tour = {
      definition: pushed?.definition,
      hasFailed: pushed === undefined && existsSync(schema),
      schema: `./${relative(folder, schema)}`,
      frontEnd: toFrontEnd(name.app),
      localUrl,
      previews: config.PREVIEW,
    };
    const lines = path === "" ? describeTour(file, tour) : describeOther(file, tour.frontEnd);
    for (const line of lines) terminal.print(line);
  };
  let { evaluated }: { evaluated?: Evaluated | undefined } = project;
  let answers = NO_ANSWERS;
  let question: AbortController | undefined;
  let last: { undecided?: UndecidedError; given: Answers } | undefined;
  let isStart = true;
  let hasPushed = false;
  let isHeld = false;
  /** The last migration that a failed push knew, and the one that was last read. */
  let heldAt: string | undefined;
  let seen: string | undefined;

  const push = async () => {
    question?.abort();
    // Its own push must not repeat it.
    isHeld = false;
    const given = answers;
    answers = NO_ANSWERS;
    heldAt = await readLastMigration(admin, config, name.app).catch(() => undefined);
    const onMigration = (checksum: string) => {
      heldAt = checksum;
    };
    const where = { config, target, address: admin, app: name.app };
    const known = { ...where, answers: given, onMigration, evaluated };
    evaluated = undefined;
    const { pushed, undecided } = await pushOnce(setting, schema, known);
    if (pushed !== undefined) onPushed(pushed.definition);
    isHeld = pushed === undefined;
    last = undecided && { undecided, given };
    if (isStart || (!hasPushed && pushed !== undefined)) show(pushed);
    hasPushed ||= pushed !== undefined;
    if (!isStart) void ask();
    isStart = false;
  };

  /** Asks for an open decision. An edit ends the question. */
  const ask = async () => {
    if (last?.undecided === undefined || !terminal.canAsk) return;
    question = new AbortController();
    const { signal } = question;
    const decided = await askForAnswers(terminal, last.undecided, { answers: last.given, signal });
    if (decided === undefined || signal.aborted) return;
    answers = decided;
    watch.repeat();
  };

  return {
    push,
    start: () => {
      watch.start(push);
      void ask();
    },
    stop: () => {
      watch.stop();
      question?.abort();
    },
    /** Repeats the last push if it failed and another command has changed the tables: it can have decided. */
    repeatIfDue: async () => {
      if (!isHeld) return;
      const before = seen;
      seen = await readLastMigration(admin, config, name.app);
      // A command makes several migrations, one after the other: wait until it has ended.
      if (isHeld && seen !== heldAt && seen === before) watch.repeat();
    },
  };
}

/** Longer than between the changes and the push of one command. */
const RECORD_INTERVAL_MS = 1000;

/** Checks one after the other. The first of several failures in a row is reported. */
export function watchRecords(
  served: readonly ReturnType<typeof openPushes>[],
  onFailure: (error: unknown) => void,
): ReturnType<typeof setInterval> {
  let isBusy = false;
  let hasFailed = false;
  const check = async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      for (const { repeatIfDue } of served) await repeatIfDue();
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) onFailure(error);
      hasFailed = true;
    } finally {
      isBusy = false;
    }
  };
  return setInterval(check, RECORD_INTERVAL_MS);
}

const LAST_MIGRATION = `
select checksum from rowhouse.migrations
  join rowhouse.apps on apps.id = migrations.app_id
  where apps.slug = $1
  order by migrations.seq desc
  limit 1`;

/** The checksum of the app's last migration; `undefined` without one. Not by the service, which prints each request. */
async function readLastMigration(admin: Address, config: Config, app: string) {
  const [last] = await withDatabase(admin, config, (database) =>
    database.query<{ checksum: string }>(LAST_MIGRATION, [app], {
      retry: "safe",
      queue: SERVICE_QUEUE,
    }),
  );
  return last?.checksum;
}
