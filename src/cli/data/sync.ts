/**
 * `rowhouse data import --update-by`: creates and updates the rows of a table as the file has them, and deletes those that it does
 * not have. All rows are listed before the first write. A repeated command only writes what still differs.
 *
 * @module
 */

import { toUpsertPath } from "../../data/deps.ts";
import { Problem } from "../../problem.ts";
import {
  type Batch,
  type FileRow,
  findLostColumns,
  findUnique,
  isUnchanged,
  type ListedRow,
  listUniqueNames,
  makeBatcher,
  makeComparison,
  nameByUnique,
  type SyncPlan,
  splitBatch,
  toDeletions,
  toWrites,
} from "../../rows/mod.ts";
import type { NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import { MAX_BATCH } from "../../std/limits.ts";
import { mapBounded } from "../../std/map_bounded.ts";
import {
  type Arguments,
  type CommandResult,
  EXIT,
  type Flags,
  RejectedError,
  UsageError,
} from "../command.ts";
import { confirm } from "../terminal.ts";
import { listAll } from "./app.ts";
import {
  type Checked,
  hasChanged,
  type ImportTask,
  LostColumnsError,
  limitsOf,
  makeIssueReport,
  readRowsFile,
  rejectBatch,
} from "./import_send.ts";

const UPDATE_BY = "update-by";

export const SYNC_FLAGS = {
  [UPDATE_BY]: {
    value: "columns",
    about: "update rows with the same values in these unique columns; create the others",
  },
  "delete-missing": { about: "with --update-by: delete the rows that the file does not have" },
  "accept-deletes": {
    about: "delete without a question, also more than a fifth of the rows, or all",
  },
  yes: { about: "delete up to a fifth of the rows without a question" },
} as const satisfies Flags;

type SyncOptions = {
  readonly unique: readonly NamedColumn[];
  readonly deletesMissing: boolean;
  readonly acceptsDeletes: boolean;
  readonly isConfirmed: boolean;
  readonly dryRun: boolean;
};

/** `undefined` without `--update-by`. @throws {UsageError} flags that do not fit each other or the table */
export function readSyncOptions(args: Arguments, table: TableDefinition): SyncOptions | undefined {
  const names = args.text(UPDATE_BY);
  if (names === undefined) {
    const lone = Object.keys(SYNC_FLAGS).find((flag) => args.has(flag));
    if (lone !== undefined) throw new UsageError(`Flag --${lone} requires --${UPDATE_BY}`);
    return undefined;
  }
  for (const other of ["from-line", "again"])
    if (args.text(other) !== undefined || args.has(other))
      throw new UsageError(
        `Flag --${other} cannot be used with --${UPDATE_BY}: it compares the whole file with the table`,
      );
  const unique = findUnique(table, names.split(","));
  if (unique === undefined) {
    const sets = listUniqueNames(table);
    const expected =
      sets.length === 0 ? `${table.name} has no unique column` : `must be ${sets.join(" or ")}`;
    throw new UsageError(`Cannot read --${UPDATE_BY} ${names}: ${expected}`);
  }
  return {
    unique,
    deletesMissing: args.has("delete-missing"),
    acceptsDeletes: args.has("accept-deletes"),
    isConfirmed: args.has("yes"),
    dryRun: args.has("dry-run"),
  };
}

/** @throws {RejectedError} the service lacks the preview */
export function checkCanSync({ app, table }: Pick<ImportTask, "app" | "table">): void {
  if (app.canUpdateBy(table)) return;
  throw new RejectedError(
    `${app.url} cannot update rows by unique columns: its operator has to add filters to PREVIEW. Without it, an import only creates rows: leave out --${UPDATE_BY}`,
    EXIT.rejected,
    { code: "unsupported_query" },
  );
}

/** @throws {RejectedError} the file has rows without a key, deletes are not accepted, or the service rejects a row */
export async function syncFile(
  task: ImportTask,
  checked: Checked,
  options: SyncOptions,
): Promise<CommandResult> {
  const listed = await listRows(task);
  const plan = await compare(task, checked, { ...options, listed });
  const counts = {
    created: plan.created.length,
    updated: plan.changed.length,
    unchanged: plan.unchanged,
    deleted: options.deletesMissing ? plan.missing.length : 0,
  };
  const document = { table: task.table, rows: checked.rows, ...counts, left: 0 };
  const sentence = showSync(["create", "change", "leave", "delete"], counts, task.table);
  const isLimited = options.deletesMissing && !options.acceptsDeletes;
  const excess = isLimited ? explainExcess(plan, listed) : undefined;
  if (options.dryRun)
    return {
      document: { ...document, dryRun: true },
      lines: [`Would ${sentence}. Nothing was sent`],
      notes: excess === undefined ? [] : [`${excess}: this needs --accept-deletes`],
    };
  task.setting.terminal.warn(`Will ${sentence}`);
  if (counts.deleted > 0) await confirmDeletes(task, options, { excess, count: counts.deleted });
  const written = await writeRows(task, plan, options);
  const deleted = options.deletesMissing
    ? await deleteRows(task, plan.missing, options)
    : { deleted: 0, left: [], isBlocked: false };
  const unchanged = plan.unchanged + written.unchanged;
  const done = { ...written, unchanged, deleted: deleted.deleted };
  return {
    document: { ...document, ...done, left: deleted.left.length, dryRun: false },
    lines: [showSync(["Created", "changed", "left", "deleted"], done, task.table)],
    notes: deleted.left,
    ...(deleted.isBlocked ? { exitCode: EXIT.rejected } : {}),
  };
}

type Verbs = readonly [create: string, change: string, leave: string, remove: string];

function showSync(
  [create, change, leave, remove]: Verbs,
  { created, updated, unchanged, deleted }: Written & { readonly deleted: number },
  table: string,
): string {
  return `${create} ${created}, ${change} ${updated}, ${leave} ${unchanged} and ${remove} ${showCount(deleted, "row")} of ${table}`;
}

async function listRows({ app, table, setting }: ImportTask): Promise<ListedRow[]> {
  const listed: ListedRow[] = [];
  const stop = setting.terminal.spin(() => `Reading ${table}: ${showCount(listed.length, "row")}`);
  try {
    for await (const rows of listAll(app, table))
      for (const { values } of rows) listed.push({ id: String(values["id"]), values });
  } finally {
    stop();
  }
  return listed;
}

/** @throws {RejectedError} a row of the file has no values in the unique columns; all are printed */
async function compare(
  task: ImportTask,
  { rows }: Checked,
  { unique, listed }: SyncOptions & { listed: readonly ListedRow[] },
): Promise<SyncPlan> {
  const comparison = makeComparison(task.file.table, unique, listed);
  const issues = makeIssueReport(task);
  let compared = 0;
  for await (const read of readRowsFile(task.file)) {
    if (read.issues.length > 0) throw hasChanged(task);
    for (const row of read.rows) {
      compared++;
      const issue = comparison.add(row);
      if (issue !== undefined) issues.add(issue);
    }
  }
  if (compared !== rows) throw hasChanged(task);
  comparison.findTaken().forEach(issues.add);
  issues.throwAny();
  return comparison.end();
}

function explainExcess(
  { missing, excess }: SyncPlan,
  listed: readonly ListedRow[],
): string | undefined {
  if (excess === undefined) return undefined;
  const of = `${missing.length} of ${showCount(listed.length, "row")}`;
  return excess === "file is empty"
    ? `The file is empty, and would delete ${of}`
    : `The file would delete ${of}, ${excess}`;
}

async function confirmDeletes(
  { table, setting: { terminal } }: ImportTask,
  { acceptsDeletes, isConfirmed }: SyncOptions,
  { excess, count }: { excess: string | undefined; count: number },
): Promise<void> {
  if (excess !== undefined)
    throw new RejectedError(
      `${excess}. Nothing was sent: check the file, then add --accept-deletes`,
    );
  await confirm(terminal, isConfirmed || acceptsDeletes, {
    message: `This deletes ${showCount(count, "row")} of ${table}.`,
  });
}

type Written = { created: number; updated: number; unchanged: number };

/** Another program can have written a row since it was listed: the results count. */
async function writeRows(
  task: ImportTask,
  { created, changed }: SyncPlan,
  { unique }: SyncOptions,
): Promise<Written> {
  const written: Written = { created: 0, updated: 0, unchanged: 0 };
  const total = created.length + changed.length;
  let sent = 0;
  const columns = unique.map(({ name }) => name).join(",");
  const run = crypto.randomUUID();
  const stop = task.setting.terminal.spin(() => `Writing: ${sent} of ${showCount(total, "row")}`);
  try {
    const { upserts, patches } = toWrites(task.file.table, { created, changed });
    const upsert = { path: toUpsertPath(task.table, columns) };
    const patch = { path: task.table, method: "PATCH" } as const;
    const waiting = [
      ...toBatches(task, upserts).map((batch) => ({ ...batch, ...upsert })),
      ...toBatches(task, patches).map((batch) => ({ ...batch, ...patch })),
    ];
    let most = MAX_BATCH;
    for (let number = 0; ; number++) {
      const batch = waiting.shift();
      if (batch === undefined) break;
      const { body: rows, lines, ...target } = batch;
      if (lines.length > most) {
        waiting.unshift(...splitBatch(batch, most).map((part) => ({ ...part, ...target })));
        continue;
      }
      const key = `import-${run}-${number}`;
      try {
        const request = { ...target, body: rows, headers: { "idempotency-key": key } };
        const { body } = await task.app.call(request);
        for (const result of readResults(body)) if (result in written) written[result]++;
        if ("method" in target) written.updated += lines.length;
        sent += lines.length;
        const lost = findLostColumns(rows, body);
        if (lost.length > 0)
          throw new LostColumnsError(
            lost,
            task,
            `${showCount(sent, "row")} written, the last ${lines.length} without these values; nothing deleted. Repeat the command, and name the new column with --map`,
          );
      } catch (error) {
        if (error instanceof LostColumnsError) throw error;
        // The stored rows can have large values in other columns than the file.
        const isTooLarge = error instanceof Problem && error.code === "body_too_large";
        if (!isTooLarge || lines.length === 1)
          throw explainFailure(error, { ...task, batch, sent });
        most = Math.ceil(lines.length / 2);
        waiting.unshift(batch);
      }
    }
  } finally {
    stop();
  }
  return written;
}

function explainFailure(
  error: unknown,
  { name, batch, sent }: { name: string; batch: Batch; sent: number },
): unknown {
  const state = `${showCount(sent, "row")} written, nothing deleted. `;
  if (error instanceof Problem && error.status < SERVER_ERROR)
    return rejectBatch(error, {
      ...{ name, batch },
      advice: `${state}${error.details === undefined ? "Repeat" : "Correct the file and repeat"} the command`,
    });
  if (!(error instanceof RejectedError || error instanceof Problem)) return error;
  const again = `${error.message}\n${state}Repeat the command: it writes what still differs`;
  return new RejectedError(again, error instanceof Problem ? EXIT.rejected : error.exitCode, {
    ...(error instanceof Problem ? { code: error.code } : error.report),
  });
}

const SERVER_ERROR = 500;

function toBatches(task: ImportTask, rows: readonly FileRow[]) {
  const batcher = makeBatcher(limitsOf(task));
  return [...rows.flatMap((row) => batcher.add(row).full), ...batcher.end()];
}

function readResults(body: object): (keyof Written)[] {
  const { results } = body as { readonly results?: unknown };
  return Array.isArray(results) ? results : [];
}

type Deleted = {
  deleted: number;
  /** A line for each row that was not deleted. */
  left: string[];
  /** Whether the service rejected a delete. */
  isBlocked: boolean;
};

const DELETES_AT_ONCE = 8;

/** Deletes rows that are still as they were listed. */
async function deleteRows(
  task: ImportTask,
  missing: readonly ListedRow[],
  { unique }: SyncOptions,
): Promise<Deleted> {
  const result: Deleted = { deleted: 0, left: [], isBlocked: false };
  const stop = task.setting.terminal.spin(
    () => `Deleting: ${result.deleted} of ${showCount(missing.length, "row")}`,
  );
  const remove = async (row: ListedRow) => {
    const name = nameByUnique(unique, row.values);
    const reason = await deleteRow(task, row).catch((error: unknown) => {
      if (!(error instanceof Problem)) throw error;
      result.isBlocked = true;
      return error.message;
    });
    if (reason === undefined) result.deleted++;
    else result.left.push(`Not deleted: ${name} (${row.id}): ${reason}`);
  };
  try {
    for (const rows of toDeletions(task.file.table, missing))
      await mapBounded(rows, DELETES_AT_ONCE, remove);
  } finally {
    stop();
  }
  return result;
}

const CHANGED = "has changed since the command read it";

/** Why the row stays; `undefined` if it is deleted. */
async function deleteRow(
  { app, table }: ImportTask,
  { id, values }: ListedRow,
): Promise<string | undefined> {
  const path = `${table}/${id}`;
  try {
    const { body, headers } = await app.call({ path });
    if (!isUnchanged(values, body as ListedRow["values"])) return CHANGED;
    const tag = headers.get("etag")?.replace(/^W\//, "") ?? "";
    await app.call({ path, method: "DELETE", headers: { "if-match": tag } });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.code === "precondition_failed") return CHANGED;
    if (error.code !== "not_found") throw error;
  }
  return undefined;
}
