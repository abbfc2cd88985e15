/** Shared by all `admin` commands: the administrator's connection and `--json`. @module */

import { type Database, PROGRESS } from "../../db/mod.ts";
import { describeNewRole, listAppRoles } from "../../records/people/mod.ts";
import { type IdentitySecrets, makeIdentitySecrets } from "../../records/secrets/mod.ts";
import type { Config } from "../../settings/mod.ts";
import { type RandomBytes, systemRandomBytes } from "../../std/random_text.ts";
import {
  type Arguments,
  type Command,
  type CommandResult,
  type Flags,
  JSON_FLAG,
  type Setting,
  type Terminal,
  UsageError,
} from "../command.ts";
import {
  checkMigrated,
  checkVersion,
  withDatabase,
  withPushDatabase,
  withRowsDatabase,
} from "../database.ts";
import { DEV_FILE, findDevDatabase } from "../dev_file.ts";
import { type Address, announceAddress, findAdminAddress, readSettings } from "../settings.ts";
import { confirm } from "../terminal.ts";

export type AdminDeps = {
  admin: Database;
  /** The address of the administrator's connection. */
  address: Address;
  /** Runs a task with a connection that can only read and change apps' rows. */
  withRows: <Result>(task: (rows: Database) => Promise<Result>) => Promise<Result>;
  /** Runs a task with a connection that can only push. */
  withPush: <Result>(task: (pushing: Database) => Promise<Result>) => Promise<Result>;
  config: Config;
  keyPrefix: string;
  cookieDomain: string | undefined;
  /** Rejects its first use if IDENTITY_SECRET is not set. */
  identitySecrets: IdentitySecrets;
  /** The current folder of the command. */
  folder: string;
  makeId: () => string;
  randomBytes: RandomBytes;
  now: () => Date;
  /** Asks the person at the terminal. */
  ask: Terminal["ask"];
  /** Writes a progress line to standard error. */
  report: (line: string) => void;
};
type AdminTask = (deps: AdminDeps, args: Arguments) => Promise<CommandResult>;

const ABOUT = `Uses ADMIN_DATABASE_URL, else DATABASE_URL, else the database of a running rowhouse dev (${DEV_FILE}).`;

export type AdminRow = Pick<Command, "example" | "positionals" | "isForSeveral" | "flags"> & {
  summary: string;
  about: string;
  task: AdminTask;
};

/** Commands from tasks over the administrator's connection, by their names after `admin`. */
export function makeAdminCommands(rows: Readonly<Record<string, AdminRow>>): readonly Command[] {
  return Object.entries(rows).map(([name, { task, ...row }]) => ({
    name: `admin ${name}`,
    ...row,
    about: `${row.about}\n\n${ABOUT}`,
    flags: { ...row.flags, json: JSON_FLAG },
    run: (setting) => runTask(setting, task),
  }));
}

async function runTask(setting: Setting, task: AdminTask): Promise<CommandResult> {
  const { args, env, folder, terminal } = setting;
  const config = readSettings(env);
  const set = findAdminAddress(config);
  const dev = set === undefined ? findDevDatabase(setting) : undefined;
  const address = set ?? dev?.address;
  if (address === undefined)
    throw new UsageError(
      "No database is set: set ADMIN_DATABASE_URL (or DATABASE_URL), or start rowhouse dev in this folder",
    );
  if (set !== undefined) announceAddress(setting, set);
  const settled = {
    ...config,
    COOKIE_DOMAIN: config.COOKIE_DOMAIN ?? (dev && DEV_COOKIE_DOMAIN),
    IDENTITY_URL: config.IDENTITY_URL ?? dev?.identityUrl,
    IDENTITY_SECRET: config.IDENTITY_SECRET ?? dev?.identitySecrets,
  };
  return await withDatabase(
    address,
    config,
    async (admin) =>
      await task(
        {
          admin,
          address,
          withRows: (rowsTask) => withRowsDatabase({ admin, address, config }, rowsTask),
          withPush: (pushTask) => withPushDatabase({ admin, address, config }, pushTask),
          config: settled,
          keyPrefix: settled.API_KEY_PREFIX,
          cookieDomain: settled.COOKIE_DOMAIN,
          identitySecrets: toIdentitySecrets(settled),
          folder,
          makeId: () => Bun.randomUUIDv7(),
          randomBytes: systemRandomBytes,
          now: () => new Date(),
          ask: terminal.ask,
          report: terminal.warn,
        },
        args,
      ),
    {
      check: async (database) => {
        await checkVersion(database);
        await checkMigrated(database);
      },
      // Only progress of the service's own SQL, no notices of PostgreSQL or an extension.
      onNotice: (text) => {
        if (text.startsWith(PROGRESS)) terminal.warn(text.slice(PROGRESS.length));
      },
    },
  );
}

/** Links and confirmations of addresses need them. @throws {UsageError} at their first use: IDENTITY_SECRET is not set */
function toIdentitySecrets({ IDENTITY_SECRET }: Config): IdentitySecrets {
  if (IDENTITY_SECRET !== undefined) return makeIdentitySecrets(IDENTITY_SECRET);
  const reject = () => {
    throw new UsageError(
      "Cannot create a link or verify an address: set IDENTITY_SECRET to the secret of the service that people sign in to",
    );
  };
  return Object.defineProperties({} as IdentitySecrets, {
    current: { get: reject },
    all: { get: reject },
  });
}

/** In the database of `dev`, origins are registered under the domain that `dev` serves. */
export const DEV_COOKIE_DOMAIN = "rowhouse.localhost";

export const NEW_ROLE = {
  "new-role": { about: "grants a role that no one has on the app yet, without a question" },
} as const satisfies Flags;

/** @throws {RejectedError} the operator does not confirm the new role */
export async function confirmNewRole(
  deps: AdminDeps,
  isConfirmed: boolean,
  { slug, role }: { slug: string; role: string },
): Promise<void> {
  if (isConfirmed) return;
  const rules = deps.config.providers.flatMap(({ roles }) => roles);
  const message = await describeNewRole({ slug, role, rules }, () => listAppRoles(deps, slug));
  if (message === undefined) return;
  await confirm(deps, isConfirmed, {
    message: message.endsWith("?") ? message : `${message}.`,
    question: `Create the role ${role}? [y/N]`,
    flag: "new-role",
  });
}
