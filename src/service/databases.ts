/** The pools of a process: one per login. @module */

import { type Database, type makeNodeMap, openDatabase } from "../db/mod.ts";
import { type Log, logError, toCause } from "../observe.ts";
import type { Role } from "../role.ts";
import type { makeOutage } from "./outage.ts";
import type { UpstreamOptions } from "./upstreams.ts";

export type DatabasesOptions = {
  databaseUrl: string;
  /** Connection string of the pushing login. */
  adminDatabaseUrl: string;
  /** Connection string of the Console's login; unset: no Console. */
  consoleDatabaseUrl?: string | undefined;
  /** Connection string of the login for identity, for role `all`; unset: identity uses `databaseUrl`. */
  identityDatabaseUrl?: string | undefined;
  /** Pool size for identity; defaults to `connections`. */
  identityConnections?: number | undefined;
  connections: number;
  /** Pool size for each node of a database with several; 0, the default: all calls go through the coordinator. */
  nodeConnections?: number | undefined;
  prepare: boolean;
  log: Log;
  /** Defaults to `all`. */
  role?: Role;
} & Pick<UpstreamOptions, "limitMs">;

/** Per process that pushes. */
export const ADMIN_CONNECTIONS = 4;
/** One for an app's push and one to reject a concurrent push as busy; the rest is for other apps and deferred builds. */
const ADMIN_SHARE = 2;

/** Per process that serves the Console: enough for a few users, and a long deletion of an app. */
const CONSOLE_CONNECTIONS = 4;

const MISMATCH =
  "The database returned the result of another request. It was not delivered, and the connection was closed. Check the pooler and the network: this error is critical";

export type Databases = ReturnType<typeof openDatabases>;

type Watchers = {
  nodes: ReturnType<typeof makeNodeMap>;
  outage: ReturnType<typeof makeOutage>;
};

/** Opens the pools, without connecting. */
export function openDatabases(options: DatabasesOptions, { nodes, outage }: Watchers) {
  const { prepare, role = "all" } = options;
  const db = openDatabase({
    nodes,
    nodeConnections: options.nodeConnections ?? 0,
    onNodeUnavailable: (node, cause) =>
      options.log("warn", "node unreachable", {
        message: `${node}: calls of its apps go through the coordinator`,
        cause: toCause(cause),
      }),
    onUnreachable: outage.begin,
    onRefused: outage.refuse,
    onThere: outage.end,
    onMismatch: () => options.log("error", "response mismatch", { message: MISMATCH }),
    onGroupBug: logError(options.log, "a group of creates"),
    url: options.databaseUrl,
    connections: options.connections,
    prepare,
    name: role === "all" ? "rowhouse" : `rowhouse ${role}`,
    ...(options.limitMs === undefined ? {} : { limitMs: options.limitMs }),
  });
  const admin = openDatabase({
    nodes,
    url: options.adminDatabaseUrl,
    connections: ADMIN_CONNECTIONS,
    share: ADMIN_SHARE,
    prepare,
    name: "rowhouse admin",
  });
  const consoleDb = openConsole(options, role);
  const ownIdentityDb = openIdentity(options, role);
  const close = async () => {
    await Promise.all([db.close(), admin.close(), consoleDb?.close(), ownIdentityDb?.close()]);
  };
  return { db, admin, consoleDb, identityDb: ownIdentityDb ?? db, close };
}

/** The Console's separate connections, in a process that serves its pages. */
function openConsole(
  { consoleDatabaseUrl: url, prepare }: DatabasesOptions,
  role: Role,
): Database | undefined {
  if (url === undefined || (role !== "all" && role !== "identity")) return undefined;
  return openDatabase({ url, connections: CONSOLE_CONNECTIONS, prepare, name: "rowhouse console" });
}

/** Separate connections for identity in role `all`; in a split service each part has its own login. */
function openIdentity(options: DatabasesOptions, role: Role): Database | undefined {
  const { identityDatabaseUrl: url, identityConnections, connections, prepare, limitMs } = options;
  if (url === undefined || role !== "all") return undefined;
  return openDatabase({
    ...{ url, prepare, connections: identityConnections ?? connections },
    name: "rowhouse identity",
    ...(limitMs === undefined ? {} : { limitMs }),
  });
}
