/**
 * An explicit change: a step of a push whose plan does not follow from a definition. Afterwards the app declares its last
 * migration's definition with the change.
 *
 * @module
 */

import { call, type Database, quoteLiteral, quoteName } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import type { Definition } from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import { canonicalJson } from "../../std/json.ts";
import { type Cases, matchKind } from "../../std/match_kind.ts";
import { quote } from "../../std/quote.ts";
import {
  type AppliedStep,
  type ApplyRequest,
  applyStep,
  type PushDeps,
  prepare,
} from "../apply.ts";
import { REASONS, type RowCounts, showAffected } from "../conflicts.ts";
import { type Change, changeDefinition, toTableNames } from "../plan/change.ts";
import { rejectChange } from "../plan/plan_change.ts";
import type { PreparedPush } from "../plan/prepare.ts";
import { busy, drifted, isDrift } from "../plan/rejections.ts";
import { renderUnconverted } from "../plan/retype_messages.ts";
import type { Plan } from "../plan/step.ts";
import type { ReadyChange } from "../push_step.ts";
import { cancelRetype } from "../sql/retype.ts";
import { type PushState, readState, type TableState } from "../state.ts";
import { workInPlace } from "../work.ts";
import {
  readMigrationChange,
  readMigrationDefinition,
  splitMigrationText,
} from "./migration_text.ts";
import { toProjectHistory } from "./project_history.ts";
import { readMigration, readStatus } from "./status.ts";

type Uncounted = "scope" | "time" | "order";
/** `rows` is null if the key cannot read rows, or the count exceeds the time limit. */
type AppliedChange = AppliedStep & { rows: RowCounts | null };

/**
 * Applies a change. Does nothing if the app's last migration already is this change: the request then repeats an earlier
 * request whose response was lost, or that another request has finished.
 *
 * @throws {Problem} as {@linkcode applyStep}; incompatible_schema — why the change is rejected
 */
export async function applyChange(
  deps: PushDeps,
  { change, ...request }: ApplyRequest & { change: Change },
): Promise<AppliedChange> {
  const { app } = request;
  const unchanged = { status: "unchanged", migration: null, deferred: Promise.resolve() } as const;
  try {
    const head = await readHead(deps.admin, app.id);
    const state = await readState(deps.admin, app.id, toTableNames(change));
    if (hasMoved(head, state)) throw busy();
    const planned = await planChangeStep(deps, { ...request, change }, { head, state });
    if ("step" in planned) {
      const { step, rows, note } = planned;
      const applied = await applyStep(deps, { ...request, step, after: head?.checksum });
      return { ...applied, rows, notes: [note, ...applied.notes] };
    }
    if (planned.canceled !== undefined) await cancelRetype(deps.admin, planned.canceled);
    return { ...unchanged, ...NO_CHANGE, notes: planned.notes };
  } catch (error) {
    const isBusy = error instanceof Problem && error.code === "push_busy";
    if (!isBusy || !isLast(await readHead(deps.admin, app.id), change)) throw error;
    return { ...unchanged, ...NO_CHANGE };
  }
}

export const NO_CHANGE = {
  ...{ steps: [], notes: [], shared: [] },
  rows: { rows: 0, values: 0 },
} as const satisfies Omit<AppliedChange, "status" | "migration" | "deferred">;

/** The definition of the app's last migration, and its explicit change. */
export type Head = { checksum: string; definition: Definition; change?: Change };
type Asked = Pick<ApplyRequest, "app" | "options"> & {
  change: Change;
  /** Whether the request has earlier steps: rows are then not counted, because their table can differ. */
  isLater?: boolean;
};
type PlannedChange =
  | { step: ReadyChange; prepared: PreparedPush; rows: RowCounts | null; note: string }
  /** Nothing to do, except to end this table's unfinished retype. */
  | { notes: string[]; canceled?: TableState };

/**
 * The plan of a change.
 *
 * @throws {Problem} incompatible_schema — why the change is rejected; push_busy — the table has changed since
 */
export async function planChangeStep(
  { admin, work = workInPlace }: Pick<PushDeps, "admin" | "work">,
  { app, change, options, isLater = false }: Asked,
  { head, state }: { head: Head | undefined; state: PushState },
): Promise<PlannedChange> {
  if (head === undefined) throw rejectChange(change, REASONS.noTable(change));
  const found = state.tables.find(({ name }) => name === change.table);
  if (found !== undefined && isCancel(found, { app, change }))
    return { notes: [CANCELED], canceled: found };
  if (isLast(head, change)) return { notes: [] };
  const definition = changeDefinition(head.definition, change);
  const step = { kind: "change", change, definition } as const;
  // Reject before counting rows, which needs the table.
  const prepared = await prepare(work, { state, step, app, options });
  const counted = isLater
    ? "order"
    : await countRows(admin, { app, change, plan: prepared.plan }).catch(async (error: unknown) => {
        if (!isDrift(error)) throw error;
        // Another request has changed the table since the state was read, or the table differs from its record.
        const now = await readState(admin, app.id, toTableNames(change));
        const table = now.tables.find(({ name }) => name === change.table);
        throw table?.stamp === found?.stamp ? drifted(error) : busy();
      });
  const rows = typeof counted === "string" ? null : counted;
  const blocker = BLOCKED[change.kind];
  if (blocker !== undefined && rows !== null && rows.values > 0)
    throw rejectChange(change, blocker(rows));
  return { step, prepared, rows, note: describeRows(change, counted) };
}

/** Whether another push came between the two reads: the change can be its change, which then has been made. */
export function hasMoved(head: Head | undefined, { migrations }: PushState): boolean {
  return head !== undefined && migrations.at(-1)?.checksum !== head.checksum;
}

function isLast(head: Head | undefined, change: Change): boolean {
  return canonicalJson(head?.change ?? null) === canonicalJson(change);
}

const BLOCKED: Readonly<Partial<Record<Change["kind"], (rows: RowCounts) => string>>> = {
  drop_value: REASONS.valueUsed,
  retype_column: REASONS.unconverted,
};

const CANCELED = "CANCELED: the column keeps its type";

/** Whether a column is retyped to its current type, which ends an unfinished retype. */
function isCancel(
  { ownerAppId, definition, retype }: TableState,
  { app, change }: Pick<Asked, "app" | "change">,
): boolean {
  if (change.kind !== "retype_column" || retype === null || ownerAppId !== app.id) return false;
  const column = definition.columns.find(({ name }) => name === change.column);
  return column?.kind === change.type.kind;
}

export async function readHead(admin: Database, appId: string): Promise<Head | undefined> {
  const recorded = (await readStatus(admin, appId))?.migrations ?? [];
  const last = recorded.at(-1);
  const migration = last && (await readMigration(admin, appId, last.seq));
  const parts = migration && splitMigrationText(migration.text);
  if (migration === undefined || parts === undefined) return undefined;
  const read = { ...readMigrationDefinition(parts), ...readMigrationChange(parts) };
  if ("issues" in read) throw new Error(`Migration ${migration.seq} cannot be read`);
  // If it joins the project's history, the next migration follows the project's last migration.
  return { checksum: toProjectHistory(recorded).at(-1)?.checksum ?? migration.checksum, ...read };
}

/** The affected rows, as a condition on a column. */
const IS_CONCERNED: Cases<Change, string> = {
  rename_column: hasValue,
  rename_table: () => "true",
  drop_column: hasValue,
  drop_table: () => "true",
  retype_column: () => "true",
  drop_value: ({ column, value }) =>
    `${quoteName(column)}::pg_catalog.text = ${quoteLiteral(value)}`,
};

function hasValue({ column }: { column: string }): string {
  return `${quoteName(column)} is not null`;
}

/** The number of rows, in the statement that checks that the key can read them. */
async function countRows(
  admin: Database,
  { app, change, plan }: Pick<Asked, "app" | "change"> & { plan: Plan },
): Promise<RowCounts | Uncounted> {
  const swap = plan.steps.find((step) => step.kind === "swap_column");
  const condition = swap === undefined ? matchKind(IS_CONCERNED, change) : renderUnconverted(swap);
  const values = {
    ...{ app: app.id, presented_proof: app.by?.proof, wanted_table: change.table, condition },
  };
  try {
    const [row] = await call(admin, "count_changed_rows", values, { queue: app.id });
    return row === undefined ? "scope" : { rows: row.total, values: row.affected };
  } catch (error) {
    if (error instanceof Problem && error.code === "timeout") return "time";
    throw error;
  }
}

const UNCOUNTED: Readonly<Record<Uncounted, string>> = {
  scope: "a key with data:read shows how many",
  time: "there are too many to count them",
  order: "they are counted only for the first step of a request",
};

function describeRows(change: Change, counted: RowCounts | Uncounted): string {
  if (typeof counted !== "string") return matchKind(ROW_DETAILS, change, counted);
  return `${matchKind(UNCOUNTED_DETAILS, change)}; ${UNCOUNTED[counted]}`;
}

const UNCOUNTED_DETAILS: Cases<Change, string> = {
  rename_column: ({ column }) => `ROWS: rows with a value in ${column} keep it`,
  rename_table: ({ to }) => `ROWS: ${to} keeps this app's rows`,
  drop_table: ({ table }) => `LOST: this app's rows in ${table} are deleted`,
  retype_column: ({ column, type }) =>
    `ROWS: this app's rows are copied, if each ${column} converts to ${type.kind}`,
  drop_value: ({ column, value }) =>
    `ROWS: rows may have ${quote(value)} as ${column}, which blocks this change`,
  drop_column: ({ table, column }) => `LOST: the values of rows in ${table}.${column} are deleted`,
};

const ROW_DETAILS: Cases<Change, string, [rows: RowCounts]> = {
  rename_column: ({ table, column }, counts) =>
    `ROWS: ${showAffected(counts, `in ${table}`)} a value in ${column}, which stays`,
  rename_table: ({ to }, { rows }) => `ROWS: ${to} keeps this app's ${showCount(rows, "row")}`,
  drop_table: ({ table }, { rows }) =>
    `LOST: this app's ${showCount(rows, "row")} in ${table} ${rows === 1 ? "is" : "are"} deleted`,
  retype_column: ({ table, column, type }, { rows }) =>
    `ROWS: this app's ${showCount(rows, "row")} in ${table} ${rows === 1 ? "is" : "are"} copied; each ${column} converts to ${type.kind}`,
  drop_value: ({ column, value }, { values }) =>
    `ROWS: ${values} of this app's rows ${values === 1 ? "has" : "have"} ${quote(value)} as ${column}`,
  drop_column: ({ table, column }, counts) =>
    `LOST: ${showAffected(counts, `in ${table}`)} a value in ${column}, which is deleted`,
};
