/**
 * Undoes an import, or an undo of one: deletes the rows that it created, restores those that it changed, and creates those that it
 * deleted. What someone changed since stays, and is named. It reads and writes the changes part by part, newest first, so that it
 * can stop or be interrupted after any part: what is undone is not undone again, and a request that continues belongs to the same act.
 *
 * @module
 */
import { SENT_IDS_PREFERENCE } from "../../data/mod.ts";
import { shortenId } from "../../kinds/mod.ts";
import { toLabel } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { type Import, logImport, readConsole } from "../../records/console/mod.ts";
import type { Kept, UndoAnswer } from "../../rows/mod.ts";
import { toMessages, type Visit } from "../enter.tsx";
import { callRows, isAboutRow, patiently, toRejection } from "./call.ts";
import { deleteCreated, isCreation, keepReferenced } from "./created_rows.ts";
import { planRestore, type Restored, toBatches } from "./history_plan.ts";
import { readChanges } from "./history_read.ts";
import { listImports } from "./imports.tsx";
import { findRows, tagOf } from "./list.ts";
import type { RowsTable } from "./table.tsx";

/** Max changes of a part. */
const PART_ROWS = 500;

type Undone = {
  deleted: number;
  restored: number;
  created: number;
  readonly kept: Kept[];
  rest: UndoAnswer["rest"];
};

type Options = {
  /** The act of all writes. */
  readonly act: string;
  /** Only older changes. */
  readonly before: number | undefined;
  /** No part begins after this time. */
  readonly until: number;
};

/** The changes of an import, newest first, with the ids of their rows. */
export async function readPart(
  { deps }: Visit,
  { slug, table }: RowsTable,
  { of, before, max = PART_ROWS }: { of: Import; before: number | undefined; max?: number },
) {
  return await readConsole(deps, "show_import", {
    ...{ app_slug: slug, wanted_table: table, of_person: of.personId, of_act: of.act },
    ...{ from_id: of.from, until_id: of.until },
    ...{ before_id: before ?? null, max_rows: max },
  });
}

/** The act of an undo that continues, and the part from which it does. */
export type UndoPlace = { readonly act: string | undefined; readonly before: number | undefined };

export type UndoStep = Undone & Pick<UndoAnswer, "act" | "total">;

/** Undoes for about this long; another step continues. `total`: with the earlier steps of the act. */
export async function runUndo(
  visit: Visit,
  table: RowsTable,
  { of, place, ms }: { of: Import; place: UndoPlace; ms: number },
): Promise<UndoStep> {
  const until = visit.deps.now() + ms;
  const { file } = of;
  const begun =
    place.act !== undefined && of.undone?.act === place.act
      ? (await listImports(visit, table, { act: place.act })).find(
          ({ personId }) => personId === table.me.id,
        )
      : undefined;
  const act = begun?.act ?? visit.deps.makeId();
  // First: what an interrupted undo has written is found too.
  if (begun === undefined)
    await logImport(visit.deps, table, { step: "begin_undo", about: { act, of: of.act, file } });
  const undone = await undoImport(visit, table, { of, act, before: place.before, until });
  const { created = 0, changed = 0, deleted = 0 } = begun?.ended ?? {};
  const total = {
    created: created + undone.created,
    changed: changed + undone.restored,
    deleted: deleted + undone.deleted,
  };
  await logImport(visit.deps, table, { step: "undo_import", about: { act, file, wrote: total } });
  return { ...undone, act, total };
}

async function undoImport(
  visit: Visit,
  table: RowsTable,
  { of, ...options }: Options & { of: Import },
): Promise<Undone> {
  const undone: Undone = { deleted: 0, restored: 0, created: 0, kept: [], rest: undefined };
  let { before } = options;
  for (;;) {
    const { ids, rowIds } = await readPart(visit, table, { of, before });
    if (ids.length === 0) return undone;
    try {
      await undoPart(visit, table, { ids, rowIds, undone, act: options.act });
    } catch (error) {
      return { ...undone, rest: { before, why: toRejection(error).message } };
    }
    before = ids.at(-1);
    if (ids.length < PART_ROWS) return undone;
    if (visit.deps.now() > options.until) return { ...undone, rest: { before } };
  }
}

type Changes = { ids: readonly number[]; rowIds: readonly string[]; undone: Undone; act: string };

/** @throws {Problem} if the rejection is not about a row: the part is not undone, or only some of its rows */
async function undoPart(
  visit: Visit,
  table: RowsTable,
  { ids, rowIds, undone, act }: Changes,
): Promise<void> {
  // The rows first: a change after them is then in the history, or fails the write.
  const wanted = { ...table, ids: [...new Set(rowIds)] };
  const rows = await patiently(() => findRows(visit, wanted));
  const { changes } = await readChanges(visit, table, ids);
  if (changes.length < ids.length) throw new Problem("request_failed", { message: HIDDEN });
  const now = new Map(rows.map((row) => [row.row.id, { row: row.row, etag: tagOf(row) }]));
  const planned = await keepReferenced(visit, table, planRestore(changes, now, table));
  await writePart(visit, table, { undone, planned, act });
}

const HIDDEN =
  "The history does not show all changes of the import: they are too old, or a push renamed or dropped a column";

type Part = { undone: Undone; planned: readonly Restored[]; act: string };

async function writePart(visit: Visit, table: RowsTable, { undone, planned, act }: Part) {
  const keep = (restored: Restored, why: string) => {
    const row = "now" in restored ? restored.now.row : restored.before;
    const label = toLabel(table.definition, row) ?? shortenId(restored.id);
    undone.kept.push({ id: restored.id, label, why });
  };
  const written = planned.filter((restored) => {
    const why = findObstacle(restored);
    if (why !== undefined && why !== "") keep(restored, why);
    return why === undefined;
  });
  const tags = written.flatMap((restored) =>
    "now" in restored ? [[restored.id, restored.now.etag] as const] : [],
  );
  const shown = new Map(tags);
  const waiting = toBatches(
    written.filter((restored) => !isCreation(restored)),
    shown,
  );
  for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) {
    const { method, rows, body } = batch;
    try {
      const headers = { prefer: SENT_IDS_PREFERENCE };
      const call = { appId: table.appId, act, method, path: table.table, headers, body };
      await patiently(() => callRows(visit, call));
      undone[method === "POST" ? "created" : "restored"] += rows.length;
    } catch (error) {
      const problem = toRejection(error);
      // A smaller batch can end in time.
      const isSplit = problem.code === "timeout" && rows.length > 1;
      if (!isAboutRow(problem) && !isSplit) throw problem;
      const failed = rows.length === 1 ? [0] : listFailed(problem);
      for (const index of failed) {
        const row = rows[index];
        if (row !== undefined) keep(row, describe(problem, index));
      }
      const rest = rows.filter((_, index) => !failed.includes(index));
      const half = failed.length > 0 ? rest.length : Math.ceil(rest.length / 2);
      waiting.unshift(
        ...[rest.slice(0, half), rest.slice(half)].flatMap((part) => toBatches(part, shown)),
      );
    }
  }
  const created = written.filter(isCreation);
  const { deleted, failed } = await deleteCreated(visit, table, { rows: created, shown, act });
  undone.deleted += deleted;
  for (const { restored, problem } of failed) {
    if (!isAboutRow(problem)) throw problem;
    keep(restored, describe(problem, 0));
  }
}

/** Why a row is not written; empty if there is nothing to undo, `undefined` if it is. */
function findObstacle(restored: Restored): string | undefined {
  if (restored.kind === "none") return restored.isDone ? "" : "deleted since";
  if (restored.kind === "delete") return restored.why;
  if (restored.kind === "create" || restored.later.length === 0) return undefined;
  return `changed since: ${restored.later.join(", ")}`;
}

/** The positions of the rows that the rejection names. */
function listFailed({ details = [] }: Problem): number[] {
  return details.flatMap(({ path }) => {
    const [, index = ""] = path.split("/");
    return /^\d+$/.test(index) ? [Number(index)] : [];
  });
}

function describe(problem: Problem, index: number): string {
  if (problem.code === "precondition_failed") return "changed at this moment";
  const own = (problem.details ?? []).filter(({ path }) => path.startsWith(`/${index}/`));
  return own.length === 0
    ? toMessages(problem).join(", ")
    : own.map(({ path, message }) => `${path.split("/").at(-1)}: ${message}`).join(", ");
}
