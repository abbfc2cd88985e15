/** `rowhouse doctor`: checks an installation and prints a remedy for each error. @module */

import { openDatabase, RELEASE } from "../db/mod.ts";
import { servesRows } from "../role.ts";
import {
  ADMIN_CONNECTIONS,
  type CheckResult,
  type DoctorContext,
  runChecks,
} from "../service/mod.ts";
import {
  type Environment,
  findLostText,
  findRemoved,
  isGiven,
  readConfig,
  type SoundSettings,
} from "../settings/mod.ts";
import { DEV_COOKIE_DOMAIN } from "./admin/task.ts";
import { type Command, type CommandResult, EXIT, JSON_FLAG, type Setting } from "./command.ts";
import { DEV_FILE, findDevDatabase } from "./dev_file.ts";
import { readSharedSecrets } from "./open_service.ts";
import { announceAddress, findAdminAddress, findServeIssues, hasPeople } from "./settings.ts";
import { toPrintableLine } from "./terminal.ts";

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
Prints { rowhouse: { version, tables, code }, findings: [{ about, level, message, remedy }] } with --json.`,
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
  const context = {
    ...toContext(settings, pushes),
    settingIssues: issues,
    lostText: findLostText(setting.folder, env),
    removedSettings: findRemoved(env),
    sharedSecrets: findSharedSecrets(env),
    isOperator,
  };
  const { db, admin, identityDb, consoleDb } = context;
  const stop = setting.terminal.spin("Checking");
  const results = await runChecks(context).finally(() => {
    stop();
    return Promise.all([db, admin, identityDb, consoleDb].map((open) => open?.close()));
  });
  const hasFailed = results.some(({ level }) => level === "fail");
  return {
    document: { rowhouse: RELEASE, findings: results },
    lines: results.flatMap(toLines),
    exitCode: hasFailed ? EXIT.rejected : EXIT.done,
  };
}

/** Only a gateway shares secrets with two services. */
function findSharedSecrets(env: Environment): DoctorContext["sharedSecrets"] {
  const read = readConfig(env);
  if ("issues" in read || read.config.ROLE !== "gateway") return undefined;
  return readSharedSecrets(read.config);
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
  const address = findAdminAddress(sound);
  if (address !== undefined) announceAddress(setting, address);
  const { IDENTITY_SECRET, ROLE = "all", ...others } = sound;
  return {
    issues: await findServeIssues(env),
    settings: { ...others, ROLE, ...(hasPeople(env) && { IDENTITY_SECRET }) },
    pushes: servesRows(ROLE),
  };
}

/** The settings to check, and connections with those that are set. */
function toContext(
  config: SoundSettings,
  pushes: boolean,
): Omit<
  DoctorContext,
  "settingIssues" | "lostText" | "removedSettings" | "sharedSecrets" | "isOperator"
> {
  const { DATABASE_URL: databaseUrl, ADMIN_DATABASE_URL: adminUrl = databaseUrl } = config;
  const { IDENTITY_DATABASE_URL: identityUrl, MAIL_URL: mailUrl } = config;
  const from = config.MAIL_FROM ?? { name: "", address: "" };
  const pagesUrl = config.IDENTITY_URL ?? config.PUBLIC_URL ?? "http://localhost";
  const prepare = config.DATABASE_PREPARE ?? true;
  const connect = (url: string | undefined, connections = CONNECTIONS) =>
    url === undefined
      ? undefined
      : openDatabase({ url, connections, prepare, name: "rowhouse doctor" });
  return {
    db: connect(databaseUrl),
    databaseUrl,
    admin: connect(adminUrl),
    adminUrl,
    adminVariable: config.ADMIN_DATABASE_URL === undefined ? "DATABASE_URL" : "ADMIN_DATABASE_URL",
    identityDb: databaseUrl === undefined ? undefined : connect(identityUrl),
    consoleDb: connect(config.CONSOLE_DATABASE_URL, 1),
    prepare,
    isWhole: (config.ROLE ?? "all") === "all",
    pushes,
    identitySecrets: config.IDENTITY_SECRET,
    cookieDomain: config.COOKIE_DOMAIN,
    trustedProxies: config.TRUSTED_PROXIES ?? [],
    providers: config.providers ?? [],
    mail: mailUrl === undefined ? undefined : { url: mailUrl, from, pagesUrl },
    previews: config.PREVIEW,
    nodesUrl: (config.CITUS_NODE_POOL ?? 0) > 0 ? databaseUrl : undefined,
    connections: {
      pool:
        (config.DATABASE_POOL ?? 0) +
        (identityUrl === undefined ? 0 : (config.IDENTITY_DATABASE_POOL ?? 0)),
      pushing: pushes ? ADMIN_CONNECTIONS : 0,
      workers: config.WORKERS ?? 1,
    },
    now: Date.now,
  };
}

function toLines({ about, level, message, remedy }: CheckResult): string[] {
  // A line end in a name from the database would look like another check.
  const line = toPrintableLine(`${MARKS[level]} ${about}: ${message}`);
  return remedy === undefined ? [line] : [line, `     ${toPrintableLine(remedy)}`];
}
