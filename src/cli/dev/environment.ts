/** The environment of `dev`: settings of one process, without those of a service, such as its database. @module */

import * as v from "valibot";
import { LIMIT_ROWS } from "../../limit_setting.ts";
import {
  type Environment,
  SETTINGS,
  type SettingName,
  toFileVariable,
} from "../../settings/mod.ts";
import { DEV_COOKIE_DOMAIN } from "../admin/task.ts";
import { type Arguments, type Setting, UsageError } from "../command.ts";
import { readProject } from "../project_file.ts";
import { readWhole } from "../settings.ts";

/** Other settings are ignored: connections, secrets, hosts, mail and providers can belong to a real service. */
const READ: ReadonlySet<string> = new Set<SettingName>([
  "HOST",
  "PORT",
  "LOG_LEVEL",
  "API_KEY_PREFIX",
  "DATABASE_POOL",
  "DATABASE_PREPARE",
  ...LIMIT_ROWS.map(([, { variable }]) => variable),
  "SESSION_IDLE",
  "SESSION_MAX",
  "REQUIRE_SECOND_FACTOR",
  "AUDIT_RETENTION",
  // The destination of `rowhouse db`: dev pushes to itself.
  "ROWHOUSE_URL",
  "ROWHOUSE_API_KEY",
]);

/** The environment without the settings of a service, with those of the project, and defaults for a local machine. */
export function toDevEnvironment({
  env,
  args,
  folder,
}: Pick<Setting, "env" | "args" | "folder">): Environment {
  const project = readProject(folder);
  const port = args.text("port");
  if (port !== undefined) readWhole("--port", port, [0, 65_535]);
  const preview = args.text("preview");
  if (preview !== undefined) checkFlag("preview", SETTINGS.PREVIEW.form, preview);
  const read = Object.entries(env).filter(
    ([name]) => !isOfService(name) && name !== PASSWORD_VARIABLE,
  );
  return {
    ...Object.fromEntries(read),
    HOST: env["HOST"] || "127.0.0.1",
    PORT: port ?? (env["PORT"] || project.port?.toString()),
    COOKIE_DOMAIN: DEV_COOKIE_DOMAIN,
    LOG_LEVEL: env["LOG_LEVEL"] || "info",
    PREVIEW: preview ?? project.previews.join(","),
  };
}

/** @throws {UsageError} the value of the flag is invalid */
function checkFlag(
  flag: string,
  form: v.GenericSchema<string | undefined, unknown>,
  text: string,
): void {
  const { success, issues } = v.safeParse(form, text);
  if (!success) throw new UsageError(`Cannot read --${flag}: ${issues[0].message}`);
}

/** One line that names the variables that are set and ignored; `undefined` without such variables. */
export function describeIgnored(env: Environment): string | undefined {
  const ignored = Object.keys(env).filter((name) => isOfService(name) && env[name] !== "");
  if (ignored.length === 0) return undefined;
  const verb = ignored.length === 1 ? "which belongs" : "which belong";
  const previews = ignored.includes("PREVIEW")
    ? '. Turn previews on with --preview, or "previews" in rowhouse.json'
    : "";
  return `Notice: rowhouse dev ignores ${ignored.join(", ")}, ${verb} to a service. It uses its own PostgreSQL, or the database of --database <url>${previews}`;
}

function isOfService(name: string): boolean {
  if (name.startsWith("OIDC_")) return true;
  return Object.keys(SETTINGS).some(
    (setting) => !READ.has(setting) && [setting, toFileVariable(setting)].includes(name),
  );
}

/** Unlike a command line, other users of the machine cannot read it. */
const PASSWORD_VARIABLE = "PGPASSWORD";

/**
 * The connection string of `--database`, with the password of `PGPASSWORD` if it has none.
 *
 * @throws {UsageError} it is not a connection string, or another flag is for the embedded database
 */
export function readNamedDatabase(args: Arguments, env: Environment): string | undefined {
  const url = args.text("database");
  if (url === undefined) return undefined;
  checkFlag("database", SETTINGS.ADMIN_DATABASE_URL.form, url);
  const flag = ["data-dir", "reset"].find(args.has);
  if (flag !== undefined)
    throw new UsageError(
      `Flags --database and --${flag} exclude each other: --${flag} is for the embedded database`,
    );
  const password = env[PASSWORD_VARIABLE];
  if (hasPassword(url) || password === undefined) return url;
  return Object.assign(new URL(url), { password }).href;
}

/** A warning if the connection string of `--database` contains a password; otherwise `undefined`. */
export function describeVisiblePassword(args: Arguments): string | undefined {
  const url = args.text("database");
  if (url === undefined || !hasPassword(url)) return undefined;
  return `Warning: all users of this machine can read the password of --database in the process list. Set ${PASSWORD_VARIABLE} instead`;
}

function hasPassword(url: string): boolean {
  return new URL(url).password !== "";
}
