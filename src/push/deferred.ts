/**
 * What a push leaves for after its COMMIT: builds on tables that are large or that several apps use, which must not lock them. Each is a row with a lease, so
 * that one process at a time works on it, and another continues if that one dies.
 *
 * @module
 */
import { findConstraint, type RecordedDefinition } from "../catalog/mod.ts";
import { call, coalesce, type Database, readSqlState, ViolationError } from "../db/mod.ts";
import { type Log, noteFault } from "../observe.ts";
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

type Claimed = DeferredBuild & { id: string };

const LEASE_S = 60;
const RENEW_MS = 20_000;
/** A build on a very large table takes hours; after this time it is given up, and a later push tries again. */
const BUILD_TIMEOUT_MS = 12 * 60 * 60 * 1000;
/** A queue of their own: the renewal of a build's lease must not wait behind the build. */
const BUILD = { timeoutMs: BUILD_TIMEOUT_MS, queue: "deferred steps" };

/** One run at a time per process: a build occupies a connection for as long as it lasts, and pushes need the others. */
const runs = new WeakMap<Database, () => Promise<void>>();

type DeferredDeps = { admin: Database; log: Log };

/** Works on every step that no one else works on. Never rejects: failures are noted in the step's row, or in the log. */
export function resumeDeferredSteps({ admin, log }: DeferredDeps): Promise<void> {
  const run = runs.get(admin) ?? coalesce(() => runDeferredSteps({ admin, log }));
  runs.set(admin, run);
  // If the database is away, the steps wait for the next push.
  return run().catch(noteFault(log, "the deferred steps"));
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
  const [row] = await call(admin, "claim_deferred_step", values);
  if (row === undefined) return undefined;
  const definition = row.definition as RecordedDefinition;
  const constraint = findConstraint(definition, row.step_name);
  if (constraint === undefined)
    throw new Error(`The deferred step of ${row.table_name} has nothing to build`);
  return { id: String(row.step_id), table: row.table_name, constraint };
}

/** Also notes how far the build is: PostgreSQL shows that to the login that builds and to no other. */
export async function renewLease({ admin, log }: DeferredDeps, id: string): Promise<void> {
  const values = { step_id: Number(id), lease_s: LEASE_S };
  const renewed = call(admin, "renew_deferred_step", values);
  // If a renewal fails, the next one makes up for it; otherwise the lease expires, as it should.
  await renewed.catch(noteFault(log, "the lease of a deferred step"));
}

type End = { state: "waiting" | "done" | "failed"; fault: string | null };

async function endStep(admin: Database, id: string, { state, fault }: End): Promise<void> {
  const values = { step_id: Number(id), new_state: state, new_fault: fault };
  await call(admin, "end_deferred_step", values);
}

async function build({ admin, log }: DeferredDeps, step: Claimed): Promise<End> {
  try {
    const isIndex = step.constraint.kind === "idx";
    return isIndex ? await buildIndex(admin, step) : await runBuild(admin, step);
  } catch (error) {
    if (!(error instanceof ViolationError)) noteFault(log, "a deferred step")(error);
    return toEnd(error);
  }
}

/** An interrupted build leaves an invalid index, which no query uses but every write pays for: it is dropped. */
async function buildIndex(admin: Database, step: Claimed): Promise<End> {
  const values = { index_name: step.constraint.name, table_name: step.table };
  const [found] = await call(admin, "find_index", values);
  if (found?.is_valid === true) return DONE;
  if (found?.is_building === true)
    return { state: "waiting", fault: "another session is building it" };
  if (found !== undefined) await admin.message(renderDropIndex(step.constraint.name), BUILD);
  return await runBuild(admin, step);
}

const DONE: End = { state: "done", fault: null };

async function runBuild(admin: Database, step: Claimed): Promise<End> {
  await admin.message(renderDeferred(step), BUILD);
  return DONE;
}

/** Rows that do not fit need a person; any other failure may succeed next time. */
function toEnd(error: unknown): End {
  if (error instanceof ViolationError) {
    return { state: "failed", fault: "existing rows violate it" };
  }
  const state = readSqlState(error);
  return { state: "waiting", fault: `interrupted${state === undefined ? "" : ` (${state})`}` };
}
