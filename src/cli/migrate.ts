/** `rowhouse migrate`: applies the service's own migrations, renews apps' functions, and grants the serving login. @module */

import {
  CONTRACTED_FROM,
  type Database,
  type MigrationPlan,
  planMigrate,
  readValue,
  SHARDS,
  type TableLock,
} from "../db/mod.ts";
import { showCount } from "../std/count.ts";
import {
  deferRebuilds,
  findOutdatedTables,
  findUnread,
  hasAbandonedSteps,
  listUnrecorded,
  type PlannedRebuilds,
  planRebuilds,
  resumeDeferredSteps,
  setUpDatabase,
  showLater,
  showUnrecorded,
} from "../tables/mod.ts";
import {
  type Arguments,
  type Command,
  type CommandResult,
  type Setting,
  UsageError,
} from "./command.ts";
import { runContract } from "./contract.ts";
import { withDatabase, withPushDatabase } from "./database.ts";
import { findDevDatabase } from "./dev_file.ts";
import { announceAddress, findAdminAddress, readMigrateSettings, readShards } from "./settings.ts";
import { YES } from "./terminal.ts";

export const migrateCommand: Command = {
  name: "migrate",
  example: `ADMIN_DATABASE_URL=postgres://admin:…@db.example.org/rowhouse \\
DATABASE_URL=postgres://rowhouse_login:…@db.example.org/rowhouse rowhouse migrate`,
  about: `Safe to run at every start and on several machines in parallel: applied migrations are skipped. Run it at each
deploy, before the processes of the new release start. It also replaces the functions of apps' tables that this release
generates differently, table by table and without changing rows. Processes of the previous release keep working.
An upgrade has two steps: migrate only adds, so that processes of the previous release keep working and can be started
again. It also builds indexes of this release, without locking their tables, beside those of the previous one. An hour or more after the last of them, migrate --contract removes what only they need.

A managed PostgreSQL needs no superuser. Once, as the provider's administrator:
  create role rowhouse_admin login createrole password '…';
  create database rowhouse owner rowhouse_admin;
and then as rowhouse_admin, so that it can grant rights to the login:
  create role rowhouse_login login password '…';
rowhouse_admin (role attribute CREATEROLE, owner of the database) is the role in ADMIN_DATABASE_URL,
rowhouse_login is the role in DATABASE_URL.

ADMIN_DATABASE_URL must connect directly to PostgreSQL; only DATABASE_URL can go through a pooler.
If gateway, data and identity are separate processes, each has its own login. Run migrate once for each, with its
DATABASE_URL and ROLE: the login gets only the rights of that role.
If neither URL is set, migrate uses the database of a running rowhouse dev in this folder (.rowhouse/dev.json).
Exits with 69 if the database cannot be reached, 2 if no address is set, and 1 for any other failure.`,
  positionals: [],
  flags: {
    citus: {
      about:
        "distribute the database over the nodes of its Citus cluster; repeat after adding a node",
    },
    shards: {
      value: "number",
      about: `the number of shards of a new cluster with --citus, which cannot be changed later; default: ${SHARDS}`,
    },
    contract: {
      about: `finish an upgrade: remove what only releases before ${CONTRACTED_FROM} need, after which they cannot use the database`,
    },
    ...YES,
    "dry-run": { about: "list the steps and their locks, and change nothing" },
    json: {
      about:
        "one JSON document on standard output: { applied, historyOff, refreshed, login }, or with --dry-run { files, code, historyOff, refreshed, rebuilds, laterRelease }; with --contract { removed }, or with --dry-run { removals }",
    },
  },
  run: runMigrate,
};

async function runMigrate(setting: Setting): Promise<CommandResult> {
  const { args, env, terminal } = setting;
  const config = await readMigrateSettings(env);
  const set = findAdminAddress(config);
  const address =
    set === undefined ? findDevDatabase(setting)?.address : announceAddress(setting, set);
  if (address === undefined)
    throw new UsageError(
      "rowhouse migrate needs ADMIN_DATABASE_URL or DATABASE_URL: set one of them",
    );
  const citus = readCitus(args);
  if (args.has("contract")) {
    rejectOthers(args);
    return await runContract(setting, address, config);
  }
  if (args.has("dry-run")) {
    const stop = terminal.spin("Comparing the database with this release");
    return await withDatabase(address, config, listSteps).finally(stop);
  }
  const print = args.has("json") ? () => undefined : terminal.print;
  const { applied, historyOff, refreshed, login, isChanged } = await withDatabase(
    address,
    config,
    async (admin) => {
      const done = await setUpDatabase(admin, config, { cluster: citus, print });
      const { warn } = terminal;
      await rebuild({ admin, address, config }, { left: done.rebuilt, print, warn });
      return done;
    },
    // The second shows the progress of a build.
    { connections: 2 },
  );
  return {
    document: { applied, historyOff, refreshed, login: login ?? null },
    lines: [
      ...(isChanged ? [] : ["Nothing to do"]),
      ...(login === undefined ? [] : [`The role "${login}" can serve`]),
    ],
  };
}

/** @throws {UsageError} a flag of another step */
function rejectOthers(args: Arguments): void {
  const other = ["citus", "shards"].find((flag) => args.has(flag) || args.text(flag) !== undefined);
  if (other !== undefined) throw new UsageError(`Flag --contract cannot be used with --${other}`);
}

/** `migrate --dry-run`. */
async function listSteps(admin: Database): Promise<CommandResult> {
  const { files, code, later } = await planMigrate(admin);
  const isSetUp = await readValue<boolean>(
    admin,
    "select pg_catalog.to_regclass('rowhouse.column_sets') is not null as is_set_up",
  );
  const isCurrent = isSetUp && later === undefined;
  const historyOff = await listUnrecorded(admin);
  const refreshed = isCurrent ? await findOutdatedTables(admin) : [];
  const rebuilds = isCurrent ? await planRebuilds(admin) : [];
  const opened = isCurrent ? await findUnread(admin) : [];
  const lines = [
    ...files.map(({ name, runs, locks }) => `${name}, ${runs}: ${showLocks(locks)}`),
    ...(code === undefined ? [] : showCode(code)),
    ...showUnrecorded(historyOff),
    ...opened.map(
      (name) =>
        `policy of rowhouse_reader on table ${name}: locks it, which blocks reads and writes, for milliseconds`,
    ),
    ...refreshed.map((name) => `functions of table ${name}: locks no table`),
    ...rebuilds.map(showRebuild),
  ];
  return {
    document: {
      ...{ files, code: code ?? null, historyOff, refreshed, rebuilds },
      laterRelease: later ?? null,
    },
    lines:
      later === undefined
        ? lines.length === 0
          ? ["Nothing to do"]
          : lines
        : [`Nothing to do: ${showLater(later)}`],
  };
}

function showRebuild({ table, indexes, rows, bytes }: PlannedRebuilds): string {
  const size = `${rows === null ? "" : `about ${showCount(Math.round(rows), "row")}, `}${Math.ceil(bytes / 1024)} KB`;
  return `indexes of table ${table} (${size}), built beside those of the earlier release without locking it: ${indexes.join(", ")}`;
}

function showLocks(locks: readonly TableLock[]): string {
  if (locks.length === 0) return "locks no table in use";
  return locks
    .map(
      ({ table, mode, blocks, isLong }) =>
        `locks ${table} (${mode}), which blocks ${blocks}, ${isLong ? "as long as the table is large" : "for milliseconds"}`,
    )
    .join("; ");
}

function showCode({ changes, locks }: NonNullable<MigrationPlan["code"]>): string[] {
  const step = "the service's functions and rights, in one transaction";
  if (changes === null)
    return [`${step}: functions, triggers, policies and rights are compared after the files`];
  const { functions, triggers, policies, granted, revoked } = changes;
  const list = (kind: string, items: Readonly<Record<string, string>>) =>
    Object.entries(items).map(([name, change]) => `  ${change} ${kind} ${name}`);
  const rights = granted.length + revoked.length;
  return [
    `${step}: ${showLocks(locks)}`,
    ...list("function", functions),
    ...list("trigger", triggers),
    ...list("policy", policies),
    ...(rights === 0
      ? []
      : [`  ${showCount(granted.length, "right")} granted, ${revoked.length} revoked`]),
  ];
}

/** A build can fail in a deadlock with the build of another process. */
const MAX_BUILDS = 5;
const BUILD_AGAIN_MS = 1000;

type Rebuild = { left: readonly string[]; print: Print; warn: Print };

/** Builds indexes beside those of an earlier release; a process that serves pushes can build some of them. Needs two connections. `left`: those that are recorded. */
export async function rebuild(
  administration: Parameters<typeof withPushDatabase>[0],
  { left, print, warn }: Rebuild,
): Promise<void> {
  if (left.length === 0 && !(await hasAbandonedSteps(administration.admin))) return;
  if (left.length > 0)
    print(
      `Building ${showCount(left.length, "index", "indexes")} beside those of the earlier release`,
    );
  for (let builds = 1; ; builds++) {
    await withPushDatabase(administration, (pushing) =>
      resumeDeferredSteps({ admin: pushing, log: (_, event) => warn(event) }),
    );
    left = await deferRebuilds(administration.admin);
    if (left.length === 0) return;
    if (builds === MAX_BUILDS)
      return warn(`Not built yet: ${left.join(", ")}. Run rowhouse migrate again`);
    await Bun.sleep(BUILD_AGAIN_MS);
  }
}

type Citus = { shards: number | undefined };

/** @throws {UsageError} --shards is not a number, or used without --citus */
function readCitus(args: Arguments): Citus | undefined {
  const text = args.text("shards");
  if (!args.has("citus")) {
    if (text === undefined) return undefined;
    throw new UsageError("Flag --shards requires --citus");
  }
  return { shards: text === undefined ? undefined : readShards(text) };
}

type Print = (line: string) => void;
