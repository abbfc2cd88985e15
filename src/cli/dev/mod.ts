/** `rowhouse dev`: runs database, app and service on one machine, and pushes the schema when it changes. @module */
import { resolve } from "node:path";
import { findFreePort } from "../../http/mod.ts";
import type { Definition } from "../../schema/mod.ts";
import { listen } from "../../service/mod.ts";
import { type Config, SETTINGS } from "../../settings/mod.ts";
import { toLocalUrl } from "../../std/network.ts";
import {
  type Command,
  EXIT,
  type ExitCode,
  RejectedError,
  SCHEMA_FLAG,
  type Setting,
} from "../command.ts";
import { explainFailure } from "../database.ts";
import { replaceFormerJournal } from "../db/dev_changes.ts";
import { DROPPED_FOLDER } from "../db/dropped_rows.ts";
import { DEV_FILE, removeDevFile } from "../dev_file.ts";
import { explain } from "../failures.ts";
import { openFrom } from "../open_service.ts";
import { PROJECT_FILE } from "../project_file.ts";
import { readSettings } from "../settings.ts";
import { STOP_SIGNALS, untilSignal } from "../signals.ts";
import { openDemos } from "./app.ts";
import { toHost, toOrigin, withHosts } from "./app_name.ts";
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
import { makeExplainer } from "./explain_forbidden.ts";
import { findLaunchers } from "./launchers.ts";
import { openDevLog } from "./log.ts";
import {
  acquireLocks,
  type DevProjects,
  describeNeed,
  findNeeds,
  openProjects,
} from "./projects.ts";
import { openPushes, watchRecords } from "./push.ts";
import { makeSchemaFiles } from "./schema_file.ts";
import { openSecrets } from "./secrets.ts";
import { makeDevService } from "./service.ts";
import { makeTestPeople } from "./test_people.ts";

export const devCommand: Command = {
  name: "dev",
  example: "rowhouse dev\nrowhouse dev --port 9000",
  about: `Stores an embedded PostgreSQL and its secrets in .rowhouse/, creates the project's app with a key that has every
scope, and prints commands to paste. Ignores settings of a service, such as DATABASE_URL. To use another database, add
--database: it must be empty, or created by an earlier dev. Listens on 127.0.0.1 unless HOST is set. Other commands read its
address from ${DEV_FILE}. The tables follow the schema: before it drops rows, it asks, and writes them to ${DROPPED_FOLDER}. With "apps": ["../crm"] in ${PROJECT_FILE} it also serves the apps of these projects. Ctrl-C stops everything; dev also stops when the process that started it ends, such as npx. The
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
      about: "first deletes the embedded database and its types; asks for confirmation",
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
    const stored = { dataDir, typedDataDir, isReset, secrets };
    // At the same time as the schemas are evaluated.
    const opening = openDevDatabase({ ...stored, config: settings, named, report: terminal.warn });
    opening.catch(() => undefined);
    try {
      const projects = await openProjects(setting);
      // Those of rowhouse.json too: production needs them, and the file is only for dev.
      const typedPreviews = new Set<string>(args.text("preview")?.split(","));
      const needed = projects.flatMap((project) =>
        findNeeds(project)
          .filter(({ preview }) => !typedPreviews.has(preview))
          .map((need) => ({ ...need, app: project.name.app })),
      );
      for (const need of needed) terminal.print(describeNeed(need, need.app));
      const config = {
        ...settings,
        IDENTITY_SECRET: [secrets.identitySecret],
        PREVIEW: [...new Set([...settings.PREVIEW, ...needed.map(({ preview }) => preview)])],
      };
      const database = await opening;
      for (const { setting: own } of projects) {
        await replaceFormerJournal(own);
        if (isReset) removeDevFiles(own.folder);
      }
      await serveDev(setting, { projects, config, database, stopped }).catch((error) => {
        throw explainFailure(error, database.admin);
      });
    } finally {
      await opening.then(
        ({ stop }) => stop(),
        () => undefined,
      );
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
  const { admin } = database;
  const { app } = projects[0].name;
  const port = running.config.PORT === 0 ? findFreePort() : running.config.PORT;
  const config = withHosts({ ...running.config, CONSOLE_DATABASE_URL: database.consoleUrl }, port);
  const { log, release } = openDevLog(config, { env: setting.env, write: terminal.warn });
  const service = openFrom(config, {
    databaseUrl: database.serving.url,
    adminDatabaseUrl: database.pushing.url,
    log,
    findSchemaFile: makeSchemaFiles(projects),
  });
  await service.warm();
  const schemas = new Map<string, Definition>();
  const apps = projects.map(({ name }) => {
    const origin = toOrigin(name.app, port);
    return {
      people: makeTestPeople({ config, admin, app: name.app, origin }),
      explainer: makeExplainer(name.app, () => schemas.get(name.app)),
    };
  });
  const example = makeExample(folder, app);
  const devService = makeDevService(service, {
    apps,
    example: example && { host: toHost(app, port), app: example },
  });
  const serving = listen(devService, {
    ...{ host: config.HOST, port, portSetting: "--port", log },
  });
  try {
    const files = await openDemos({
      ...{ folder, config, database, port, projects },
      origins: setting.args.texts("origin"),
      tokens: apps.map(({ people }) => people.token),
    });
    // Load the apps' origins before their address is printed: the first page may be opened immediately.
    await service.warm();
    const localUrl = toLocalUrl(config.HOST, port);
    const served = projects.flatMap((project) => {
      const file = files.get(project.name.app);
      if (file === undefined) return [];
      const onPushed = (definition: Definition) => schemas.set(project.name.app, definition);
      return [openPushes({ project, onPushed, config, admin, localUrl, file })];
    });
    for (const { push } of served) await push();
    const file = files.get(app);
    const opening = { origin: toOrigin(app, port), localUrl, env: setting.env };
    const link = file && (await example?.open({ ...file, ...opening }));
    if (link !== undefined) terminal.print(link);
    terminal.print("Watching the schema; Ctrl-C stops everything");
    release();
    for (const { start } of served) start();
    const records = watchRecords(served, (error) => terminal.warn(explain(error)));
    try {
      await Promise.race([stopped, rejectDeath(database)]);
    } finally {
      for (const { stop } of served) stop();
      clearInterval(records);
    }
  } finally {
    release();
    for (const { setting: own } of projects) removeDevFile(own.folder);
    for (const { people } of apps) await people.removeAll();
    await serving.stop();
  }
}

/** @throws {RejectedError} the embedded database has exited, so dev cannot serve */
async function rejectDeath({ died }: DevDatabase): Promise<never> {
  await died;
  throw new RejectedError("The embedded PostgreSQL has stopped: start rowhouse dev again");
}
