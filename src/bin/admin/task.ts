/** What all `admin` commands have in common: the administrator's connection and `--json`. @module */
import { type Field, type Input, readInput } from "../../accounts/actions/mod.ts";
import { type IdentitySecrets, makeIdentitySecrets } from "../../accounts/secrets/mod.ts";
import type { Config } from "../../config/mod.ts";
import { type Database, PROGRESS } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import { type RandomBytes, systemRandomBytes } from "../../std/random_text.ts";
import {
  type Arguments,
  type Command,
  EXIT,
  type ExitCode,
  type Flag,
  JSON_FLAG,
  type Setting,
  type Terminal,
  UsageError,
} from "../cli/command.ts";
import {
  checkMigrated,
  withDatabase,
  withPushDatabase,
  withRowsDatabase,
} from "../cli/database.ts";
import { type Address, findAdminAddress, readSettings } from "../cli/settings.ts";
import { toDocument } from "../cli/terminal.ts";
import { DEV_FILE, readDevFile, tellDevDatabase, toDevAddress } from "../dev/file.ts";

export type AdminDeps = {
  admin: Database;
  /** Runs a task with a connection on which apps' rows can be touched, and nothing else. */
  withRows: <Result>(task: (rows: Database) => Promise<Result>) => Promise<Result>;
  /** The same for pushes. */
  withPush: <Result>(task: (pushing: Database) => Promise<Result>) => Promise<Result>;
  config: Config;
  /** The folder in which the command was typed. */
  folder: string;
  makeId: () => string;
  randomBytes: RandomBytes;
  now: () => Date;
  /** Asks the person at the terminal, as a terminal's `ask` does. */
  ask: Terminal["ask"];
  /** Writes a line to standard error at once: how far a long task is. */
  tell: (line: string) => void;
};
/** The result of a task: a document for `--json`, and lines for people; notes go to standard error, beside what is piped. */
export type AdminResult = {
  document: unknown;
  lines: readonly string[];
  notes?: readonly string[];
};
export type AdminTask = (deps: AdminDeps, args: Arguments) => Promise<AdminResult>;

const ABOUT = `Uses ADMIN_DATABASE_URL, else DATABASE_URL, else the database of a running rowhouse dev (${DEV_FILE}).`;

/** A command from a task over the administrator's connection. */
export function makeAdminCommand(
  row: Omit<Command, "run" | "flags" | "about"> & { about?: string; flags?: Command["flags"] },
  task: AdminTask,
): Command {
  return {
    ...row,
    about: row.about === undefined ? ABOUT : `${row.about.trim()}\n\n${ABOUT}`,
    flags: { ...row.flags, json: JSON_FLAG },
    run: (setting) => runTask(setting, task),
  };
}

/** The flag of an input. */
export function toFlag({ label, hint, placeholder, choices }: Field): Flag {
  const values = choices === undefined ? hint : `one of ${Object.keys(choices).join(", ")}`;
  return { value: placeholder, about: [label, values].filter(Boolean).join(": ") };
}

/** What was typed for an input; `undefined` without the flag. @throws {UsageError} it cannot be read */
export function readFlag<Value>(
  args: Arguments,
  flag: string,
  input: Input<Value>,
): Value | undefined {
  const text = args.text(flag);
  if (text === undefined) return undefined;
  try {
    return readInput(input, `--${flag}`, text);
  } catch (error) {
    throw error instanceof Problem ? new UsageError(error.message) : error;
  }
}

async function runTask(
  { args, env, folder, terminal }: Setting,
  task: AdminTask,
): Promise<ExitCode> {
  const config = readSettings(env);
  const { address, cookieDomain, identityUrl, identitySecrets } = findAddress(config, {
    folder,
    terminal,
  });
  const settled = {
    ...config,
    COOKIE_DOMAIN: config.COOKIE_DOMAIN ?? cookieDomain,
    IDENTITY_URL: config.IDENTITY_URL ?? identityUrl,
    IDENTITY_SECRET: config.IDENTITY_SECRET ?? identitySecrets,
  };
  const {
    document,
    lines,
    notes = [],
  } = await withDatabase(
    address,
    config,
    async (admin) => {
      await checkMigrated(admin);
      const makeId = () => Bun.randomUUIDv7();
      return await task(
        {
          admin,
          withRows: (rowsTask) => withRowsDatabase({ admin, address, config }, rowsTask),
          withPush: (pushTask) => withPushDatabase({ admin, address, config }, pushTask),
          config: settled,
          folder,
          makeId,
          randomBytes: systemRandomBytes,
          now,
          ask: terminal.ask,
          tell: terminal.warn,
        },
        args,
      );
    },
    { onNotice: (text) => tellProgress(terminal, text) },
  );
  if (args.has("json")) terminal.say(toDocument(document));
  else {
    for (const line of lines) terminal.say(line);
    for (const note of notes) terminal.warn(note);
  }
  return EXIT.done;
}

/** What the service's own SQL says of a long statement; nothing of what PostgreSQL or an extension says. */
function tellProgress(terminal: Terminal, text: string): void {
  if (text.startsWith(PROGRESS)) terminal.warn(text.slice(PROGRESS.length));
}

/** @throws {UsageError} there is no secret to create links or confirm addresses with */
export function readIdentitySecrets(
  { IDENTITY_SECRET }: Config,
  missing = "Cannot make a link that sets a password: set IDENTITY_SECRET to that of the service that will take the link",
): IdentitySecrets {
  if (IDENTITY_SECRET !== undefined) return makeIdentitySecrets(IDENTITY_SECRET);
  throw new UsageError(missing);
}

/** In the database of `dev`, origins are registered under the domain that `dev` serves. */
export const DEV_COOKIE_DOMAIN = "rowhouse.localhost";

type Found = {
  address: Address;
  cookieDomain: string | undefined;
  identityUrl: string | undefined;
  identitySecrets: string[] | undefined;
};

function findAddress(
  config: Config,
  { folder, terminal }: Pick<Setting, "folder" | "terminal">,
): Found {
  const address = findAdminAddress(config);
  if (address !== undefined)
    return {
      address,
      cookieDomain: undefined,
      identityUrl: undefined,
      identitySecrets: undefined,
    };
  const dev = readDevFile(folder);
  if (dev === undefined)
    throw new UsageError(
      "There is no database to administer: set ADMIN_DATABASE_URL (or DATABASE_URL), or start rowhouse dev in this folder",
    );
  tellDevDatabase(terminal);
  return {
    address: toDevAddress(dev),
    cookieDomain: DEV_COOKIE_DOMAIN,
    identityUrl: dev.identityUrl,
    identitySecrets: dev.identitySecrets,
  };
}

function now(): Date {
  return new Date();
}
