/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * What a restore cannot bring back, named before it is confirmed: references to rows that are gone, choices that the column no longer
 * has, and rows that were deleted with the row. Writes nothing.
 *
 * @module
 */

import { FIELDS } from "../../kinds/mod.ts";
import type { Part } from "../../pages/mod.ts";
import { isUuid } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import { toRowsPath } from "../paths.ts";
import type { Restored } from "./history_plan.ts";
import { toDeletedPath } from "./history_read.ts";
import { findRows } from "./list.ts";
import { listReferrers } from "./related.ts";
import type { RowsTable } from "./table.tsx";

/** A value that the endpoint will reject. */
type LostValue = { readonly column: string; readonly target?: string; readonly choice?: string };

/** The values that cannot be restored, by row. */
export async function findLost(
  visit: Visit,
  table: RowsTable,
  planned: readonly Restored[],
): Promise<ReadonlyMap<string, readonly LostValue[]>> {
  const { columns } = table.definition;
  const created = planned.flatMap(({ kind, id }) => (kind === "create" ? [id] : []));
  const wanted = Map.groupBy(
    columns.flatMap(({ name, table: target }) =>
      target === undefined
        ? []
        : planned.flatMap((restored) => {
            const id = readValues(restored).get(name);
            return typeof id === "string" && isUuid(id) ? [{ target, id }] : [];
          }),
    ),
    ({ target }) => target,
  );
  const present = new Map<string, ReadonlySet<string>>();
  for (const [target, references] of wanted) {
    const ids = [...new Set(references.map(({ id }) => id))];
    const rows = await findRows(visit, { ...table, table: target, ids, select: "id" });
    const own = target === table.table ? created : [];
    present.set(target, new Set([...own, ...rows.map(({ row }) => row.id)]));
  }
  return new Map(
    planned.map((restored) => {
      const values = readValues(restored);
      const lost = columns.flatMap((column): LostValue[] => {
        const { name, table: target } = column;
        const value = values.get(name);
        if (typeof value !== "string") return [];
        if (target !== undefined)
          return present.get(target)?.has(value) === false ? [{ column: name, target }] : [];
        const choices = FIELDS[column.kind].choices?.(column);
        return choices?.includes(value) === false ? [{ column: name, choice: value }] : [];
      });
      return [restored.id, lost];
    }),
  );
}

/** The values that a restore writes. */
function readValues(restored: Restored): ReadonlyMap<string, unknown> {
  if (restored.kind === "none") return new Map();
  const texts =
    restored.kind === "create"
      ? [...restored.values]
      : restored.values.map(({ name, to }) => [name, to] as const);
  return new Map(texts.map(([name, text]) => [name, JSON.parse(text)]));
}

export function renderLost({ slug }: RowsTable, lost: readonly LostValue[]): Part {
  return lost.map(({ column, target, choice }) => (
    <p class="issues">
      {target === undefined ? (
        <>
          <bdi>{column}</bdi> no longer has the choice <bdi>{choice}</bdi>: the row cannot be
          restored until a push adds it again.
        </>
      ) : (
        <>
          <bdi>{column}</bdi> references a row of <bdi>{target}</bdi> that no longer exists:{" "}
          <a href={toDeletedPath(toRowsPath(slug, target))}>restore that row first</a>.
        </>
      )}
    </p>
  ));
}

/** The rows that were deleted or changed with a deleted row: no history has them. */
export function renderTaken(table: RowsTable, planned: readonly Restored[]): Part {
  if (!planned.some(({ kind }) => kind === "create")) return undefined;
  const namesOf = (onDelete: string) =>
    listReferrers(table)
      .filter(({ column }) => column.onDelete === onDelete)
      .map(({ referrer, column }) => `${referrer.name}.${column.name}`)
      .join(", ");
  const [deleted, cleared] = [namesOf("cascade"), namesOf("set null")];
  return (
    <>
      {deleted !== "" && (
        <p class="quiet">
          Not restored: rows that the delete took along by <bdi>{deleted}</bdi>.
        </p>
      )}
      {cleared !== "" && (
        <p class="quiet">
          Not restored: references to the row in <bdi>{cleared}</bdi>, which the delete cleared.
        </p>
      )}
    </>
  );
}
