/** `rowhouse dev`: everything on one machine with one command: database, demo app, service, pushes on change. @module */
import { join, resolve } from "node:path";
import type { Config, Environment } from "../config.ts";
import type { House } from "../house.ts";
import { DEV_COOKIE_DOMAIN } from "./admin_task.ts";
import {
  type Arguments,
  type Command,
  EXIT,
  type ExitCode,
  RefusedError,
  type Setting,
} from "./command.ts";
import { explainTrouble } from "./database.ts";
import { describePush } from "./db.ts";
import { findSchemaFile } from "./db_evaluate.ts";
import { type Pushed, pushProject } from "./db_push.ts";
import { writeIgnore } from "./db_types.ts";
import { DEMO_APP, openDemoApp } from "./dev_app.ts";
import { type DevDatabase, openDevDatabase } from "./dev_database.ts";
import {
  type DevFile,
  HIDDEN_FOLDER,
  readDevFile,
  removeDevFile,
  writeDevFile,
} from "./dev_file.ts";
import { type Lock, takeLock } from "./dev_lock.ts";
import { keepSecrets, openSecrets } from "./dev_secrets.ts";
import { describeTour } from "./dev_tour.ts";
import { watchSchema } from "./dev_watch.ts";
import { explain } from "./explain.ts";
import { listen, toLocalUrl, untilStopSignal } from "./listen.ts";
import { openFrom, openLog } from "./open.ts";
import { readSettings, readWhole } from "./settings.ts";
import { toPrintable } from "./terminal.ts";

export const devCommand: Command = {
  name: "dev",
  summary: "runs everything on this machine: database, demo app, service; pushes schema/ on change",
  example: "rowhouse dev\nrowhouse dev --port 9000",
  about: `Keeps an embedded PostgreSQL and its secrets under .rowhouse/ (with DATABASE_URL set, that database is
used instead), makes the app "${DEMO_APP}" with a key that has every scope, and prints commands to paste.
Listens on 127.0.0.1 unless HOST is set. .rowhouse/dev.json tells other commands where it runs.
Ctrl-C stops everything; what is stored is there at the next start.`,
  positionals: [],
  flags: {
    port: { value: "port", about: "default PORT, else 8787; 0 takes any free one" },
    schema: { value: "path", about: "the schema's file, or a folder with mod.ts; default schema/" },
    "data-dir": { value: "folder", about: "the embedded database; default .rowhouse/postgres" },
  },
  run: runDev,
};

async function runDev(setting: Setting): Promise<ExitCode> {
  const { args, env, folder } = setting;
  const config = readSettings(toDevEnvironment(env, args));
  const dataDir = resolve(folder, args.text("data-dir") ?? join(HIDDEN_FOLDER, "postgres"));
  const locks = takeLocks(folder, config.DATABASE_URL === undefined ? dataDir : undefined);
  const stopped = untilStopSignal();
  writeIgnore(folder);
  try {
    const { loginPassword } = openSecrets(folder);
    const database = await openDevDatabase({ config, dataDir, loginPassword });
    try {
      await serveDev(setting, { config, database, stopped });
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

/** What is unset gets the value that suits one's own machine. */
function toDevEnvironment(env: Environment, args: Arguments): Environment {
  const port = args.text("port");
  if (port !== undefined) readWhole("--port", port, [0, 65_535]);
  return {
    ...env,
    HOST: env["HOST"] || "127.0.0.1",
    PORT: port ?? env["PORT"],
    COOKIE_DOMAIN: env["COOKIE_DOMAIN"] || DEV_COOKIE_DOMAIN,
    LOG_LEVEL: env["LOG_LEVEL"] || "warn",
  };
}

/** Of the project, and of the database's folder, which may be shared by two projects. */
function takeLocks(folder: string, dataDir: string | undefined): Lock[] {
  const project = takeLock(join(folder, HIDDEN_FOLDER, "dev.lock"));
  if (project === undefined) {
    const url = readDevFile(folder)?.baseUrl;
    const where = url === undefined ? "it is starting" : `it runs at ${url}`;
    throw new RefusedError(`Another rowhouse dev has this folder: ${where}`);
  }
  if (dataDir === undefined) return [project];
  const data = takeLock(`${dataDir}.lock`);
  if (data !== undefined) return [project, data];
  project.release();
  throw new RefusedError(
    `Another rowhouse dev has the database in ${dataDir}: use another --data-dir`,
  );
}

type Running = { config: Config; database: DevDatabase; stopped: Promise<void> };

/** Serves until it is told to stop. */
async function serveDev(setting: Setting, { config, database, stopped }: Running): Promise<void> {
  const { folder, terminal } = setting;
  const house = openFrom(config, {
    databaseUrl: database.serving.url,
    adminDatabaseUrl: database.admin.url,
    log: openLog(config, terminal.warn),
  });
  await house.warm();
  const serving = listen(house, { host: config.HOST, port: config.PORT });
  try {
    const file = await openDemo(house, { folder, config, database, port: serving.port });
    const target = { url: toLocalUrl(config.HOST, serving.port), key: file.apiKey, isDev: true };
    const push = () => pushOnce(setting, { config, target });
    const pushed = await push();
    for (const line of describeTour(file, pushed?.definition)) terminal.say(line);
    terminal.say("Pushes the schema on change; Ctrl-C stops everything");
    const schema = findSchemaFile(folder, setting.args.text("schema"));
    const watch = watchSchema(schema, async () => void (await push()));
    await stopped;
    watch.stop();
  } finally {
    removeDevFile(folder);
    await serving.stop();
  }
}

type Demo = { folder: string; config: Config; database: DevDatabase; port: number };

/** The demo app, told to other commands by `.rowhouse/dev.json`. */
async function openDemo(house: House, { folder, config, database, port }: Demo): Promise<DevFile> {
  const domain = config.COOKIE_DOMAIN ?? DEV_COOKIE_DOMAIN;
  const secrets = openSecrets(folder);
  const apiKey = await openDemoApp(house.admin, {
    config,
    origin: `${domain.endsWith("localhost") ? "http" : "https"}://${DEMO_APP}.${domain}:${port}`,
    keptKey: secrets.apiKey,
  });
  if (apiKey !== secrets.apiKey) keepSecrets(folder, { ...secrets, apiKey });
  const file = {
    baseUrl: `http://localhost:${port}`,
    gatewayUrl: `http://api.${domain}:${port}`,
    identityUrl: `http://id.${domain}:${port}`,
    app: DEMO_APP,
    apiKey,
    databaseUrl: database.admin.url,
  };
  writeDevFile(folder, file);
  return file;
}

type Destination = { config: Config; target: { url: string; key: string; isDev: boolean } };

/** A push whose faults are shown and change nothing: what was served goes on being served. */
async function pushOnce(
  { args, env, folder, terminal }: Setting,
  { config, target }: Destination,
): Promise<Pushed | undefined> {
  const project = { folder, schema: args.text("schema"), env, terminal };
  const task = { place: { kind: "service", target }, config, dryRun: false, waitS: 10 } as const;
  try {
    const pushed = await pushProject(project, task);
    for (const line of describePush(pushed)) terminal.say(toPrintable(line));
    return pushed;
  } catch (error) {
    terminal.warn(toPrintable(explain(error)));
    return undefined;
  }
}
