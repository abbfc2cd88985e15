/** Opens the database for one task of a command, and explains each failure with its remedy. @module */

import {
  ClusterError,
  compareMigrations,
  type Database,
  describeNode,
  findCondition,
  findUnreachableNode,
  GrantLoginError,
  isSupportedVersion,
  MIN_POSTGRES_VERSION,
  openDatabase,
  readMajorVersion,
  readValue,
  rejectMismatch,
  UpgradeError,
  withTemporaryLogin,
} from "../db/mod.ts";
import { ListenError } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import type { Config } from "../settings/mod.ts";
import { showCount } from "../std/count.ts";
import { errorCode } from "../std/network.ts";
import { listIssues, makeIsolationCheck } from "../tables/catalog/mod.ts";
import { EXIT, RejectedError } from "./command.ts";
import type { Address } from "./settings.ts";
import { STOP_SIGNALS } from "./signals.ts";

/**
 * Runs a task with a connection, then closes it. Notices of its statements go to `onNotice`. The database is checked before
 * the first statement, so that a task can reject wrong values while the database is unavailable.
 *
 * @throws {RejectedError} the database is unavailable, rejects the login, is too old, or the role lacks rights
 */
export async function withDatabase<Result>(
  address: Address,
  config: Config,
  task: (database: Database) => Promise<Result>,
  { check = checkVersion, onNotice = () => undefined, connections = 1 }: DatabaseTaskOptions = {},
): Promise<Result> {
  const database = openDatabase({
    url: address.url,
    connections,
    prepare: config.DATABASE_PREPARE,
    name: "rowhouse command",
    onNotice,
  });
  try {
    return await task(withCheck(database, check));
  } catch (error) {
    throw explainFailure(error, address);
  } finally {
    await database.close(1);
  }
}

type Check = (database: Database) => Promise<void>;
type DatabaseTaskOptions = {
  check?: Check;
  onNotice?: (text: string) => void;
  connections?: number;
};

function withCheck(database: Database, check: Check): Database {
  let checked: Promise<void> | undefined;
  const checkOnce = () => (checked ??= check(database));
  return {
    ...database,
    query: (...call) => checkOnce().then(() => database.query(...call)),
    bytes: (...call) => checkOnce().then(() => database.bytes(...call)),
    message: (...call) => checkOnce().then(() => database.message(...call)),
  };
}

export type Administration = { admin: Database; address: Address; config: Config };

/**
 * Runs a task over a connection that can count, read, restore and delete apps' rows and do what a push does, but nothing else. It
 * uses the login of ROWS_DATABASE_URL, or a temporary login that the administrator creates and drops.
 */
export async function withRowsDatabase<Result>(
  { admin, address, config }: Administration,
  task: (rows: Database) => Promise<Result>,
): Promise<Result> {
  const { ROWS_DATABASE_URL: url } = config;
  if (url !== undefined)
    return await withDatabase({ url, variable: "ROWS_DATABASE_URL" }, config, task);
  return await withOwnLogin({ admin, address, config }, "rowhouse_rows", task);
}

/**
 * The same for pushes, which must not run in an administrator's session. A login that is not an administrator is used directly.
 */
export async function withPushDatabase<Result>(
  administration: Administration,
  task: (pushing: Database) => Promise<Result>,
): Promise<Result> {
  const { admin } = administration;
  if (!(await isAdministrator(admin))) return await task(admin);
  return await withOwnLogin(administration, "rowhouse_tables", task);
}

/** Runs a task with a temporary login. */
async function withOwnLogin<Result>(
  { admin, address, config }: Administration,
  group: "rowhouse_rows" | "rowhouse_tables",
  task: (own: Database) => Promise<Result>,
): Promise<Result> {
  return await unlessStopped((run) =>
    withTemporaryLogin(admin, { url: address.url, group }, (url) =>
      // The second renews the lease of a deferred step during its build.
      run(() => withDatabase({ ...address, url }, config, task, { connections: 2 })),
    ),
  );
}

type Run = <Result>(task: () => Promise<Result>) => Promise<Result>;

/**
 * Runs a task that creates something, works on it with `run`, and removes it. The first signal rejects in `run`, so that the
 * thing is removed before the process ends; it can arrive while the thing is created. A second signal ends the process.
 *
 * @throws {RejectedError} the command was stopped by a signal
 */
async function unlessStopped<Result>(task: (run: Run) => Promise<Result>): Promise<Result> {
  const stopping = new AbortController();
  const stop = () => stopping.abort(new RejectedError("Stopped by a signal"));
  for (const signal of STOP_SIGNALS) process.once(signal, stop);
  try {
    return await task(async (work) => {
      const { signal } = stopping;
      signal.throwIfAborted();
      const stopped = Promise.withResolvers<never>();
      signal.addEventListener("abort", () => stopped.reject(signal.reason));
      return await Promise.race([work(), stopped.promise]);
    });
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, stop);
  }
}

async function isAdministrator(db: Database): Promise<boolean> {
  return await readValue<boolean>(
    db,
    "select pg_catalog.pg_has_role('rowhouse_owner', 'member') as is_administrator",
  );
}

/** @throws {RejectedError} the isolation of apps is broken; lists all errors. Continuing could run planted code. */
export async function checkIsolation(admin: Database): Promise<void> {
  const issues = listIssues(await makeIsolationCheck(admin)());
  if (issues.length === 0) return;
  const lines = issues.map((issue) => `  ${issue}`);
  throw new RejectedError(
    `The isolation of apps in this database is broken, so this command does not use their tables; run rowhouse doctor for remedies:\n${lines.join("\n")}`,
    EXIT.rejected,
    { code: "isolation_issues" },
  );
}

/** @throws {RejectedError} PostgreSQL is too old */
export async function checkVersion(database: Database): Promise<void> {
  evaluateVersion(await readMajorVersion(database));
}

/** @throws {RejectedError} the major version is too old */
export function evaluateVersion(version: number): void {
  if (isSupportedVersion(version)) return;
  throw new RejectedError(
    `This PostgreSQL is version ${version}: must be ${MIN_POSTGRES_VERSION} or newer`,
  );
}

/**
 * @throws {RejectedError} migrations are missing
 * @throws {UpgradeError} this release cannot use the database
 */
export async function checkMigrated(database: Database): Promise<void> {
  const state = await compareMigrations(database);
  rejectMismatch(state);
  const { missing, hasCode, later } = state;
  if (missing.length === 0 && !hasCode && later === undefined)
    throw new RejectedError(
      "The database has the functions of another release: run rowhouse migrate first",
    );
  if (missing.length === 0) return;
  throw new RejectedError(
    `The database lacks ${showCount(missing.length, "migration")}: run rowhouse migrate first`,
  );
}

/** Whether the error means that the database is unavailable. */
export function isUnavailable(error: unknown): boolean {
  return (
    error instanceof Problem &&
    ["unavailable", "timeout", "overloaded", "unknown_outcome"].includes(error.code) &&
    findExplanation(error) === undefined
  );
}

type Explain = (where: { role: string; database: string; variable: string }) => string;

/** Error and remedy by SQLSTATE. */
const EXPLANATIONS: Readonly<Record<string, Explain>> = {
  "28P01": ({ role, variable }) =>
    `The database rejects the password of the role "${role}": correct it in ${variable}`,
  "28000": ({ role, variable }) =>
    `The database rejects the role "${role}": check the role in ${variable} and pg_hba.conf`,
  "3D000": ({ database, variable }) =>
    `Database "${database}" does not exist: create it, or correct ${variable}`,
  "42501": ({ role, database, variable }) =>
    `The role "${role}" of ${variable} lacks rights: migrate, push and admin require a superuser, or a role with CREATEROLE that owns the database "${database}" (rowhouse migrate --help); before serving, run rowhouse migrate with this DATABASE_URL`,
  "25006": ({ role, database }) =>
    `PostgreSQL allows only reads: connect to the primary server, or turn off default_transaction_read_only of the database "${database}" and the role "${role}"`,
  "55P03": () =>
    "Another transaction has locked a table of the service: end it (pg_stat_activity), then try again",
  "42P01": () => "The database does not have Rowhouse's tables: run rowhouse migrate first",
  "3F000": () => "The database does not have Rowhouse's tables: run rowhouse migrate first",
};

/** A `RejectedError` with a remedy for each failure of the database; any other error unchanged. */
export function explainFailure(error: unknown, { url, variable }: Address): unknown {
  const { hostname, port, username, pathname } = new URL(url);
  if (
    error instanceof GrantLoginError ||
    error instanceof UpgradeError ||
    error instanceof ClusterError ||
    error instanceof ListenError
  )
    return new RejectedError(error.message);
  const node = findUnreachableNode(error);
  if (node !== undefined) {
    return new RejectedError(
      `PostgreSQL at ${hostname}:${port || 5432} cannot reach ${describeNode(node)}: start the node and try again`,
      EXIT.unreachable,
    );
  }
  if (isUnavailable(error)) {
    const condition = findCondition(error);
    if (condition !== undefined)
      return new RejectedError(
        `PostgreSQL at ${hostname}:${port || 5432} ${condition.is}: ${condition.remedy?.(variable) ?? "try again"}`,
        EXIT.unreachable,
      );
    return new RejectedError(
      `Cannot reach PostgreSQL at ${hostname}:${port || 5432}: ${toRemedy(error, variable)}`,
      EXIT.unreachable,
    );
  }
  const explain = findExplanation(error);
  if (explain === undefined) return error;
  const role = decodeURIComponent(username);
  return new RejectedError(
    explain({ role, database: decodeURIComponent(pathname.slice(1)), variable }),
  );
}

/** The codes of failed connections whose cause is not that PostgreSQL is down. */
const CAUSES: readonly (readonly [RegExp, (variable: string) => string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, (variable) => `its host is unknown: correct the host in ${variable}`],
  [
    /CERT|SELF_SIGNED|UNABLE_TO/,
    (variable) =>
      `this machine does not trust its certificate: add the certificate with NODE_EXTRA_CA_CERTS, or correct the host or sslmode in ${variable}`,
  ],
  [
    /^(CONNECTION_CLOSED|ECONNRESET|EPROTO)$/,
    (variable) =>
      `it closed the connection: try again, check that it is PostgreSQL, and that sslmode in ${variable} is what it accepts`,
  ],
];

function toRemedy(error: unknown, variable: string): string {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  const code = String(Reflect.get(Object(cause), "code"));
  const [, explain] = CAUSES.find(([pattern]) => pattern.test(code)) ?? [];
  return explain?.(variable) ?? `start it, or correct ${variable}`;
}

/** The failure for the SQLSTATE of the error, or of its cause if there was no connection. */
function findExplanation(error: unknown): Explain | undefined {
  const cause = error instanceof Problem ? error.cause : undefined;
  return EXPLANATIONS[toState(error)] ?? EXPLANATIONS[toState(cause)];
}

/** PgBouncer uses one SQLSTATE for all rejections; only the message has the reason. */
const POOLER_STATE = "08P01";
const POOLER_TEXTS: readonly (readonly [RegExp, string])[] = [
  [/authentication failed|no such user/i, "28P01"],
  [/no such database|database .* does not exist/i, "3D000"],
];

function toState(error: unknown): string {
  const code = errorCode(error) ?? "";
  if (!(error instanceof Error) || code !== POOLER_STATE) return code;
  return POOLER_TEXTS.find(([terms]) => terms.test(error.message))?.[1] ?? POOLER_STATE;
}
