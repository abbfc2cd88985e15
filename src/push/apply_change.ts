/**
 * The steps of an explicit change: a push whose plan does not follow from a definition. Afterwards the app declares
 * its last migration's definition with the change.
 *
 * @module
 */
import { call, type Database, quoteLiteral, quoteName } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { canonicalJson } from "../std/canonical_json.ts";
import { type Cases, matchKind } from "../std/match_kind.ts";
import { quote } from "../std/quote.ts";
import { type PushDeps, type PushRequest, type PushResult, push } from "./apply.ts";
import { type Change, changeDefinition, toTableNames } from "./change.ts";
import { REASONS, type RowCounts } from "./conflicts.ts";
import {
  readMigrationChange,
  readMigrationDefinition,
  splitMigrationText,
} from "./migration_text.ts";
import { rejectChange } from "./plan_change.ts";
import { preparePush } from "./prepare.ts";
import { toProjectHistory } from "./project_history.ts";
import { busy, drifted, isDrift } from "./rejections.ts";
import { cancelRetype } from "./retype.ts";
import { renderUnconverted } from "./retype_messages.ts";
import { readState, type TableState } from "./state.ts";
import { readMigration, readStatus } from "./status.ts";
import type { Plan } from "./step.ts";

/** Why rows were not counted. */
type Uncounted = "scope" | "time";
export type ChangeRequest = Pick<PushRequest, "app" | "journal" | "options"> & { change: Change };
/** `rows` is null if the key cannot read rows, or the count exceeds the time limit. */
export type ChangeResult = PushResult & { rows: RowCounts | null };

/**
 * Makes a change, or returns the plan. Does nothing if the app's last migration already is this change: the request
 * then repeats an earlier request whose response was lost, or that another request has finished.
 *
 * @throws {Problem} as {@linkcode push}; incompatible_schema — why the change is rejected
 */
export async function applyChange(deps: PushDeps, request: ChangeRequest): Promise<ChangeResult> {
  try {
    return await changeOnce(deps, request);
  } catch (error) {
    const isBusy = error instanceof Problem && error.code === "push_busy";
    if (!isBusy || !isLast(await readHead(deps.admin, request.app.id), request.change)) throw error;
    return { ...UNCHANGED, deferred: Promise.resolve() };
  }
}

async function changeOnce(deps: PushDeps, request: ChangeRequest): Promise<ChangeResult> {
  const { app, change } = request;
  const head = await readHead(deps.admin, app.id);
  if (head === undefined) throw rejectChange(change, REASONS.noTable(change));
  const definition = changeDefinition(head.definition, change);
  const names = toTableNames(change);
  const state = await readState(deps.admin, app.id, names);
  const found = state.tables.find(({ name }) => name === change.table);
  if (found !== undefined && isCancel(found, { app, change })) {
    if (!request.options.dryRun) await cancelRetype(deps.admin, found);
    return { ...UNCHANGED, notes: [CANCELED], deferred: Promise.resolve() };
  }
  if (isLast(head, change)) return { ...UNCHANGED, deferred: Promise.resolve() };
  // Reject before counting rows, which needs the table.
  const { plan } = preparePush(state, { ...request, definition });
  const counted = await countRows(deps.admin, { app, change, plan }).catch(
    async (error: unknown) => {
      if (!isDrift(error)) throw error;
      // Another request has changed the table since the state was read, or the table differs from its record.
      const now = await readState(deps.admin, app.id, names);
      const isSame = now.tables.find(({ name }) => name === change.table)?.stamp === found?.stamp;
      throw isSame ? drifted(error) : busy();
    },
  );
  const rows = typeof counted === "string" ? null : counted;
  const blocker = BLOCKED[change.kind];
  if (blocker !== undefined && rows !== null && rows.values > 0)
    throw rejectChange(change, blocker(rows));
  const pushed = await push(deps, { ...request, definition, after: head.checksum });
  return { ...pushed, rows, notes: [describeRows(change, counted), ...pushed.notes] };
}

function isLast(head: Awaited<ReturnType<typeof readHead>>, change: Change): boolean {
  return canonicalJson(head?.change ?? null) === canonicalJson(change);
}

/** Why rows with an affected value block the change. */
const BLOCKED: Readonly<Partial<Record<Change["kind"], (rows: RowCounts) => string>>> = {
  drop_value: REASONS.valueUsed,
  retype_column: REASONS.unconverted,
};

const CANCELED = "CANCELED: the column keeps its type";

/** Whether a column is retyped to its current type, which ends an unfinished retype. */
function isCancel(
  { ownerAppId, definition, retype }: TableState,
  { app, change }: Pick<ChangeRequest, "app" | "change">,
): boolean {
  if (change.kind !== "retype_column" || retype === null || ownerAppId !== app.id) return false;
  const column = definition.columns.find(({ name }) => name === change.column);
  return column?.kind === change.type.kind;
}

const UNCHANGED = {
  status: "unchanged",
  migration: null,
  steps: [],
  notes: [],
  shared: [],
  rows: { rows: 0, values: 0 },
} as const satisfies Omit<ChangeResult, "deferred">;

/** The app's last migration. */
async function readHead(admin: Database, appId: string) {
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
  { app, change, plan }: Pick<ChangeRequest, "app" | "change"> & { plan: Plan },
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
  rename_column: ({ table, column }, { rows, values }) =>
    `ROWS: ${values} of this app's ${rows} rows in ${table} have a value in ${column}; they keep it`,
  rename_table: ({ to }, { rows }) => `ROWS: ${to} keeps this app's ${rows} rows`,
  drop_table: ({ table }, { rows }) => `LOST: this app's ${rows} rows in ${table} are deleted`,
  retype_column: ({ table, column, type }, { rows }) =>
    `ROWS: this app's ${rows} rows in ${table} are copied; each ${column} converts to ${type.kind}`,
  drop_value: ({ column, value }, { values }) =>
    `ROWS: ${values} of this app's rows have ${quote(value)} as ${column}`,
  drop_column: ({ table, column }, { rows, values }) =>
    `LOST: ${values} of this app's ${rows} rows in ${table} have a value in ${column}; it is deleted`,
};
