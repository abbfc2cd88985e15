/**
 * The steps of an explicit change: a push whose plan does not follow from a definition. Afterwards the app declares
 * its last migration's definition with the change.
 *
 * @module
 */
import { type Database, quoteLiteral, quoteName } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { canonicalJson } from "../std/canonical_json.ts";
import { type Cases, matchKind } from "../std/match_kind.ts";
import { quote } from "../std/quote.ts";
import { type PushDeps, type PushRequest, type PushResult, push } from "./apply.ts";
import { type Change, changeDefinition, toTableNames } from "./change.ts";
import { MESSAGE_SETTINGS, MESSAGE_TIMEOUT_MS } from "./message_settings.ts";
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
import { renderCount, renderTenant } from "./retype_messages.ts";
import { readState, type TableState } from "./state.ts";
import { readMigration, readStatus } from "./status.ts";
import type { Plan } from "./step.ts";

/** The app's rows in the table, and the number of rows that the change affects. */
export type RowCounts = { rows: number; values: number };
export type ChangeRequest = Pick<PushRequest, "app" | "journal" | "options"> & { change: Change };
export type ChangeResult = PushResult & { rows: RowCounts };

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
  if (head === undefined) throw rejectChange(change, `this app owns no table ${change.table}`);
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
  const rows = await countRows(deps.admin, { appId: app.id, change, plan }).catch(
    async (error: unknown) => {
      if (!isDrift(error)) throw error;
      // Another request has changed the table since the state was read, or the table differs from its record.
      const now = await readState(deps.admin, app.id, names);
      const isSame = now.tables.find(({ name }) => name === change.table)?.stamp === found?.stamp;
      throw isSame ? drifted(error) : busy();
    },
  );
  const blocker = BLOCKED[change.kind];
  if (blocker !== undefined && rows.values > 0)
    throw rejectChange(change, `${rows.values} of this app's ${rows.rows} rows ${blocker}`);
  const pushed = await push(deps, { ...request, definition, after: head.checksum });
  return { ...pushed, rows, notes: [matchKind(ROW_DETAILS, change, rows), ...pushed.notes] };
}

function isLast(head: Awaited<ReturnType<typeof readHead>>, change: Change): boolean {
  return canonicalJson(head?.change ?? null) === canonicalJson(change);
}

/** Why rows with an affected value block the change. */
const BLOCKED: Readonly<Record<Change["kind"], string | undefined>> = {
  rename_column: undefined,
  rename_table: undefined,
  drop_column: undefined,
  drop_table: undefined,
  drop_value: "have this value; give them another value first",
  retype_column: "have a value that does not convert; change these values first",
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

async function countRows(
  admin: Database,
  { appId, change, plan }: { appId: string; change: Change; plan: Plan },
): Promise<RowCounts> {
  const swap = plan.steps.find((step) => step.kind === "swap_column");
  const condition = matchKind(IS_CONCERNED, change);
  const [row] = await admin.message<{ rows: string; values: string }>(
    swap === undefined
      ? [
          ...MESSAGE_SETTINGS,
          ...renderTenant(appId),
          `select pg_catalog.count(*)::pg_catalog.text as rows, pg_catalog.count(*) filter (where ${condition})::pg_catalog.text as values from data.${quoteName(change.table)}`,
        ].join(";\n")
      : renderCount(swap),
    { timeoutMs: MESSAGE_TIMEOUT_MS, queue: appId },
  );
  return { rows: Number(row?.rows), values: Number(row?.values) };
}

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
