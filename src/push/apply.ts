/**
 * A push, from definition to done: read the state, plan, render one message, run it. The message takes its locks
 * without waiting and checks that the state it was planned on still holds; else the push is planned again or is busy.
 *
 * @module
 */
import { type Database, quoteLiteral, SignalError, ViolationError } from "../db/mod.ts";
import type { Definition } from "../dsl/mod.ts";
import { Problem } from "../problem.ts";
import { canonicalJson } from "../std/canonical_json.ts";
import type { Conflict } from "./compare.ts";
import { renderStep } from "./ddl.ts";
import { describePlan, type Migration, makeMigration } from "./migration.ts";
import { type Plan, planPush, type Step } from "./plan.ts";
import { type PushState, readState } from "./state.ts";

export type PushDeps = { admin: Database };
export type PushRequest = {
  app: { id: string; slug: string };
  definition: Definition;
  options: { dryRun: boolean };
};
export type PushResult = {
  status: "applied" | "unchanged" | "planned";
  migration: Migration | null;
  steps: string[];
  notes: string[];
};

const BUSY = "RH001";
const MOVED = "RH002";
/** How often a push is planned again because another one came between; each time somebody made progress. */
const MOST_PLANS = 5;
const LOCK_TIMEOUT_MS = 2000;
const MESSAGE_TIMEOUT_MS = 120_000;

/**
 * Makes an app's definition true, or says what it would do.
 *
 * @throws {Problem} incompatible_schema — with every conflict; push_busy — another push is under way
 */
export async function push(deps: PushDeps, request: PushRequest): Promise<PushResult> {
  for (let attempt = 1; attempt <= MOST_PLANS; attempt++) {
    const names = request.definition.tables.map((table) => table.name);
    const state = await readState(deps.admin, request.app.id, names);
    const plan = planPush(request.app.id, request.definition, state);
    if (plan.conflicts.length > 0) throw incompatible(plan.conflicts);
    if (plan.steps.length === 0)
      return { status: "unchanged", migration: null, steps: [], notes: plan.notes };
    const migration = makeMigration(plan, state.migrations.at(-1), request.app.slug);
    const result = { migration, steps: describePlan(plan), notes: plan.notes };
    if (request.options.dryRun) return { status: "planned", ...result };
    if (await runMessage(deps.admin, toMessage(request.app.id, { plan, migration, state }))) {
      return { status: "applied", ...result };
    }
  }
  throw busy();
}

/** Whether the message was applied; not, where the state had moved on. */
async function runMessage(admin: Database, text: string): Promise<boolean> {
  try {
    await admin.message(text, { timeoutMs: MESSAGE_TIMEOUT_MS });
    return true;
  } catch (error) {
    if (error instanceof SignalError && error.signal === MOVED) return false;
    if (error instanceof SignalError && error.signal === BUSY) throw busy();
    if (error instanceof ViolationError) throw brokenByRows(error);
    throw error;
  }
}

type Prepared = { plan: Plan; migration: Migration; state: PushState };

/** One message, one transaction: the first statement locks, the last one returns. */
function toMessage(appId: string, { plan, migration, state }: Prepared): string {
  const version = state.version + 1;
  return [
    `do $rowhouse$ begin perform rowhouse.lock_push(array[${lockNames(appId, plan).map(quoteLiteral).join(", ")}], ${state.version}); end $rowhouse$`,
    `set local lock_timeout = '${LOCK_TIMEOUT_MS}ms'`,
    `set local statement_timeout = '${MESSAGE_TIMEOUT_MS}ms'`,
    `set local citus.multi_shard_modify_mode = 'sequential'`,
    "set local role rowhouse_owner",
    ...plan.steps.flatMap(renderStep),
    ...plan.steps.flatMap((step) => renderRecord(step, appId, version)),
    `update rowhouse.versions set version = ${version} where name = 'catalog'`,
    `insert into rowhouse.migrations (app_id, seq, name, parent, checksum, sql) values (${quoteLiteral(appId)}, ${migration.seq}, ${quoteLiteral(migration.name)}, ${quoteLiteral(migration.parent)}, ${quoteLiteral(migration.checksum)}, ${quoteLiteral(migration.sql)}) returning seq`,
  ].join(";\n");
}

/** The app, every table that it touches and every table that those point to. */
function lockNames(appId: string, plan: Plan): string[] {
  const tables = plan.steps.flatMap((step) => {
    if (typeof step.table === "string") return [step.table];
    return [step.table.name, ...step.table.columns.flatMap((column) => column.table ?? [])];
  });
  return [`app ${appId}`, ...[...new Set(tables)].sort().map((name) => `table ${name}`)];
}

/** What a step leaves in the registry. */
function renderRecord(step: Step, appId: string, version: number): string[] {
  if (step.kind !== "record_table" && step.kind !== "register") return [];
  const name = quoteLiteral(step.table.name);
  const definition = `${quoteLiteral(canonicalJson(step.table))}::jsonb`;
  const values = `${name}, ${quoteLiteral(appId)}, ${definition}, ${version}`;
  const [table, owner, key] =
    step.kind === "record_table"
      ? ["rowhouse.tables", "name, owner_app_id", "name"]
      : ["rowhouse.registrations", "table_name, app_id", "app_id, table_name"];
  return [
    `insert into ${table} (${owner}, definition, version) values (${values})
on conflict (${key}) do update set definition = excluded.definition, version = excluded.version`,
  ];
}

function incompatible(conflicts: readonly Conflict[]): Problem {
  return new Problem("incompatible_schema", {
    message: `Cannot push: ${conflicts.length} ${conflicts.length === 1 ? "declaration does" : "declarations do"} not fit the tables; nothing was written`,
    details: conflicts.map(({ table, column, wanted, found, remedy }) => ({
      path: column === undefined ? `/${table}` : `/${table}/${column}`,
      message: `Wanted ${wanted}, found ${found}: ${remedy}`,
    })),
  });
}

/** Rows that are there break what the push asks for. Which rows, and whose, is never told. */
function brokenByRows({ violation }: ViolationError): Problem {
  const what =
    violation.kind === "unique"
      ? "a unique"
      : violation.kind === "required"
        ? "a required column"
        : "a rule";
  return new Problem("incompatible_schema", {
    message: `Cannot push: rows that are there break ${what} of this push; nothing was written`,
  });
}

function busy(): Problem {
  return new Problem("push_busy", { headers: { "retry-after": "1" } });
}
