/** `rowhouse doctor`: checks an installation and prints a remedy for each error. @module */
import { type Environment, isGiven, readConfig } from "../config/mod.ts";
import { type Database, isDriverPatched, openDatabase } from "../db/mod.ts";
import { servesRows } from "../role.ts";
import {
  ADMIN_CONNECTIONS,
  type CheckResult,
  checkAdmin,
  checkConsole,
  checkMailServer,
  checkProviders,
  checkService,
  evaluateDriver,
  evaluateProxies,
  evaluateSecrets,
  evaluateSettings,
  toFailedCheck,
} from "../service/mod.ts";
import { DEV_COOKIE_DOMAIN } from "./admin/task.ts";
import { type Command, type CommandResult, EXIT, JSON_FLAG, type Setting } from "./cli/command.ts";
import type { SoundSettings } from "./cli/conflicts.ts";
import { readSharedSecrets } from "./cli/open.ts";
import { findServeIssues, hasPeople } from "./cli/settings.ts";
import { toPrintableLine } from "./cli/terminal.ts";
import { DEV_FILE, findDevDatabase } from "./dev/file.ts";

const CONNECTIONS = 4;
const MARKS = { ok: "ok  ", warn: "warn", fail: "FAIL" } as const;

export const doctorCommand: Command = {
  name: "doctor",
  example: "rowhouse doctor\nrowhouse doctor --json",
  about: `Changes nothing. Exits with 1 if a check fails; warnings do not count. Lists invalid settings, and uses the
valid ones for all other checks. Reads the configuration of each provider (OIDC_<NAME>_ISSUER) and signs in to the server of
MAIL_URL, without sending mail; an unavailable mail server is a warning. With CONSOLE_DATABASE_URL it also checks the login
of the Console. Without DATABASE_URL and ADMIN_DATABASE_URL it checks the database of a running rowhouse dev in this folder
(${DEV_FILE}), as its administrator.
Prints { findings: [{ about, level, says, remedy }] } with --json.`,
  positionals: [],
  flags: {
    json: JSON_FLAG,
    operator: {
      about:
        "check the settings of operators' commands: ADMIN_DATABASE_URL can be an administrator",
    },
  },
  run: runDoctor,
};

async function runDoctor(setting: Setting): Promise<CommandResult> {
  const { env, args } = setting;
  const { issues, settings, pushes } = await readSound(setting);
  // A process does not serve with ROWS_DATABASE_URL.
  const isOperator = args.has("operator") || settings.ROWS_DATABASE_URL !== undefined;
  const results = [
    ...evaluateSettings(issues),
    ...checkSecrets(env),
    ...evaluateProxies(settings.TRUSTED_PROXIES ?? []),
    ...(await checkOver(settings, { pushes, isOperator })),
    ...(await checkConsoleOver(settings)),
    ...(await checkOthers(settings)),
  ];
  const hasFailed = results.some(({ level }) => level === "fail");
  return {
    document: { findings: results },
    lines: results.flatMap(toLines),
    exitCode: hasFailed ? EXIT.rejected : EXIT.done,
  };
}

/** Checks only a gateway, which shares secrets with two services. */
function checkSecrets(env: Environment): CheckResult[] {
  const read = readConfig(env);
  if ("issues" in read || read.config.ROLE !== "gateway") return [];
  return [evaluateSecrets(readSharedSecrets(read.config))];
}

type Sound = {
  issues: string[];
  /** The valid settings. */
  settings: SoundSettings;
  /** Whether a process with these settings pushes. */
  pushes: boolean;
};

/** All errors of the settings, and the valid settings. */
async function readSound(setting: Setting): Promise<Sound> {
  const { env } = setting;
  const read = readConfig(env);
  const isUnset = !isGiven(env, "DATABASE_URL") && !isGiven(env, "ADMIN_DATABASE_URL");
  const dev = isUnset ? findDevDatabase(setting) : undefined;
  if (dev !== undefined)
    return {
      issues: "issues" in read ? read.issues : [],
      settings: {
        ADMIN_DATABASE_URL: dev.databaseUrl,
        IDENTITY_SECRET: dev.identitySecrets,
        COOKIE_DOMAIN: DEV_COOKIE_DOMAIN,
      },
      pushes: false,
    };
  const sound: SoundSettings = "issues" in read ? read.sound : read.config;
  const { IDENTITY_SECRET, ROLE = "all", ...others } = sound;
  return {
    issues: await findServeIssues(env),
    settings: { ...others, ROLE, ...(hasPeople(env) && { IDENTITY_SECRET }) },
    pushes: servesRows(ROLE),
  };
}

/** Checks the databases of the connection strings that are set. */
async function checkOver(
  config: SoundSettings,
  { pushes, isOperator }: { pushes: boolean; isOperator: boolean },
): Promise<CheckResult[]> {
  const { DATABASE_URL: databaseUrl, ADMIN_DATABASE_URL: adminUrl = databaseUrl } = config;
  if (adminUrl === undefined) return [evaluateDriver(isDriverPatched())];
  const asked = { ...toAsked(config), adminUrl, pushes, isOperator };
  const admin = open(config, adminUrl, CONNECTIONS);
  const db = databaseUrl === undefined ? undefined : open(config, databaseUrl, CONNECTIONS);
  const identityUrl = config.IDENTITY_DATABASE_URL;
  const identityDb = identityUrl === undefined ? undefined : open(config, identityUrl, CONNECTIONS);
  try {
    if (db === undefined || databaseUrl === undefined)
      return [evaluateDriver(isDriverPatched()), ...(await checkAdmin(admin, asked))];
    const connections = {
      pool:
        (config.DATABASE_POOL ?? 0) +
        (identityDb === undefined ? 0 : (config.IDENTITY_DATABASE_POOL ?? 0)),
      pushing: pushes ? ADMIN_CONNECTIONS : 0,
      workers: config.WORKERS ?? 1,
    };
    return await checkService({
      ...{ ...asked, db, identityDb, admin, databaseUrl, connections, now: Date.now },
      isWhole: (config.ROLE ?? "all") === "all",
      nodesUrl: (config.CITUS_NODE_POOL ?? 0) > 0 ? databaseUrl : undefined,
    });
  } finally {
    await Promise.all([db?.close(), identityDb?.close(), admin.close()]);
  }
}

function open(
  { DATABASE_PREPARE: prepare = true }: SoundSettings,
  url: string,
  connections: number,
): Database {
  return openDatabase({ url, connections, prepare, name: "rowhouse doctor" });
}

/** The settings to compare with the database. */
function toAsked(config: SoundSettings) {
  const adminVariable: "DATABASE_URL" | "ADMIN_DATABASE_URL" =
    config.ADMIN_DATABASE_URL === undefined ? "DATABASE_URL" : "ADMIN_DATABASE_URL";
  return {
    adminVariable,
    prepare: config.DATABASE_PREPARE ?? true,
    identitySecrets: config.IDENTITY_SECRET,
    cookieDomain: config.COOKIE_DOMAIN,
    providers: config.providers,
    previews: config.PREVIEW,
  };
}

/** Checks the Console's login, if it is set. */
async function checkConsoleOver(config: SoundSettings): Promise<CheckResult[]> {
  const { CONSOLE_DATABASE_URL: consoleUrl } = config;
  const url = config.DATABASE_URL ?? config.ADMIN_DATABASE_URL;
  if (consoleUrl === undefined || url === undefined) return [];
  const [consoleDb, db] = [open(config, consoleUrl, 1), open(config, url, 1)];
  try {
    return await checkConsole(consoleDb, db).catch(
      toFailedCheck("Console login", "CONSOLE_DATABASE_URL"),
    );
  } finally {
    await Promise.all([consoleDb.close(), db.close()]);
  }
}

/** Checks the external servers that sign-in depends on. */
async function checkOthers(config: SoundSettings): Promise<CheckResult[]> {
  const { providers = [], MAIL_URL: url, MAIL_FROM: from = { name: "", address: "" } } = config;
  const pagesUrl = config.IDENTITY_URL ?? config.PUBLIC_URL ?? "http://localhost";
  const mailServer = url === undefined ? [] : [await checkMailServer({ url, from, pagesUrl })];
  return [...(await checkProviders(providers)), ...mailServer];
}

function toLines({ about, level, says, remedy }: CheckResult): string[] {
  // A line end in a name from the database would look like another check.
  const line = toPrintableLine(`${MARKS[level]} ${about}: ${says}`);
  return remedy === undefined ? [line] : [line, `     ${toPrintableLine(remedy)}`];
}
