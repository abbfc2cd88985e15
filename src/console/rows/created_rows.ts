/**
 * Undoes the creation of rows: deletes them, unless someone has changed them since or rows that stay reference them, which
 * “on delete” would delete or change too.
 *
 * @module
 */
import type { Problem } from "../../problem.ts";
import { mapBounded } from "../../std/map_bounded.ts";
import type { Visit } from "../enter.tsx";
import { callRows, isAboutRow, patiently, toRejection } from "./call.ts";
import type { Restored } from "./history_plan.ts";
import { queryRows } from "./list.ts";
import { listReferrers } from "./related.ts";
import type { RowsTable } from "./table.tsx";

/** Max concurrent calls. */
const MAX_CALLS = 8;
/** Max ids of one condition. */
const MAX_IDS = 100;
/** Max rows that are read to find which of these ids they reference: of more, any can be. */
const MAX_READ = 5000;

type Creation = Extract<Restored, { kind: "delete" }>;

export function isCreation(restored: Restored): restored is Creation {
  return restored.kind === "delete";
}

/** The plan, in which rows that others reference stay: also those that a row of the plan references, if it stays itself. */
export async function keepReferenced(
  visit: Visit,
  table: RowsTable,
  planned: readonly Restored[],
): Promise<Restored[]> {
  const creations = planned.filter(isCreation);
  const going = new Set(creations.flatMap(({ id, why }) => (why === undefined ? [id] : [])));
  const ids = [...going];
  const kept = new Map<string, string>();
  const keep = (id: string, by: string) => {
    if (going.delete(id)) kept.set(id, `a row of ${by} references it`);
  };
  const parts = Array.from({ length: Math.ceil(ids.length / MAX_IDS) }, (_, part) =>
    ids.slice(part * MAX_IDS, (part + 1) * MAX_IDS),
  );
  const asked = listReferrers(table).flatMap((of) => parts.map((part) => ({ ...of, part })));
  const own: { id: string; target: string }[] = [];
  await mapBounded(asked, MAX_CALLS, async ({ referrer, column, part }) => {
    const query = {
      ...{ appId: table.appId, table: referrer.name, max: MAX_READ },
      parameters: { and: `(${column.name}.in.(${part}))`, select: `id,${column.name}` },
    };
    const found = await patiently(() => queryRows(visit, query));
    if (found.length >= MAX_READ) for (const id of part) keep(id, referrer.name);
    for (const { row } of found) {
      const target = String(row[column.name]);
      if (referrer.name === table.table) own.push({ id: row.id, target });
      else keep(target, referrer.name);
    }
  });
  // Each row that stays keeps what it references.
  for (let count = -1; count !== going.size; ) {
    count = going.size;
    for (const { id, target } of own) if (!going.has(id)) keep(target, table.table);
  }
  return planned.map((restored) =>
    isCreation(restored) && restored.why === undefined
      ? { ...restored, why: kept.get(restored.id) }
      : restored,
  );
}

type Failed = { readonly restored: Restored; readonly problem: Problem };

/** Deletes rows that are still as shown. Those that reference each other need several rounds. A rejection that is not about a row ends it. */
export async function deleteCreated(
  visit: Visit,
  { appId, table }: RowsTable,
  {
    rows,
    shown,
    act,
  }: { rows: readonly Creation[]; shown: ReadonlyMap<string, string>; act: string },
): Promise<{ deleted: number; failed: readonly Failed[] }> {
  let waiting = rows;
  let deleted = 0;
  let isStopped = false;
  for (;;) {
    const failed: Failed[] = [];
    await mapBounded(waiting, MAX_CALLS, async (restored) => {
      if (isStopped) return;
      const headers = { "if-match": shown.get(restored.id) ?? restored.now.etag };
      const path = `${table}/${restored.id}`;
      const call = { appId, act, method: "DELETE", path, headers } as const;
      try {
        await patiently(() => callRows(visit, call));
        deleted++;
      } catch (error) {
        const problem = toRejection(error);
        if (problem.code === "not_found") return;
        isStopped ||= !isAboutRow(problem);
        failed.push({ restored, problem });
      }
    });
    const referenced = failed.filter(({ problem }) => problem.code === "still_referenced");
    const isOver = referenced.length === 0 || failed.length === waiting.length;
    if (isStopped || isOver) return { deleted, failed };
    waiting = failed.flatMap(({ restored }) => (isCreation(restored) ? [restored] : []));
  }
}
