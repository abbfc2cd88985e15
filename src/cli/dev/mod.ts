/** `rowhouse dev`: runs database, app and service on one machine, and pushes the schema when it changes. @module */
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Definition } from "../../schema/mod.ts";
import { type Config, SETTINGS } from "../../settings/mod.ts";
import { acquireLock, type Lock } from "../../std/lock.ts";
import { type Command, EXIT, type ExitCode, RejectedError, type Setting } from "../command.ts";
import { explainFailure } from "../database.ts";
import { findSchemaFile } from "../db/evaluate.ts";
import type { ProjectPush } from "../db/push.ts";
import { writeIgnore } from "../db/types.ts";
import { openFrom } from "../open_service.ts";
import { PROJECT_FILE } from "../project_file.ts";
import { findFreePort, listen, toLocalUrl } from "../serve/listen.ts";
import { STOP_SIGNALS, untilSignal } from "../serve/workers.ts";
import { readSettings } from "../settings.ts";
import { openDemo } from "./app.ts";
import { DATA_DIR, type DevDatabase, openDevDatabase } from "./database.ts";
import {
  describeIgnored,
  describeVisiblePassword,
  openSecrets,
  readNamedDatabase,
  toDevEnvironment,
} from "./environment.ts";
import { makeExample } from "./example.ts";
import { makeExplained } from "./explain_forbidden.ts";
import { DEV_FILE, HIDDEN_FOLDER, readDevFile, removeDevFile } from "./file.ts";
import {
  type AppName,
  findAppName,
  findLaunchers,
  toFrontEnd,
  toHost,
  toOrigin,
  withHosts,
} from "./launchers.ts";
import { markDev } from "./mark.ts";
import { describeNeed, findNeeds } from "./needs.ts";
import { pushOnce } from "./push.ts";
import { confirmReset, removeDevFiles } from "./reset.ts";
import { makeTestPeople } from "./test_people.ts";
import { describeTour, openDevLog } from "./tour.ts";
import { watchSchema } from "./watch.ts";

export const devCommand: Command = {
  name: "dev",
  example: "rowhouse dev\nrowhouse dev --port 9000",
  about: `Stores an embedded PostgreSQL and its secrets in .rowhouse/, creates the project's app with a key that has every
scope, and prints commands to paste. Ignores settings of a service, such as DATABASE_URL. To use another database, add
--database: it must be empty, or created by an earlier dev. Listens on 127.0.0.1 unless HOST is set. Other commands read its
address from ${DEV_FILE}. Ctrl-C stops everything; dev also stops when the process that started it ends, such as npx. The
next start uses the stored data, and upgrades a database of an earlier release. --reset starts over with an empty database.`,
  positionals: [],
  flags: {
    port: {
      value: "port",
      about: `default: PORT, else port in ${PROJECT_FILE}, else ${SETTINGS.PORT.initial}; 0 selects a free port`,
    },
    schema: {
      value: "path",
      about: "the schema file, or a folder with mod.ts",
      default: "schema/",
    },
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
    writeIgnore(folder);
    const name = findAppName(setting);
    const secrets = openSecrets(folder);
    const { needs, roles } = await findNeeds(setting);
    const added = needs.filter(({ preview }) => !settings.PREVIEW.includes(preview));
    for (const need of added) terminal.print(describeNeed(need, name.app));
    const config = {
      ...settings,
      IDENTITY_SECRET: [secrets.identitySecret],
      PREVIEW: [...settings.PREVIEW, ...added.map(({ preview }) => preview)],
    };
    const stored = { dataDir, typedDataDir, isReset, secrets };
    const options = { ...stored, config, named, report: terminal.warn };
    const database = await openDevDatabase(options);
    try {
      if (isReset) removeDevFiles(folder);
      await serveDev(setting, { name, roles, config, database, stopped });
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

/** Locks the project and the folder of the database, which two projects can share. */
function acquireLocks(folder: string, dataDir: string | undefined): Lock[] {
  const project = acquireLock(join(folder, HIDDEN_FOLDER, "dev.lock"));
  if (project === undefined) {
    const url = readDevFile(folder)?.baseUrl;
    const where = url === undefined ? "it is starting" : `it runs at ${url}`;
    throw new RejectedError(`Another rowhouse dev is using this folder: ${where}`);
  }
  if (dataDir === undefined) return [project];
  try {
    const data = acquireLock(`${dataDir}.lock`);
    if (data !== undefined) return [project, data];
    throw new RejectedError(
      `Another rowhouse dev is using the database in ${dataDir}: choose another --data-dir`,
    );
  } catch (error) {
    project.release();
    throw error;
  }
}

type Running = {
  name: AppName;
  /** Those of the schema's rules. */
  roles: readonly string[];
  config: Config;
  database: DevDatabase;
  stopped: Promise<void>;
};

/** Serves until a signal to stop. */
async function serveDev(setting: Setting, running: Running): Promise<void> {
  const { folder, terminal } = setting;
  const { name, database, stopped } = running;
  const { app } = name;
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
  const people = makeTestPeople({
    config,
    admin: database.admin,
    app,
    origin: toOrigin(app, port),
  });
  const explained = makeExplained(app);
  const named = explained.serveWith(service);
  const shown = example?.serveWith(named, toHost(app, port)) ?? named;
  const serving = listen(markDev(people.serveWith(shown)), {
    host: config.HOST,
    port,
    portSetting: "--port",
    log,
  });
  try {
    const file = await openDemo({
      folder,
      config,
      database,
      port,
      name,
      report: terminal.print,
      roles: running.roles,
      origins: setting.args.texts("origin"),
      testToken: people.token,
    });
    // Load the app's origins before its address is printed: the first page may be opened immediately.
    await service.warm();
    const target = { url: toLocalUrl(config.HOST, port), key: file.apiKey, isDev: true };
    let pushedLast: Definition | undefined;
    const schema = findSchemaFile(setting);
    const showTour = (pushed: ProjectPush | undefined) => {
      const tour = {
        definition: pushed?.definition,
        hasFailed: pushed === undefined && existsSync(schema),
        schema: `./${relative(folder, schema)}`,
        frontEnd: toFrontEnd(app),
        localUrl: target.url,
      };
      for (const line of describeTour(file, tour)) terminal.print(line);
    };
    let hasPushed = false;
    const pushAndShow = async (isStart: boolean) => {
      const pushed = await pushOnce(setting, { config, target, pushedLast });
      pushedLast = pushed?.definition ?? pushedLast;
      explained.setDefinition(pushedLast);
      if (isStart || (!hasPushed && pushed !== undefined)) showTour(pushed);
      hasPushed ||= pushed !== undefined;
    };
    await pushAndShow(true);
    const origin = toOrigin(app, port);
    const opened = await example?.open({ ...file, origin, localUrl: target.url, env: setting.env });
    if (opened !== undefined) terminal.print(opened);
    // Watch before the message: an edit right after it must be noticed.
    const watch = watchSchema(schema, () => pushAndShow(false));
    terminal.print("Watching the schema; Ctrl-C stops everything");
    release();
    try {
      await Promise.race([stopped, rejectDeath(database)]);
    } finally {
      watch.stop();
    }
  } finally {
    release();
    removeDevFile(folder);
    await people.removeAll();
    await serving.stop();
  }
}

/** @throws {RejectedError} the embedded database has exited, so dev cannot serve */
async function rejectDeath({ died }: DevDatabase): Promise<never> {
  await died;
  throw new RejectedError("The embedded PostgreSQL has stopped: start rowhouse dev again");
}
