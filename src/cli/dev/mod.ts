/** `rowhouse dev`: runs database, app and service on one machine, and pushes the schema when it changes. @module */
import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { Definition } from "../../schema/mod.ts";
import { type Config, SETTINGS } from "../../settings/mod.ts";
import {
  type Command,
  EXIT,
  type ExitCode,
  RejectedError,
  SCHEMA_FLAG,
  type Setting,
} from "../command.ts";
import { explainFailure } from "../database.ts";
import { findSchemaFile } from "../db/evaluate.ts";
import type { ProjectPush } from "../db/push.ts";
import { DEV_FILE, type DevFile, markDev, removeDevFile } from "../dev_file.ts";
import { explain } from "../failures.ts";
import { openFrom } from "../open_service.ts";
import { PROJECT_FILE } from "../project_file.ts";
import { findFreePort, listen, toLocalUrl } from "../serve/listen.ts";
import { readSettings } from "../settings.ts";
import { STOP_SIGNALS, untilSignal } from "../signals.ts";
import { openDemos } from "./app.ts";
import { toFrontEnd, toHost, toOrigin, withHosts } from "./app_name.ts";
import {
  confirmReset,
  DATA_DIR,
  type DevDatabase,
  openDevDatabase,
  removeDevFiles,
} from "./database.ts";
import {
  describeIgnored,
  describeVisiblePassword,
  readNamedDatabase,
  toDevEnvironment,
} from "./environment.ts";
import { makeExample } from "./example.ts";
import { type Explained, makeExplained } from "./explain_forbidden.ts";
import { findLaunchers } from "./launchers.ts";
import { openDevLog } from "./log.ts";
import {
  acquireLocks,
  type DevProject,
  type DevProjects,
  describeNeed,
  openProjects,
} from "./projects.ts";
import { pushOnce, readRecord, withPushes } from "./push.ts";
import { openSecrets } from "./secrets.ts";
import { makeTestPeople } from "./test_people.ts";
import { describeOther, describeTour } from "./tour.ts";
import { watchSchema } from "./watch.ts";

export const devCommand: Command = {
  name: "dev",
  example: "rowhouse dev\nrowhouse dev --port 9000",
  about: `Stores an embedded PostgreSQL and its secrets in .rowhouse/, creates the project's app with a key that has every
scope, and prints commands to paste. Ignores settings of a service, such as DATABASE_URL. To use another database, add
--database: it must be empty, or created by an earlier dev. Listens on 127.0.0.1 unless HOST is set. Other commands read its
address from ${DEV_FILE}. With "apps": ["../crm"] in ${PROJECT_FILE} it also serves the apps of these projects. Ctrl-C stops everything; dev also stops when the process that started it ends, such as npx. The
next start uses the stored data, and upgrades a database of an earlier release. --reset starts over with an empty database.`,
  positionals: [],
  flags: {
    port: {
      value: "port",
      about: `default: PORT, else port in ${PROJECT_FILE}, else ${SETTINGS.PORT.initial}; 0 selects a free port`,
    },
    schema: SCHEMA_FLAG,
    app: {
      value: "slug",
      about: `the name of the app that dev creates and serves; default: app in ${PROJECT_FILE}, else the name of the folder. For other commands, --app is an app of a database`,
    },
    origin: {
      value: "origin",
      many: true,
      about: "another origin of the app's pages, such as http://wiki.rowhouse.localhost:3000",
    },
    "data-dir": {
      value: "folder",
      about: "the folder of the embedded database",
      default: DATA_DIR,
    },
    database: {
      value: "url",
      about:
        "use this empty database as its administrator, instead of the embedded one; set the password in PGPASSWORD",
    },
    preview: {
      value: "names",
      about: `preview features to turn on, such as filters, besides those that the schema needs; default: previews in ${PROJECT_FILE}`,
    },
    reset: {
      about: "first deletes the embedded database, its migrations and types; asks for confirmation",
    },
    yes: { about: "with --reset: do not ask for confirmation" },
  },
  run: runDev,
};

const ORPHANED =
  "Stopping, because the process that started rowhouse dev has ended: to keep dev running, start it with setsid";

async function runDev(typed: Setting): Promise<ExitCode> {
  const { args, folder, terminal } = typed;
  const launchers = findLaunchers(typed.env);
  // From here on nothing reads settings of a service.
  const setting = { ...typed, env: toDevEnvironment(typed) };
  const named = readNamedDatabase(args, typed.env);
  const settings = readSettings(setting.env);
  const typedDataDir = args.text("data-dir");
  const dataDir = resolve(folder, typedDataDir ?? DATA_DIR);
  const locks = acquireLocks(folder, named === undefined ? dataDir : undefined);
  try {
    const isReset = await confirmReset(setting);
    const signals = STOP_SIGNALS.filter((name) => name !== "SIGHUP" || !launchers.ignoresHangup);
    const stopped = Promise.race([
      untilSignal(signals, terminal.flush),
      launchers.untilRemoved().then(() => terminal.warn(ORPHANED)),
    ]);
    for (const notice of [describeIgnored(typed.env), describeVisiblePassword(args)])
      if (notice !== undefined) terminal.warn(notice);
    const secrets = openSecrets(folder);
    const projects = await openProjects(setting);
    // Those of rowhouse.json too: production needs them, and the file is only for dev.
    const typedPreviews = new Set<string>(args.text("preview")?.split(","));
    const needed = projects.flatMap(({ name, needs }) =>
      needs
        .filter(({ preview }) => !typedPreviews.has(preview))
        .map((need) => ({ ...need, app: name.app })),
    );
    for (const need of needed) terminal.print(describeNeed(need, need.app));
    const config = {
      ...settings,
      IDENTITY_SECRET: [secrets.identitySecret],
      PREVIEW: [...new Set([...settings.PREVIEW, ...needed.map(({ preview }) => preview)])],
    };
    const stored = { dataDir, typedDataDir, isReset, secrets };
    const options = { ...stored, config, named, report: terminal.warn };
    const database = await openDevDatabase(options);
    try {
      if (isReset) for (const project of projects) removeDevFiles(project.setting.folder);
      await serveDev(setting, { projects, config, database, stopped });
    } catch (error) {
      throw explainFailure(error, database.admin);
    } finally {
      await database.stop();
    }
    return EXIT.done;
  } finally {
    for (const lock of locks) lock.release();
  }
}

type Running = {
  projects: DevProjects;
  config: Config;
  database: DevDatabase;
  stopped: Promise<void>;
};

/** Serves until a signal to stop. */
async function serveDev(setting: Setting, running: Running): Promise<void> {
  const { folder, terminal } = setting;
  const { projects, database, stopped } = running;
  const { app } = projects[0].name;
  const port = running.config.PORT === 0 ? findFreePort() : running.config.PORT;
  const config = withHosts({ ...running.config, CONSOLE_DATABASE_URL: database.consoleUrl }, port);
  const { log, release } = openDevLog(config, { env: setting.env, write: terminal.warn });
  const service = openFrom(config, {
    databaseUrl: database.serving.url,
    adminDatabaseUrl: database.pushing.url,
    log,
  });
  await service.warm();
  const example = makeExample(folder, app);
  const opened = projects.map((project) => {
    const { name, path } = project;
    const origin = toOrigin(name.app, port);
    const options = { config, admin: database.admin, app: name.app, origin, passesOn: path !== "" };
    return { project, people: makeTestPeople(options), explained: makeExplained(name.app) };
  });
  const named = opened.reduce((inner, { explained }) => explained.serveWith(inner), service);
  const shown = example?.serveWith(named, toHost(app, port)) ?? named;
  const watches: (ReturnType<typeof watchSchema> & { isHeld: () => boolean })[] = [];
  const repeatHeld = () => {
    for (const { isHeld, repeat } of watches) if (isHeld()) repeat();
  };
  const withPeople = opened.reduce((inner, { people }) => people.serveWith(inner), shown);
  const serving = listen(markDev(withPushes(withPeople, repeatHeld)), {
    ...{ host: config.HOST, port, portSetting: "--port", log },
  });
  try {
    const files = await openDemos({
      ...{ folder, config, database, port, projects },
      origins: setting.args.texts("origin"),
      toToken: (of) => opened.find(({ project }) => project.name.app === of)?.people.token ?? "",
    });
    // Load the apps' origins before their address is printed: the first page may be opened immediately.
    await service.warm();
    const localUrl = toLocalUrl(config.HOST, port);
    const served = opened.flatMap((parts) => {
      const file = files.get(parts.project.name.app);
      return file === undefined ? [] : [openPushes({ ...parts, config, database, localUrl, file })];
    });
    // Before the first push reads the files: an edit that follows must be noticed.
    for (const { schema, push, isHeld } of served)
      watches.push({ ...watchSchema(schema, push), isHeld });
    for (const { push } of served) await push();
    const file = files.get(app);
    const opening = { origin: toOrigin(app, port), localUrl, env: setting.env };
    const link = file && (await example?.open({ ...file, ...opening }));
    if (link !== undefined) terminal.print(link);
    for (const watch of watches) watch.start();
    const records = watchRecords(served, repeatHeld, (error) => terminal.warn(explain(error)));
    terminal.print("Watching the schema; Ctrl-C stops everything");
    release();
    try {
      await Promise.race([stopped, rejectDeath(database)]);
    } finally {
      for (const watch of watches) watch.stop();
      clearInterval(records);
    }
  } finally {
    release();
    for (const { project, people } of opened) {
      removeDevFile(project.setting.folder);
      await people.removeAll();
    }
    await serving.stop();
  }
}

type Opened = {
  project: DevProject;
  explained: Explained;
  config: Config;
  database: DevDatabase;
  localUrl: string;
  file: DevFile;
};

/** The pushes of a project: the first, and those after edits. */
function openPushes({ project, explained, config, database, localUrl, file }: Opened) {
  const { setting, name, path } = project;
  const { folder, terminal } = setting;
  const target = { url: localUrl, key: file.apiKey, isDev: true };
  const schema = findSchemaFile(setting);
  const show = (pushed: ProjectPush | undefined) => {
    const tour = {
      definition: pushed?.definition,
      hasFailed: pushed === undefined && existsSync(schema),
      schema: `./${relative(folder, schema)}`,
      frontEnd: toFrontEnd(name.app),
      localUrl,
    };
    const lines = path === "" ? describeTour(file, tour) : describeOther(file, tour.frontEnd);
    for (const line of lines) terminal.print(line);
  };
  let pushedLast: Definition | undefined;
  let isStart = true;
  let hasPushed = false;
  let isHeld = false;
  let heldAt: string | undefined;
  return {
    schema,
    isHeld: () => isHeld,
    /** Whether another program has changed what stopped the last push, past the service: a command with --app. */
    isDue: async () => isHeld && heldAt !== (await readRecord(database, config, name.app)),
    push: async () => {
      // Its own push must not repeat it.
      isHeld = false;
      const pushed = await pushOnce(setting, { config, target, pushedLast });
      if (pushed === undefined) heldAt = await readRecord(database, config, name.app);
      isHeld = pushed === undefined;
      pushedLast = pushed?.definition ?? pushedLast;
      explained.setDefinition(pushedLast);
      if (isStart || (!hasPushed && pushed !== undefined)) show(pushed);
      isStart = false;
      hasPushed ||= pushed !== undefined;
    },
  };
}

const RECORD_INTERVAL_MS = 2000;

/** Checks one after the other. The first of several failures in a row is reported. */
function watchRecords(
  served: readonly { readonly isDue: () => Promise<boolean> }[],
  onDue: () => void,
  onFailure: (error: unknown) => void,
): ReturnType<typeof setInterval> {
  let isBusy = false;
  let hasFailed = false;
  const check = async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      for (const { isDue } of served) if (await isDue()) onDue();
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

/** @throws {RejectedError} the embedded database has exited, so dev cannot serve */
async function rejectDeath({ died }: DevDatabase): Promise<never> {
  await died;
  throw new RejectedError("The embedded PostgreSQL has stopped: start rowhouse dev again");
}
