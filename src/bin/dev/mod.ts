/** `rowhouse dev`: everything on one machine with one command: database, app, service, and a push for each change. @module */
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Config } from "../../config/mod.ts";
import { type Command, EXIT, type ExitCode, RefusedError, type Setting } from "../cli/command.ts";
import { explainTrouble } from "../cli/database.ts";
import { explain } from "../cli/explain.ts";
import { openFrom } from "../cli/open.ts";
import { readSettings } from "../cli/settings.ts";
import { toPrintable } from "../cli/terminal.ts";
import { describePush } from "../db/describe.ts";
import { findSchemaFile } from "../db/evaluate.ts";
import { type Pushed, pushProject } from "../db/push.ts";
import { readShare } from "../db/sharing.ts";
import { writeIgnore } from "../db/types.ts";
import { findFreePort, listen, toLocalUrl } from "../serve/listen.ts";
import { STOP_SIGNALS, untilSignal } from "../serve/signals.ts";
import { openDemo } from "./app.ts";
import { DATA_DIR, type DevDatabase, openDevDatabase } from "./database.ts";
import {
  describeIgnored,
  describeShownPassword,
  readNamedDatabase,
  toDevEnvironment,
} from "./environment.ts";
import { makeExample, withExample } from "./example.ts";
import { DEV_FILE, HIDDEN_FOLDER, readDevFile, removeDevFile } from "./file.ts";
import { findAppName, toFrontEnd, toHost, toOrigin, withHosts } from "./hosts.ts";
import { findLaunchers } from "./launchers.ts";
import { type Lock, takeLock } from "./lock.ts";
import { openDevLog } from "./log.ts";
import { confirmReset, removeDevFiles } from "./reset.ts";
import { openSecrets } from "./secrets.ts";
import { describeTour } from "./tour.ts";
import { watchSchema } from "./watch.ts";

export const devCommand: Command = {
  name: "dev",
  example: "rowhouse dev\nrowhouse dev --port 9000",
  about: `Keeps an embedded PostgreSQL and its secrets under .rowhouse/, makes an app named after the folder with a key that has every scope, and prints commands to paste.
Settings of a service, such as DATABASE_URL, are ignored: dev uses only what it created. --database names
another database, which must be empty or have been created by dev before.
Listens on 127.0.0.1 unless HOST is set. ${DEV_FILE} tells other commands where it runs.
Ctrl-C stops everything, and so does the end of the process that started it, such as npx; stored data is kept for the next start. --reset starts over with an empty
database: one that was set up by another release may not be usable.`,
  positionals: [],
  flags: {
    port: { value: "port", about: "default PORT, else 8787; 0 takes any free one" },
    schema: { value: "path", about: "the schema's file, or a folder with mod.ts; default schema/" },
    app: { value: "slug", about: "the app's name; default the folder's" },
    origin: {
      value: "origin",
      many: true,
      about: "another origin of the app's pages, such as http://wiki.rowhouse.localhost:3000",
    },
    "data-dir": { value: "folder", about: "the embedded database; default .rowhouse/postgres" },
    database: {
      value: "url",
      about:
        "instead of the embedded database: an administrator's address of an empty database, without its password, which PGPASSWORD sets",
    },
    preview: {
      value: "names",
      about: "features to turn on that are off by default, such as filters",
    },
    reset: { about: "first deletes the embedded database, its journal and types; asks before" },
    yes: { about: "with --reset: do not ask" },
  },
  run: runDev,
};

const ORPHANED =
  "The process that started rowhouse dev has ended, so rowhouse dev ends too: to keep it running, start it with setsid";

async function runDev(typed: Setting): Promise<ExitCode> {
  const { args, folder, terminal } = typed;
  const launchers = findLaunchers(typed.env);
  // From here on nothing reads what belongs to a service.
  const setting = { ...typed, env: toDevEnvironment(typed.env, args) };
  const named = readNamedDatabase(args, typed.env);
  const settings = readSettings(setting.env);
  const typedDataDir = args.text("data-dir");
  const dataDir = resolve(folder, typedDataDir ?? DATA_DIR);
  const locks = takeLocks(folder, named === undefined ? dataDir : undefined);
  try {
    const isReset = await confirmReset(setting);
    const signals = STOP_SIGNALS.filter((name) => name !== "SIGHUP" || !launchers.ignoresHangup);
    const stopped = Promise.race([
      untilSignal(signals, terminal.flush),
      launchers.untilGone().then(() => terminal.warn(ORPHANED)),
    ]);
    for (const note of [describeIgnored(typed.env), describeShownPassword(args)])
      if (note !== undefined) terminal.warn(note);
    writeIgnore(folder);
    const app = findAppName(setting);
    const secrets = openSecrets(folder);
    const config = { ...settings, IDENTITY_SECRET: [secrets.identitySecret] };
    const options = { config, named, dataDir, typedDataDir, isReset, secrets };
    const database = await openDevDatabase(options);
    try {
      if (isReset) removeDevFiles(folder);
      await serveDev(setting, { app, config, database, stopped });
    } catch (error) {
      throw explainTrouble(error, database.admin);
    } finally {
      await database.stop();
    }
    return EXIT.done;
  } finally {
    for (const lock of locks) lock.release();
  }
}

/** Locks of the project, and of the database's folder, which two projects may share. */
function takeLocks(folder: string, dataDir: string | undefined): Lock[] {
  const project = takeLock(join(folder, HIDDEN_FOLDER, "dev.lock"));
  if (project === undefined) {
    const url = readDevFile(folder)?.baseUrl;
    const where = url === undefined ? "it is starting" : `it runs at ${url}`;
    throw new RefusedError(`Another rowhouse dev is using this folder: ${where}`);
  }
  if (dataDir === undefined) return [project];
  try {
    const data = takeLock(`${dataDir}.lock`);
    if (data !== undefined) return [project, data];
    throw new RefusedError(
      `Another rowhouse dev is using the database in ${dataDir}: choose another --data-dir`,
    );
  } catch (error) {
    project.release();
    throw error;
  }
}

type Running = { app: string; config: Config; database: DevDatabase; stopped: Promise<void> };

/** Serves until it is told to stop. */
async function serveDev(setting: Setting, running: Running): Promise<void> {
  const { folder, terminal } = setting;
  const { app, database, stopped } = running;
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
  const serving = listen(withExample(service, toHost(app, port), example.find), {
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
      app,
      origins: setting.args.texts("origin"),
    });
    // Pages that are opened at once may already read answers: the app's origins are known before its address is told.
    await service.warm();
    const target = { url: toLocalUrl(config.HOST, port), key: file.apiKey, isDev: true };
    const push = () => pushOnce(setting, { config, target });
    const schema = findSchemaFile(folder, setting.args.text("schema"));
    const showTour = (pushed: Pushed | undefined) => {
      const tour = {
        definition: pushed?.definition,
        hasFailed: pushed === undefined && existsSync(schema),
        schema: `./${relative(folder, schema)}`,
        frontEnd: toFrontEnd(app),
      };
      for (const line of describeTour(file, tour)) terminal.say(line);
    };
    let hasPushed = false;
    const pushAndShow = async (isStart: boolean) => {
      const pushed = await push();
      if (isStart || (!hasPushed && pushed !== undefined)) showTour(pushed);
      hasPushed ||= pushed !== undefined;
    };
    await pushAndShow(true);
    const origin = toOrigin(app, port);
    const shown = await example.open({ ...file, origin, localUrl: target.url, env: setting.env });
    if (shown !== undefined) terminal.say(shown);
    // Before it is said: an edit of that very moment is a change already.
    const watch = watchSchema(schema, () => pushAndShow(false));
    terminal.say("Pushes the schema when it changes; Ctrl-C stops everything");
    release();
    try {
      await Promise.race([stopped, refuseDeath(database)]);
    } finally {
      watch.stop();
    }
  } finally {
    release();
    removeDevFile(folder);
    await serving.stop();
  }
}

/** @throws {RefusedError} the embedded database has died, so nothing can be served any more */
async function refuseDeath({ died }: DevDatabase): Promise<never> {
  await died;
  throw new RefusedError("The embedded PostgreSQL has stopped: start rowhouse dev again");
}

type Destination = { config: Config; target: { url: string; key: string; isDev: boolean } };

/** A push whose faults are only shown: what was served is still served. */
async function pushOnce(
  { args, env, folder, terminal }: Setting,
  { config, target }: Destination,
): Promise<Pushed | undefined> {
  const project = { folder, schema: args.text("schema"), env, terminal };
  try {
    const pushed = await pushProject(project, {
      destination: { kind: "service", target },
      config,
      dryRun: false,
      waitS: 10,
      share: readShare({ args, folder }),
    });
    for (const line of describePush(pushed)) terminal.say(toPrintable(line));
    return pushed;
  } catch (error) {
    terminal.warn(toPrintable(explain(error)));
    return undefined;
  }
}
