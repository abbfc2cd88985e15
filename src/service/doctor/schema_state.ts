/** The doctor's checks of the database's schema: migrations, generated functions, isolation, nodes, running processes. @module */

import { type AppSwitchName, describeSwitch, toDashed } from "../../app_switch.ts";
import {
  CONTRACTED_FROM,
  call,
  canContract,
  type Database,
  findMismatch,
  findNodeFailure,
  type MigrationState,
  type NodeEntry,
  RELEASE_TEXT,
  type Result,
  showRelease,
  toNodeRemedy,
} from "../../db/mod.ts";
import type { Preview } from "../../preview.ts";
import { toDurationText } from "../../std/duration.ts";
import { PROCESS_SILENT_S } from "../../std/limits.ts";
import { errorCode } from "../../std/network.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import type { Isolation } from "../../tables/catalog/mod.ts";
import {
  findLargeApps,
  findOutdatedTables,
  findSearchIssues,
  findUncallableTables,
  listFormer,
} from "../../tables/mod.ts";
import { type CheckResult, fail, pass, warn } from "../check_result.ts";

export function evaluateMigrations(state: MigrationState): CheckResult {
  const about = "migrations";
  const mismatch = findMismatch(state);
  if (mismatch !== undefined)
    return fail(about, { ...mismatch, message: `the database ${mismatch.message}` });
  const { missing, hasCode, later } = state;
  if (later !== undefined)
    return warn(about, {
      message: `the database was upgraded by Rowhouse ${showRelease(later)}, which lets this release serve`,
      remedy: "restart the processes with that release",
    });
  if (missing.length === 0 && hasCode) return pass(about, "are all applied");
  if (missing.length === 0)
    return fail(about, {
      message: "the database has the functions of another release",
      remedy: "run rowhouse migrate",
    });
  return fail(about, {
    message: `${missing.length} missing`,
    remedy: "run rowhouse migrate",
  });
}

/** The previews of this setting; if PREVIEW is invalid, none. */
export function showPreviews(previews: readonly Preview[] = []): CheckResult {
  return pass("previews", `on: ${previews.toSorted().join(", ") || "none"}`);
}

/** What keeps the server from searching the indexes of texts. */
export async function checkSearch(admin: Database): Promise<CheckResult[]> {
  const issues = await findSearchIssues(admin);
  return issues.map((issue) =>
    warn("search", {
      message: `${issue}: conditions and orders of texts cannot use an index`,
      remedy: "use PostgreSQL with its own definitions of built-in functions",
    }),
  );
}

/** An app's switch without a process that serves it: clients get errors, and the database records what no one reads. */
export async function checkSwitches(db: Database): Promise<CheckResult[]> {
  const unserved = await call(db, "unserved_switches", {});
  return unserved.map(({ app, name }) => {
    const { title, preview } = describeSwitch(name as AppSwitchName);
    const setting = toDashed(name as AppSwitchName);
    return warn("previews", {
      message: `${title.toLowerCase()}: on for ${app}, and no running process serves it`,
      remedy: `add ${preview} to PREVIEW and restart the service, or run rowhouse admin set-app ${quoteForShell(app)} ${quoteForShell(setting)} off`,
    });
  });
}

/** The end of an upgrade. While earlier processes run, or can be needed again, there is nothing to do. */
export async function checkContract(db: Database): Promise<CheckResult[]> {
  if (!(await canContract(db)) && (await listFormer(db)).length === 0) return [];
  return [
    warn("upgrade", {
      message: `is not finished: the database keeps what only releases before ${CONTRACTED_FROM} need`,
      remedy:
        "when you will not go back to such a release, run rowhouse migrate --contract: they cannot use the database after it",
    }),
  ];
}

/** Whether this release generated the functions of all tables, and otherwise whether it can call them. */
export async function checkFunctions(admin: Database): Promise<CheckResult> {
  const about = "functions";
  const outdated = (await findOutdatedTables(admin, true)).length;
  const uncallable = (await findUncallableTables(admin)).length;
  if (outdated === 0) return pass(about, "of all tables are from this release");
  const tables = `${outdated} ${outdated === 1 ? "table" : "tables"}`;
  return {
    about,
    level: uncallable > 0 ? "fail" : "warn",
    message: `of ${tables} are from another release${uncallable > 0 ? ": this release cannot serve their rows" : ""}`,
    remedy: "run rowhouse migrate",
  };
}

/** The apps above limits that were higher, or did not exist, when they grew: they work, and cannot grow. */
export async function checkSizes(admin: Database): Promise<CheckResult[]> {
  const about = "sizes of apps";
  const large = await findLargeApps(admin);
  if (large.length === 0) return [pass(about, "within the limits of their functions and rules")];
  return large.map((message) =>
    warn(about, {
      message,
      remedy: "ask its developers for fewer tables, or fewer different rules",
    }),
  );
}

export function evaluateIsolation(issues: readonly string[]): CheckResult[] {
  const about = "isolation";
  if (issues.length === 0)
    return [pass(about, "holds: row security, policies, owners, grants, roles")];
  return issues.map((message) =>
    fail(about, {
      message,
      remedy: "restore the object in the message: until then the service rejects requests",
    }),
  );
}

/** The service compares no functions while `rowhouse migrate` renews them, nor after it was killed, until the next run. */
export function evaluateRelease({ release }: Pick<Isolation, "release">): CheckResult[] {
  if (release !== null) return [];
  return [
    warn("release", {
      message:
        "rowhouse migrate has not finished, so the service does not check the bodies of functions",
      remedy: "run rowhouse migrate again, unless it is still running",
    }),
  ];
}

/** Nodes of a database with several; apps on other nodes are still served. */
export function checkNodes({ silent, added }: Pick<Isolation, "silent" | "added">): CheckResult[] {
  const unprepared = added.map((node) =>
    warn("nodes", {
      message: `${node} was added but is not set up: it gets no rows`,
      remedy: "run rowhouse migrate",
    }),
  );
  const unavailable = silent.map((node) =>
    warn("nodes", {
      message: `${node} does not respond: requests of apps on this node fail, and so does every push`,
      remedy: `start PostgreSQL on ${node}, then run rowhouse doctor again: its isolation is not checked until then`,
    }),
  );
  return [...unprepared, ...unavailable];
}

/** A warning for each node that rejects the login of `url`, does not respond to this machine, or is another server. */
export async function checkNodeAddresses(
  nodes: Iterable<NodeEntry>,
  url: string,
): Promise<CheckResult[]> {
  const failures = await Promise.all(
    [...nodes].map(async (node) => ({ node, failure: await findNodeFailure(url, node) })),
  );
  return failures
    .filter(({ failure }) => failure !== undefined)
    .map(({ node: { host, port }, failure }) =>
      warn("nodes", {
        message: `${host}:${port} does not accept connections from here (${errorCode(failure) ?? "unknown error"}): its calls go through the coordinator`,
        remedy: toNodeRemedy({ host, port }),
      }),
    );
}

/** Processes of one version. */
type Running = Result<"running_versions">[number];

/** Reads what each process adds with its statistics, so it costs requests nothing and works behind any pooler. */
export async function checkProcesses(db: Database): Promise<CheckResult> {
  return evaluateProcesses(await call(db, "running_versions", {}));
}

/** A rolling upgrade has two versions for a while; it is not finished until there is one, that of this command. */
export function evaluateProcesses(running: readonly Running[]): CheckResult {
  const about = "processes";
  const others = running.filter(({ version }) => version !== RELEASE_TEXT);
  const list = running.map(describe).join(", ");
  if (running.length === 0) return pass(about, "none has reported to this database recently");
  if (others.length === 0) return pass(about, list);
  const isMixed = running.length > 1;
  return warn(about, {
    message: isMixed
      ? `of different versions run: ${list}`
      : `run another version than this command: ${list}`,
    remedy: `this command is ${RELEASE_TEXT}: restart the processes with the version that they should have, and run its doctor. A killed process is listed for ${toDurationText(PROCESS_SILENT_S)}`,
  });
}

function describe({ version, processes, since }: Running): string {
  const count = `${processes} ${processes === 1 ? "process" : "processes"}`;
  return `${count} of ${version}, since ${since.toISOString().slice(0, 19)}Z`;
}
