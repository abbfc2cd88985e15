/**
 * Undoes the creation of rows: deletes them, unless someone has changed them since or rows that stay reference them, which
 * “on delete” would delete or change too.
 *
 * @module
 */
import { Problem } from "../../problem.ts";
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
  const above = Map.groupBy(own, ({ id }) => id);
  return planned.map((restored) => {
    if (!isCreation(restored) || restored.why !== undefined) return restored;
    const { id } = restored;
    const targets = above.get(id)?.map(({ target }) => target) ?? [];
    return { ...restored, why: kept.get(id), above: targets.filter((target) => target !== id) };
  });
}

type Failed = { readonly restored: Restored; readonly problem: Problem };

type Deletions = {
  rows: readonly Creation[];
  shown: ReadonlyMap<string, string>;
  act: string;
};

/**
 * Deletes rows that are still as shown, below each other from the last: a row that someone changes at this moment stays, and so do those
 * that it references, which would delete it too. A rejection that is not about a row ends it.
 */
export async function deleteCreated(
  visit: Visit,
  table: RowsTable,
  { rows, shown, act }: Deletions,
): Promise<{ deleted: number; failed: readonly Failed[] }> {
  let waiting = rows;
  let deleted = 0;
  const failed: Failed[] = [];
  while (waiting.length > 0) {
    const referenced = new Set(waiting.flatMap(({ above = [] }) => above));
    const last = waiting.filter(({ id }) => !referenced.has(id));
    // Rows in a circle need several rounds.
    const isCircle = last.length === 0;
    const part = isCircle ? waiting : last;
    const now = await deletePart(visit, table, { rows: part, shown, act });
    deleted += now.deleted;
    if (now.isStopped) return { deleted, failed: [...failed, ...now.failed] };
    const again = new Set(
      isCircle && now.deleted > 0
        ? now.failed.flatMap(({ restored, problem }) =>
            problem.code === "still_referenced" ? [restored.id] : [],
          )
        : [],
    );
    const stays = now.failed.filter(({ restored }) => !again.has(restored.id));
    const left = waiting.filter((row) => again.has(row.id) || !part.includes(row));
    const kept = listAbove(stays, left);
    const message = `a row of ${table.table} references it`;
    const problem = new Problem("still_referenced", { message });
    failed.push(...stays, ...kept.map((restored) => ({ restored, problem })));
    waiting = left.filter((row) => !kept.includes(row));
  }
  return { deleted, failed };
}

/** Those of the rows that a row which stays references, also over others. */
function listAbove(stays: readonly Failed[], rows: readonly Creation[]): Creation[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const kept = new Set<Creation>();
  const lookAt = (ids: readonly string[] = []): void => {
    for (const id of ids) {
      const row = byId.get(id);
      if (row === undefined || kept.has(row)) continue;
      kept.add(row);
      lookAt(row.above);
    }
  };
  for (const { restored } of stays) if (isCreation(restored)) lookAt(restored.above);
  return [...kept];
}

async function deletePart(
  visit: Visit,
  { appId, table }: RowsTable,
  { rows, shown, act }: Deletions,
): Promise<{ deleted: number; failed: readonly Failed[]; isStopped: boolean }> {
  let deleted = 0;
  let isStopped = false;
  const failed: Failed[] = [];
  await mapBounded(rows, MAX_CALLS, async (restored) => {
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
  return { deleted, failed, isStopped };
}
