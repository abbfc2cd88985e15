/**
 * Deferred steps of a push after its COMMIT: builds on large or shared tables, which must not be locked. Each is a row with a
 * lease, so that only one process works on it, and another process continues if that process exits.
 *
 * @module
 */

import {
  call,
  coalesce,
  type Database,
  readSqlState,
  readValue,
  ViolationError,
} from "../../db/mod.ts";
import { isReference, SQL } from "../../kinds/mod.ts";
import { type Log, logError } from "../../observe.ts";
import { type NamedColumn, QUOTAS } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { utf8Length } from "../../std/text.ts";
import {
  type DeferredParts,
  findConstraint,
  indexesOf,
  nameOf,
  type RecordedDefinition,
} from "../catalog/mod.ts";
import { showDefault } from "../plan/compare.ts";
import type { TableState } from "../state.ts";
import { type DeferredBuild, renderDeferred, renderDropIndex } from "./ddl.ts";

export type DeferredStep = {
  table: string;
  kind: "index" | "reference";
  name: string;
  columns: string[];
  state: "waiting" | "running" | "done" | "failed";
  fault: string | null;
  attempts: number;
};

/** `index`: absent if the table no longer has it. */
type Claimed = {
  id: string;
  table: string;
  name: string;
  index: DeferredBuild["index"] | undefined;
};

const LEASE_S = 60;
const RENEW_MS = 20_000;
/** A build on a very large table lasts hours. After this time it ends, and a later push retries it. */
const BUILD_TIMEOUT_MS = 12 * 60 * 60 * 1000;
/** A separate queue: the renewal of a lease must not wait for the build. */
const BUILD = { timeoutMs: BUILD_TIMEOUT_MS, queue: "deferred steps" };

/** One run per process: a build occupies a connection until it ends, and pushes need the others. */
const runs = new WeakMap<Database, () => Promise<void>>();

type DeferredDeps = { admin: Database; log: Log };

/** Works on every step without another worker. Never rejects: failures are recorded in the step's row or logged. */
export function resumeDeferredSteps({ admin, log }: DeferredDeps): Promise<void> {
  const run = runs.get(admin) ?? coalesce(() => runDeferredSteps({ admin, log }));
  runs.set(admin, run);
  // If the database is unavailable, the steps wait for the next push.
  return run().catch(logError(log, "the deferred steps"));
}

/** Whether a killed process left steps: changes of their tables wait for them. */
export async function hasAbandonedSteps(admin: Database): Promise<boolean> {
  return await readValue<boolean>(
    admin,
    `select exists (select from rowhouse.deferred_steps where state in ('waiting', 'running')
      and lease_until < pg_catalog.now() and not rowhouse.is_stopped(app_id)) as is_abandoned`,
  );
}

async function runDeferredSteps(deps: DeferredDeps): Promise<void> {
  const { admin } = deps;
  let after = "0";
  for (;;) {
    const step = await claimStep(admin, after);
    if (step === undefined) return;
    after = step.id;
    const timer = setInterval(() => void renewLease(deps, step.id), RENEW_MS);
    const end = await build(deps, step).finally(() => clearInterval(timer));
    await endStep(admin, step.id, end);
  }
}

async function claimStep(admin: Database, after: string): Promise<Claimed | undefined> {
  const values = { after: Number(after), lease_s: LEASE_S };
  const [row] = await call(admin, "claim_build", values);
  if (row === undefined) return undefined;
  const definition = row.definition as RecordedDefinition;
  const step = { id: String(row.step_id), table: row.table_name, name: row.step_name };
  return { ...step, index: findConstraint(definition, row.step_name) };
}

/** Also records the progress of the build, which PostgreSQL shows only to the login that builds. */
export async function renewLease({ admin, log }: DeferredDeps, id: string): Promise<void> {
  const values = { step_id: Number(id), lease_s: LEASE_S };
  const renewed = call(admin, "renew_deferred_step", values);
  // The next renewal makes up for a failed renewal. If all fail, the lease expires, and another process continues.
  await renewed.catch(logError(log, "the lease of a deferred step"));
}

type End = { state: "waiting" | "done" | "failed"; issue: string | null };

async function endStep(admin: Database, id: string, { state, issue }: End): Promise<void> {
  const values = { step_id: Number(id), new_state: state, new_issue: issue };
  await call(admin, "end_deferred_step", values);
}

async function build({ admin, log }: DeferredDeps, step: Claimed): Promise<End> {
  try {
    const { table, index } = step;
    if (index?.kind === "fkey") return await runBuild(admin, { table, index });
    return await buildIndex(admin, step);
  } catch (error) {
    if (!(error instanceof ViolationError)) logError(log, "a deferred step")(error);
    return toEnd(error);
  }
}

/**
 * An interrupted build leaves an invalid index, which slows every write and serves no query: drop it. A step of a release before 0.2.0
 * names a former index.
 */
async function buildIndex(admin: Database, { table, name, index }: Claimed): Promise<End> {
  const wanted = index && nameOf(index);
  for (const index_name of new Set([name, wanted ?? name])) {
    const [found] = await call(admin, "find_index", { index_name, table_name: table });
    if (found?.is_building === true)
      return { state: "waiting", issue: "another session is building it" };
    if (found?.is_valid === false) await admin.message(renderDropIndex(index_name), BUILD);
    if (index !== undefined && index_name === wanted && found?.is_valid !== true)
      await runBuild(admin, { table, index });
  }
  return DONE;
}

const DONE: End = { state: "done", issue: null };

async function runBuild(admin: Database, step: DeferredBuild): Promise<End> {
  await admin.message(renderDeferred(step), BUILD);
  return DONE;
}

/** Violating rows need a person. Any other failure can succeed on a retry. */
function toEnd(error: unknown): End {
  if (error instanceof ViolationError) {
    return { state: "failed", issue: "existing rows violate it" };
  }
  const state = readSqlState(error);
  return { state: "waiting", issue: `interrupted${state === undefined ? "" : ` (${state})`}` };
}

// Parts that an owner adds to a table while other apps use it. Other apps' rows store the defaults
// of these columns, so the bytes of the defaults are limited. New indexes exclude other apps' rows.

/** Whether another app uses the table. */
export function isShared({ uses, ownerAppId }: Pick<TableState, "uses" | "ownerAppId">): boolean {
  return uses.some(({ appId }) => appId !== ownerAppId);
}

/** A table after a declaration, with its deferred parts. A table that only its owner uses has no deferred parts. */
export function markDeferred(next: RecordedDefinition, found: TableState): RecordedDefinition {
  const { deferred: before = NONE, ...recorded } = found.definition;
  if (canonicalJson(next) === canonicalJson(recorded)) return found.definition;
  const deferred = isShared(found)
    ? {
        columns: [...new Set([...before.columns, ...findDeferredColumns(next, recorded)])],
        indexes: { ...before.indexes, ...findDeferredIndexes(next, found) },
      }
    : { ...before, columns: [] };
  const isNone = deferred.columns.length === 0 && Object.keys(deferred.indexes).length === 0;
  return isNone ? next : { ...next, deferred };
}

const NONE: DeferredParts = { columns: [], indexes: {} };

function findDeferredColumns(next: RecordedDefinition, recorded: RecordedDefinition): string[] {
  const before = new Map(recorded.columns.map((column) => [column.name, showDefault(column)]));
  return next.columns
    .filter((column) => showDefault(column) !== before.get(column.name))
    .map(({ name }) => name);
}

/** Excludes the indexes of references: deletes use them for lookups, and they contain only rows with the reference. */
function findDeferredIndexes(next: RecordedDefinition, found: TableState): Record<string, string> {
  const before = new Set(indexesOf(found.definition).map(({ name }) => name));
  const deferred = indexesOf(next).filter(
    ({ name, kinds }) =>
      !before.has(name) && (kinds.length > 1 || !kinds.every((kind) => isReference({ kind }))),
  );
  return Object.fromEntries(deferred.map(({ name }) => [name, found.ownerAppId]));
}

/**
 * The stored bytes of deferred defaults, if they exceed the limit and grow. Rows of other apps contain the defaults of all
 * columns that these apps do not declare.
 */
export function sumExcessDefaults(
  next: RecordedDefinition,
  { definition }: TableState,
): number | undefined {
  const bytes = sumDeferredDefaults(next);
  const isAllowed =
    bytes <= QUOTAS.deferredDefaultBytes || bytes <= sumDeferredDefaults(definition);
  return isAllowed ? undefined : bytes;
}

function sumDeferredDefaults({ columns, deferred = NONE }: RecordedDefinition): number {
  const names = new Set(deferred.columns);
  return columns
    .filter(({ name }) => names.has(name))
    .reduce((sum, column) => sum + toStoredBytes(column), 0);
}

/** Max bytes of a column's default in a row, padding included. */
function toStoredBytes({ kind, default: value }: NamedColumn): number {
  if (value === undefined) return 0;
  const text = typeof value === "string" ? value : canonicalJson(value);
  return SQL[kind].storedBytes(utf8Length(text));
}
