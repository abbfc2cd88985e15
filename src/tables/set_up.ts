/** A database of this release: the service's tables and code, the functions of apps' tables, and the rights of logins. @module */
import {
  admitNodes,
  ClusterError,
  checkCluster,
  checkLoginsLetIn,
  type Database,
  grantLogin,
  grantTask,
  isRestored,
  type MigrationPlan,
  migrate,
  quietLogins,
  readDialect,
  runOnNodes,
  SET_UP_LINES,
  setUpCluster,
  showRelease,
  spreadLogins,
  undoDistribution,
} from "../db/mod.ts";
import type { Role } from "../role.ts";
import { findSearchIssues } from "./sql/index_forms.ts";
import { fitReaders } from "./sql/reader.ts";
import { deferRebuilds, dropChangedFormer, refreshFunctions, sweepSets } from "./sql/refresh.ts";
import { digestRelease, recordRelease } from "./sql/release.ts";
import { listUnrecorded, showUnrecorded } from "./unrecorded_history.ts";

type SetUp = {
  applied: string[];
  /** Apps whose history of rows was not recorded, and is off now. */
  historyOff: string[];
  refreshed: string[];
  /** Indexes that deferred steps build. */
  rebuilt: string[];
  login: string | undefined;
  /** Whether tables, the service's code or apps' functions changed, or a later release forbids it. */
  isChanged: boolean;
  /** Whether the service's tables or code changed, which only another release does. */
  isUpgraded: boolean;
};

type SetUpOptions = {
  /** To distribute the database over nodes. */
  cluster?: { shards: number | undefined } | undefined;
  print?: Print | undefined;
};

/** Applies missing migrations, grants the serving login its rights unless it is the administrator, and renews functions. */
export async function setUpDatabase(
  admin: Database,
  logins: Logins,
  { cluster, print = () => undefined }: SetUpOptions = {},
): Promise<SetUp> {
  const restored = await isRestored(admin);
  if (restored && cluster !== undefined) throw new ClusterError([SET_UP_LINES.restored]);
  const spreads = cluster !== undefined || (!restored && (await readDialect(admin)).hasNodes);
  if (spreads) await checkCluster(admin, cluster?.shards);
  const historyOff = await listUnrecorded(admin);
  const { applied, code, later } = await migrate(admin, { report: print });
  if (later !== undefined) {
    print(`Nothing to do: ${showLater(later)}`);
    const nothing = { historyOff: [], refreshed: [], rebuilt: [], login: undefined };
    return { applied, ...nothing, isChanged: true, isUpgraded: false };
  }
  for (const line of showUnrecorded(historyOff)) print(line);
  if (code !== undefined) print("Renewed the service's functions and rights");
  if (restored) {
    await undoDistribution(admin);
    print(SET_UP_LINES.undone);
  }
  if (spreads) await setUpCluster(admin, cluster?.shards);
  const login = await grantServingLogin(admin, logins);
  for (const variable of [
    "CONSOLE_DATABASE_URL",
    "IDENTITY_DATABASE_URL",
    "ROWS_DATABASE_URL",
  ] as const) {
    const url = logins[variable];
    if (url === undefined) continue;
    await grantTask(admin, variable, url);
    print(`The login of ${variable} can ${TASKS[variable]}`);
  }
  if (spreads) await spreadLogins(admin);
  await quietLogins(admin, spreads ? runOnNodes : undefined);
  if (spreads) {
    await checkLoginsLetIn(admin);
    await admitNodes(admin);
    if (cluster !== undefined) print(SET_UP_LINES.ready);
  }
  // Without a recorded release, processes do not compare function bodies until all functions are renewed.
  await recordRelease(admin, null);
  await sweepSets(admin);
  const opened = await fitReaders(admin, ({ name, index, count }) =>
    print(`Added the policy of rowhouse_reader to table ${name} (${index} of ${count})`),
  );
  const dropped = await dropChangedFormer(admin);
  for (const signature of dropped)
    print(`Dropped ${signature}, which is not as an earlier release generated it`);
  const refreshed = await refreshFunctions(admin, ({ name, index, count }) =>
    print(
      name === undefined
        ? `Compared the functions of tables (${index} of ${count})`
        : `Renewed the functions of table ${name} (${index} of ${count})`,
    ),
  );
  const rebuilt = await deferRebuilds(admin);
  for (const issue of await findSearchIssues(admin))
    print(`Warning: ${issue}: conditions and orders of texts cannot use an index`);
  await recordRelease(admin, digestRelease());
  const isUpgraded = applied.length > 0 || code !== undefined;
  const isChanged =
    isUpgraded || opened.length + dropped.length + refreshed.length + rebuilt.length > 0;
  return { applied, historyOff, refreshed, rebuilt, login, isChanged, isUpgraded };
}

/** The tasks of logins. Each has a login of its own. */
const TASKS = {
  CONSOLE_DATABASE_URL: "serve the Console",
  IDENTITY_DATABASE_URL: "serve identity",
  ROWS_DATABASE_URL: "count, read, restore and delete apps' rows",
} as const satisfies Readonly<Record<string, string>>;

type Print = (line: string) => void;

/** The addresses of the logins that get rights. */
type Logins = Partial<Record<keyof typeof TASKS, string | undefined>> & {
  DATABASE_URL?: string | undefined;
  ADMIN_DATABASE_URL?: string | undefined;
  ROLE?: Role | undefined;
};

/** The login that can now serve; `undefined` if it is the administrator. */
async function grantServingLogin(admin: Database, logins: Logins): Promise<string | undefined> {
  const { DATABASE_URL: serving, ADMIN_DATABASE_URL: administering } = logins;
  if (serving === undefined || administering === undefined) return undefined;
  const login = decodeURIComponent(new URL(serving).username);
  if (login === decodeURIComponent(new URL(administering).username)) return undefined;
  await grantLogin(admin, serving, logins.ROLE, {
    hasIdentityLogin: logins.IDENTITY_DATABASE_URL !== undefined,
  });
  return login;
}

export function showLater(later: NonNullable<MigrationPlan["later"]>): string {
  return `the database was upgraded by Rowhouse ${showRelease(later)}, which lets this release serve`;
}
