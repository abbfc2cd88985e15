/** `rowhouse doctor`: what is fine, what is not, and what to do about it. @module */
import { type Config, type Environment, readConfig } from "../config.ts";
import { isDriverPatched, openDatabase } from "../db/mod.ts";
import { servesRows } from "../role.ts";
import {
  examine,
  examineAdmin,
  type Finding,
  judgeDriver,
  judgeSecrets,
  judgeSettings,
} from "../service/mod.ts";
import { type Command, EXIT, type ExitCode, JSON_FLAG, type Setting } from "./cli/command.ts";
import { readSharedSecrets } from "./cli/open.ts";
import { hasPeople, readSettings } from "./cli/settings.ts";
import { toDocument } from "./cli/terminal.ts";
import { DEV_FILE, readDevFile } from "./dev/file.ts";

const CONNECTIONS = 4;
const MARKS = { ok: "ok  ", warn: "warn", fail: "FAIL" } as const;

export const doctorCommand: Command = {
  name: "doctor",
  summary: "checks settings, database, roles and clock, and says what to fix",
  example: "rowhouse doctor --json",
  about: `Changes nothing. Exits with 1 if something fails; warnings do not count. Settings with faults are
listed, and everything else is checked with those that have none. Without DATABASE_URL and ADMIN_DATABASE_URL the database
of a running rowhouse dev in this folder is checked (${DEV_FILE}), as its administrator.
Prints { findings: [{ about, level, says, remedy }] } with --json.`,
  positionals: [],
  flags: { json: JSON_FLAG },
  run: runDoctor,
};

async function runDoctor({ args, env, folder, terminal }: Setting): Promise<ExitCode> {
  const { faults, config, pushes } = readSound(env, folder);
  const findings = [
    ...judgeSettings(faults),
    ...examineSecrets(env),
    ...(await examineOver(config, pushes)),
  ];
  if (args.has("json")) terminal.say(toDocument({ findings }));
  else for (const line of findings.flatMap(toLines)) terminal.say(line);
  return findings.some(({ level }) => level === "fail") ? EXIT.refused : EXIT.done;
}

/** Only for a gateway, which shares secrets with two services. */
function examineSecrets(env: Environment): Finding[] {
  const read = readConfig(env);
  if ("faults" in read || read.config.ROLE !== "gateway") return [];
  return [judgeSecrets(readSharedSecrets(read.config))];
}

type Sound = {
  faults: string[];
  config: Config;
  /** Whether a process with these settings pushes. */
  pushes: boolean;
};

/** All faults of the settings, and the doctor's own settings that have none. */
function readSound(env: Environment, folder: string): Sound {
  const read = readConfig(env);
  const faults = "faults" in read ? [...read.faults] : [];
  const isUnset = !env["DATABASE_URL"] && !env["ADMIN_DATABASE_URL"];
  const dev = isUnset ? readDevFile(folder) : undefined;
  if (dev !== undefined)
    return {
      faults,
      config: readSettings({
        ADMIN_DATABASE_URL: dev.databaseUrl,
        IDENTITY_SECRET: dev.identitySecrets.join(","),
      }),
      pushes: false,
    };
  if (!env["DATABASE_URL"]) faults.push("DATABASE_URL is not set");
  if (hasPeople(env) && !env["IDENTITY_SECRET"]) faults.push("IDENTITY_SECRET is not set");
  const isSound = (name: string) => !faults.some((fault) => fault.startsWith(`${name} `));
  const names = [
    "DATABASE_URL",
    "ADMIN_DATABASE_URL",
    "DATABASE_PREPARE",
    ...(hasPeople(env) ? ["IDENTITY_SECRET"] : []),
  ].filter(isSound);
  const sound = Object.fromEntries(names.map((name) => [name, env[name]]));
  const pushes = "faults" in read || servesRows(read.config.ROLE);
  return { faults, config: readSettings(sound), pushes };
}

/** What can be found out with the connection strings that are set. */
async function examineOver(config: Config, pushes: boolean): Promise<Finding[]> {
  const open = (url: string) =>
    openDatabase({
      url,
      connections: CONNECTIONS,
      prepare: config.DATABASE_PREPARE,
      name: "rowhouse doctor",
    });
  const { DATABASE_URL: databaseUrl, ADMIN_DATABASE_URL: adminUrl = databaseUrl } = config;
  const { IDENTITY_SECRET: identitySecrets } = config;
  if (adminUrl === undefined) return [judgeDriver(isDriverPatched())];
  const admin = open(adminUrl);
  const db = databaseUrl === undefined ? undefined : open(databaseUrl);
  try {
    if (db === undefined || databaseUrl === undefined)
      return [
        judgeDriver(isDriverPatched()),
        ...(await examineAdmin(admin, { pushes, identitySecrets })),
      ];
    const prepare = config.DATABASE_PREPARE;
    return await examine({
      db,
      admin,
      databaseUrl,
      prepare,
      pushes,
      identitySecrets,
      now: Date.now,
    });
  } finally {
    await Promise.all([db?.close(), admin.close()]);
  }
}

function toLines({ about, level, says, remedy }: Finding): string[] {
  const line = `${MARKS[level]} ${about}: ${says}`;
  return remedy === undefined ? [line] : [line, `     ${remedy}`];
}
