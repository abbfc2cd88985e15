/** Logins of a production database, and its migration by the program of any version. @module */
import { join } from "node:path";
import { PREVIEWS } from "../../src/preview.ts";
import type { SplitRole } from "../support/cluster.ts";
import { withDatabase } from "../support/cluster.ts";
import { type Outcome, ROOT, runCommand, type Settings } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";

export const DATABASE = "rowhouse";
/** All previews. */
const PREVIEW = PREVIEWS.join(",");
const TASKS = ["push", "console", "rows"] as const;
const SERVING = ["all", "gateway", "data", "identity"] as const;
type Task = (typeof TASKS)[number];
type Serving = (typeof SERVING)[number];
export const LOGINS = [...TASKS, ...SERVING].map(toName);
export const PASSWORD = "login password";

/** Addresses of a database, by login. */
export type Addresses = Readonly<Record<Task | Serving | "admin", string>> & {
  prepare: boolean;
  /** The setting of commands and processes. */
  preview: string;
};

function toName(login: Task | Serving): string {
  return `rowhouse_${login}_login`;
}

/** The addresses of the logins in a cluster; `toPooled`: of the serving logins behind a pooler. */
export function toAddresses(
  clusterUrl: string,
  { toPooled, preview = PREVIEW }: { toPooled?: (url: string) => string; preview?: string } = {},
): Addresses {
  const admin = new URL(clusterUrl);
  admin.pathname = `/${DATABASE}`;
  const toUrl = (login: Task | Serving) =>
    Object.assign(new URL(admin), { username: toName(login), password: PASSWORD }).href;
  const toServing = (login: Serving) => (toPooled ?? String)(toUrl(login));
  return {
    admin: admin.href,
    ...{ push: toUrl("push"), console: toUrl("console"), rows: toUrl("rows") },
    ...{ all: toServing("all"), gateway: toServing("gateway") },
    ...{ data: toServing("data"), identity: toServing("identity") },
    ...{ prepare: toPooled === undefined, preview },
  };
}

/** Creates the database and its logins, as `docs/install.md` says. */
export async function createDatabase(clusterUrl: string): Promise<void> {
  await withDatabase(clusterUrl, async (superuser) => {
    await superuser.message(`create database ${DATABASE}`);
    for (const login of LOGINS)
      await superuser.message(
        `create role ${login} login connection limit 200 password '${PASSWORD}'; select 1`,
      );
  });
}

/** The environment of operators' commands. */
export function toOperator(addresses: Addresses): Settings {
  return {
    ADMIN_DATABASE_URL: addresses.admin,
    DATABASE_URL: addresses.all,
    CONSOLE_DATABASE_URL: addresses.console,
    ROWS_DATABASE_URL: addresses.rows,
    DATABASE_PREPARE: addresses.prepare ? "on" : "off",
    IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    COOKIE_DOMAIN: "rowhouse.localhost",
    PREVIEW: addresses.preview,
  };
}

/** Runs `migrate` for one role, as an operator does. */
export function migrate(
  addresses: Addresses,
  { program = ROOT, role }: { program?: string; role?: SplitRole } = {},
): Promise<Outcome> {
  const { ADMIN_DATABASE_URL = "", ...operator } = toOperator(addresses);
  const env: Settings =
    role === undefined
      ? { ADMIN_DATABASE_URL, ...operator }
      : {
          ...{ ADMIN_DATABASE_URL, DATABASE_URL: addresses[role] },
          ...{ ROLE: role, PREVIEW: addresses.preview },
        };
  return runCommand(["migrate"], { folder: program, program, env });
}

/** Runs `migrate` for every login. @throws {Error} a run failed */
export async function migrateAll(addresses: Addresses, program: string): Promise<void> {
  for (const role of [undefined, "gateway", "data", "identity"] as const) {
    const { code, err } = await migrate(addresses, {
      program,
      ...(role === undefined ? {} : { role }),
    });
    if (code !== 0) throw new Error(err);
  }
}

/** What a superuser does after the first `migrate`. */
export async function finishDatabase({ admin }: Addresses, program: string): Promise<void> {
  const text = await Bun.file(join(program, "deploy/superuser.sql")).text();
  await withDatabase(admin, async (superuser) => {
    await superuser.message(`grant rowhouse_tables to ${toName("push")}; ${text}; select 1`);
  });
}
