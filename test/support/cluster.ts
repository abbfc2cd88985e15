/** The PostgreSQL that the tests run on, and disposable databases in it. @module */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import {
  type Database,
  grantLogin,
  grantPush,
  grantTask,
  migrate,
  openDatabase,
} from "../../src/db/mod.ts";
import { makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { digestRelease, recordRelease } from "../../src/tables/mod.ts";
import {
  type CitusDatabase,
  citusUrl,
  copyOnNodes,
  makeCitusDatabase,
  TEST_TEMPLATE,
} from "./citus.ts";
import { copyDatabase, findTemplate, type Root } from "./template.ts";

/** The URLs of the cluster's administrator and of the service: the same server, or a pooler in front of it. */
export type ClusterUrls = {
  admin: string;
  serving: string;
  prepare: boolean;
  /** Not distributed, even at the coordinator of a Citus cluster. */
  isPlain?: boolean;
  /** The number of the cluster's workers to use; default: all. */
  workers?: number;
};

/** Reads the URLs from the environment, where preload.ts sets those of the embedded cluster. */
export function clusterUrls(): ClusterUrls | undefined {
  const { ADMIN_DATABASE_URL, DATABASE_URL, DATABASE_PREPARE } = process.env;
  const admin = ADMIN_DATABASE_URL || DATABASE_URL;
  if (!admin) return undefined;
  return { admin, serving: DATABASE_URL || admin, prepare: DATABASE_PREPARE !== "off" };
}

/** Without a pooler, also if there is one: only there, statements are pipelined. */
export function directUrls(): ClusterUrls | undefined {
  const urls = clusterUrls();
  return urls && { ...urls, serving: urls.admin, prepare: true };
}

/** Names the servers of `test/parallel.ts`: a JSON array of environments, one for each worker; `[]` without a database. */
export const TEST_SERVERS = "TEST_SERVERS";

/** Sets the environment to the listed server of this worker. */
export function useListedServer(): void {
  const { TEST_SERVERS: listed, BUN_TEST_WORKER_ID: worker } = process.env;
  if (listed === undefined || worker === undefined) return;
  const servers = JSON.parse(listed) as Record<string, string>[];
  if (servers.length === 0) return;
  // A worker that replaces a dead worker has the next number.
  Object.assign(process.env, servers[(Number(worker) - 1) % servers.length]);
}

export type TestDatabase = {
  name: string;
  /** As the cluster's administrator, direct. */
  adminUrl: string;
  /** As the serving login, which can only EXECUTE; through the pooler if there is one. */
  servingUrl: string;
  /** As `servingUrl`, if identity has its own login as in the split service. */
  apartUrl: string;
  /** As the logins of a split service: each is a member only of its role's group. */
  roleUrls: Readonly<Record<SplitRole, string>>;
  /** As the login that can only push, direct. */
  pushUrl: string;
  /** As the login of administrators in a browser, direct. */
  consoleUrl: string;
  /** As the login that counts and deletes apps' rows for commands, direct. */
  rowsUrl: string;
  /** As the administrator, through the pooler if there is one: the setting of a careless operator. */
  superuserUrl: string;
  prepare: boolean;
  drop: () => Promise<void>;
} & AsyncDisposable;

/** Applied to every test database. */
export const SUPERUSER_SQL = join(import.meta.dirname, "../../deploy/superuser.sql");
export const LOGIN = "rowhouse_test_login";
export const PUSH_LOGIN = "rowhouse_test_push";
export const CONSOLE_LOGIN = "rowhouse_test_console";
export const APART_LOGIN = "rowhouse_test_apart";
export const ROWS_LOGIN = "rowhouse_test_rows";
export const PASSWORD = "test login password";
export const SPLIT_ROLES = ["gateway", "data", "identity"] as const;
export type SplitRole = (typeof SPLIT_ROLES)[number];

/** Creates a migrated database in the run's cluster or in another cluster. */
export async function makeDatabase(urls = clusterUrls()): Promise<TestDatabase> {
  if (urls === undefined)
    throw new Error(
      "No PostgreSQL: run bun test from the project, so that bunfig.toml applies. test:unit has none",
    );
  const access = toAccess(urls, makeName());
  const drop = await create(access, urls);
  return { ...access, drop, [Symbol.asyncDispose]: drop };
}

type Access = Omit<TestDatabase, "drop" | typeof Symbol.asyncDispose>;

function toAccess(urls: ClusterUrls, name: string): Access {
  const adminUrl = withParts(urls.admin, { database: name });
  const servingUrl = withParts(urls.serving, {
    database: name,
    username: LOGIN,
    password: PASSWORD,
  });
  const apartUrl = withParts(servingUrl, { database: name, username: APART_LOGIN });
  const pushUrl = withParts(adminUrl, { database: name, username: PUSH_LOGIN, password: PASSWORD });
  const consoleUrl = withParts(pushUrl, { database: name, username: CONSOLE_LOGIN });
  const rowsUrl = withParts(pushUrl, { database: name, username: ROWS_LOGIN });
  const { username, password } = new URL(urls.admin);
  const superuserUrl = withParts(urls.serving, { database: name, username, password });
  const toRoleUrl = (role: SplitRole) =>
    withParts(urls.serving, { database: name, username: toLogin(role), password: PASSWORD });
  const roleUrls = {
    gateway: toRoleUrl("gateway"),
    data: toRoleUrl("data"),
    identity: toRoleUrl("identity"),
  };
  const { prepare } = urls;
  return {
    ...{ name, adminUrl, servingUrl, apartUrl, roleUrls, pushUrl, consoleUrl, rowsUrl },
    ...{ superuserUrl, prepare },
  };
}

/** Returns the function that drops the database. */
async function create(access: Access, urls: ClusterUrls): Promise<() => Promise<void>> {
  const { name } = access;
  if (isDistributed(urls)) {
    const template = urls.workers === undefined ? process.env[TEST_TEMPLATE] : undefined;
    return template === undefined
      ? await createDistributed(access, urls)
      : await copyOnNodes(urls.admin, { template, name }, withRoot);
  }
  const root = openRoot(urls.admin);
  const found = templates.get(urls.admin) ?? findOrMakeTemplate(root, urls);
  templates.set(urls.admin, found);
  await copyDatabase(root, { template: await found, name });
  return () => dropDatabase(urls.admin, name);
}

/** Creates a server's template in advance. */
export async function makeTemplate(urls: ClusterUrls): Promise<void> {
  await withDatabase(urls.admin, (root) => findOrMakeTemplate(root, urls));
}

function findOrMakeTemplate(root: Root, urls: ClusterUrls): Promise<string> {
  return findTemplate(root, async (making) => {
    await root.message(`create database ${making}`);
    await setUp(root, toAccess(urls, making));
  });
}

/** The template of each server, by the URL of its administrator. */
const templates = new Map<string, Promise<string>>();
const roots = new Map<string, Root>();
/** Creating and dropping wait for a checkpoint: with more, they only wait for each other. */
const ROOT_CONNECTIONS = 4;

/**
 * The administrator's connections, which all databases of a process share: a new connection costs a third of a database. Not a pool of
 * the service, which rejects a caller after three seconds: beside a checkpoint, each of these statements can take longer.
 */
function openRoot(url: string): Root {
  const root = roots.get(url) ?? makeRoot(url);
  roots.set(url, root);
  return root;
}

/** Runs statements of an administrator with a connection of their own, however long they take. */
export async function withRoot<Result>(
  url: string,
  use: (root: Root) => Promise<Result>,
): Promise<Result> {
  const root = makeRoot(url);
  try {
    return await use(root);
  } finally {
    await root.end();
  }
}

function makeRoot(url: string): Root & { end: () => Promise<void> } {
  const sql = postgres(url, {
    ...{ max: ROOT_CONNECTIONS, fetch_types: false, onnotice: () => undefined },
    connection: { application_name: "rowhouse test root" },
  });
  return { message: (text) => sql.unsafe(text), end: () => sql.end() };
}

function isDistributed({ admin, isPlain = false }: ClusterUrls): boolean {
  return admin === citusUrl() && !isPlain;
}

async function createDistributed(
  access: Access,
  urls: ClusterUrls,
): Promise<CitusDatabase["drop"]> {
  const citus = await makeCitusDatabase(urls, access.name, withRoot);
  await withDatabase(urls.admin, (root) => setUp(root, access, citus));
  return citus.drop;
}

/** Migrates an empty database and creates its logins. */
async function setUp(root: Root, access: Access, citus?: CitusDatabase): Promise<void> {
  for (const login of [
    LOGIN,
    PUSH_LOGIN,
    CONSOLE_LOGIN,
    ROWS_LOGIN,
    APART_LOGIN,
    ...SPLIT_ROLES.map(toLogin),
  ])
    await makeLogin(root, login);
  await withDatabase(access.adminUrl, async (admin) => {
    await migrate(admin);
    await citus?.distribute(admin);
    await grantLogin(admin, access.servingUrl);
    await grantLogin(admin, access.apartUrl, "all", { hasIdentityLogin: true });
    await grantPush(admin, access.pushUrl);
    await grantTask(admin, "CONSOLE_DATABASE_URL", access.consoleUrl);
    await grantTask(admin, "ROWS_DATABASE_URL", access.rowsUrl);
    for (const role of SPLIT_ROLES) await grantLogin(admin, access.roleUrls[role], role);
    await admin.message(`${readFileSync(SUPERUSER_SQL, "utf8")}; select 1`);
    await recordRelease(admin, digestRelease());
    await citus?.spread(admin);
    const { issues } = await makeIsolationCheck(admin)();
    if (issues.length > 0) throw new Error(`The template does not isolate apps: ${issues}`);
  });
}

/**
 * Creates an empty database, or a copy of one without sessions; returns its administrator's URL and the function that drops it.
 */
export async function makeEmptyDatabase(
  original?: string,
): Promise<Pick<TestDatabase, "drop" | typeof Symbol.asyncDispose> & { url: string }> {
  const urls = clusterUrls();
  if (urls === undefined) throw new Error("No PostgreSQL: run bun test from the project");
  const name = makeName();
  const root = openRoot(urls.admin);
  if (original === undefined) await root.message(`create database ${name} strategy file_copy`);
  else await copyDatabase(root, { template: new URL(original).pathname.slice(1), name });
  const drop = () => dropDatabase(urls.admin, name);
  return { url: withParts(urls.admin, { database: name }), drop, [Symbol.asyncDispose]: drop };
}

function makeName(): string {
  return `rowhouse_test_${crypto.randomUUID().replaceAll("-", "")}`;
}

async function dropDatabase(url: string, name: string): Promise<void> {
  await openRoot(url).message(`drop database ${name} with (force)`);
}

/** Of databases that tests do not wait for. */
let drops: Promise<unknown> = Promise.resolve();

/** Drops a database while the next tests run: PostgreSQL waits a tenth of a second if a session is just ending. */
export function dropLater({ drop }: Pick<TestDatabase, "drop">): void {
  drops = drops.then(drop);
}

/** @throws {Error} a database could not be dropped since the last call */
export async function waitForDrops(): Promise<void> {
  const pending = drops;
  drops = Promise.resolve();
  await pending;
}

/** Runs `use` with a connection, and closes it. */
export async function withDatabase<Result>(
  url: string,
  use: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = openDatabase({ url, connections: 1, prepare: true, name: "rowhouse test" });
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}

export function toLogin(role: SplitRole): string {
  return `rowhouse_test_${role}`;
}

async function makeLogin(root: Root, login: string): Promise<void> {
  await root.message(`do $$ begin
    if not exists (select from pg_roles where rolname = '${login}') then
      create role ${login} login connection limit 1000 password '${PASSWORD}';
    end if;
  exception when duplicate_object or unique_violation then null; end $$; select 1`);
}

function withParts(
  url: string,
  parts: { database: string; username?: string; password?: string },
): string {
  const target = new URL(url);
  target.pathname = `/${parts.database}`;
  if (parts.username !== undefined) target.username = parts.username;
  if (parts.password !== undefined) target.password = parts.password;
  return target.href;
}

/** Sets settings of a database, for all sessions from then on. */
export async function setDatabase(
  url: string,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const statements = Object.entries(settings).map(
    ([setting, value]) => `alter database ${name} set ${setting} = ${value}`,
  );
  await withDatabase(url, (admin) => admin.message(`${statements.join(";")}; select 1`));
}
