/** The pools of a process: one per login. @module */

import { type Database, type makeNodeMap, openDatabase } from "../db/mod.ts";
import type { Audience } from "../gateway/mod.ts";
import { type Log, logError, toCause } from "../observe.ts";
import type { Role } from "../role.ts";
import { type CheckResult, fail, pass, warn } from "./check_result.ts";
import type { makeOutage } from "./unavailable.ts";
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

// The doctor's checks that need no database: settings, secrets, driver. Pure.

/** Each message contains the variable and the expected value, never the actual value. */
export function evaluateSettings(issues: readonly string[]): CheckResult[] {
  const about = "settings";
  if (issues.length === 0) return [pass(about, "are valid")];
  const remedy = "correct the variable: .env.example lists every setting";
  return issues.map((message) => fail(about, { message, remedy }));
}

/** The variables that a `.env` file sets, and of whose text Bun dropped a part. */
export function evaluateLostText(
  lost: readonly { variable: string; file: string }[],
): CheckResult[] {
  return lost.map(({ variable, file }) =>
    warn("settings", {
      message: `${variable} has lost a part: ${file} has a $ in it, and Bun takes the letters after it for the name of a variable, which is not set`,
      remedy: `write \\$ for each $ of ${variable} in ${file}, in every kind of quotes`,
    }),
  );
}

/** If both services share a secret, each can impersonate the gateway to the other. */
export function evaluateSecrets(
  secrets: Readonly<Record<Audience, readonly string[]>>,
): CheckResult {
  const about = "secrets";
  if (!secrets.data.some((secret) => secrets.identity.includes(secret)))
    return pass(about, "of data and identity differ");
  return warn(about, {
    message:
      "are the same for data and identity: each of these services can sign requests to the other",
    remedy:
      "set INTERNAL_HMAC_SECRET_DATA and INTERNAL_HMAC_SECRET_IDENTITY on the gateway, and each as INTERNAL_HMAC_SECRET on its service",
  });
}

export function evaluateDriver(isPatched: boolean): CheckResult {
  const about = "driver";
  if (isPatched) return pass(about, "is patched");
  return warn(about, {
    message:
      "is not patched: requests are slower, and a write interrupted by a database shutdown is reported as unknown instead of retried",
    remedy:
      "run bun install in the folder of the sources, which applies patches/; the package has the patched driver",
  });
}
