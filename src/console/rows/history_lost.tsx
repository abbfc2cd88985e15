/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * What a restore cannot bring back, named before it is confirmed: references to rows that are gone, unique values that another row
 * has, and choices that the column no longer has. And what went with the rows. Writes nothing.
 *
 * @module
 */

import { FIELDS } from "../../kinds/mod.ts";
import { type Part, toRowPath } from "../../pages/mod.ts";
import { showCount } from "../../std/count.ts";
import { MAX_ROWS } from "../../std/limits.ts";
import { isUuid } from "../../std/patterns.ts";
import { quoteElement } from "../../std/quote.ts";
import type { Visit } from "../enter.tsx";
import { toRowsPath } from "../paths.ts";
import { toRejection } from "./call.ts";
import type { Restored } from "./history_plan.ts";
import { toDeletedPath, toHistoryPath, toRestorePath } from "./history_read.ts";
import { findRows, queryRows } from "./list.ts";
import type { RowsTable } from "./table.tsx";

/** A value that the endpoint will reject. */
type LostValue = { readonly column: string } & (
  | { readonly target: string }
  | { readonly choice: string }
  /** The id of the row that has the unique value. */
  | { readonly holder: string }
);

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
  const holders = await findHolders(visit, table, planned);
  return new Map(
    planned.map((restored) => {
      const values = readValues(restored);
      const lost = columns.flatMap((column): LostValue[] => {
        const { name, table: target } = column;
        const value = values.get(name);
        const holder = holders.get(name)?.get(String(value));
        if (holder !== undefined) return [{ column: name, holder }];
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

/** Max values of a condition. */
const MAX_VALUES = 50;

/** The other rows that have the unique values, by column and value. Later values are checked by the restore. */
async function findHolders(visit: Visit, table: RowsTable, planned: readonly Restored[]) {
  const holders = new Map<string, ReadonlyMap<string, string>>();
  // Their own values move on.
  const own = new Set(planned.map(({ id }) => id));
  for (const { name, unique } of table.definition.columns) {
    const all = planned.map((restored) => readValues(restored).get(name));
    const values = all.filter((value) => value !== null && value !== undefined).map(String);
    if (!unique || values.length === 0) continue;
    const some = values.slice(0, MAX_VALUES).map(quoteElement);
    const rows = await queryRows(visit, {
      ...{ appId: table.appId, table: table.table, max: MAX_VALUES },
      parameters: { and: `(${name}.in.(${some}))`, select: `id,${name}` },
    }).catch((error: unknown) => {
      // Such as values that are too long for a condition.
      toRejection(error);
      return [];
    });
    const others = rows.filter(({ row }) => !own.has(row.id));
    holders.set(name, new Map(others.map(({ row }) => [String(row[name]), row.id])));
  }
  return holders;
}

/** The values that a restore writes. */
function readValues(restored: Restored): ReadonlyMap<string, unknown> {
  if (restored.kind === "none" || restored.kind === "delete") return new Map();
  const texts =
    restored.kind === "create"
      ? [...restored.values]
      : restored.values.map(({ name, to }) => [name, to] as const);
  return new Map(texts.map(([name, text]) => [name, JSON.parse(text)]));
}

export function renderLost({ slug, path }: RowsTable, lost: readonly LostValue[]): Part {
  return lost.map((value) => (
    <p class="issues">
      <bdi>{value.column}</bdi>{" "}
      {"target" in value ? (
        <>
          references a row of <bdi>{value.target}</bdi> that no longer exists:{" "}
          <a href={toDeletedPath(toRowsPath(slug, value.target))}>restore that row first</a>.
        </>
      ) : "choice" in value ? (
        <>
          no longer has the choice <bdi>{value.choice}</bdi>: a push can add it again.
        </>
      ) : (
        <>
          has a value that <a href={toRowPath(path, value.holder)}>another row</a> has now: change
          that row first.
        </>
      )}
    </p>
  ));
}

/** The rows that the same delete deleted or changed by “on delete”, each table with its own preview. */
export function renderTaken(
  { slug }: RowsTable,
  taken: readonly { table: string; rows: number; ids: readonly { id: number }[] }[],
): Part {
  if (taken.length === 0) return undefined;
  return (
    <section>
      <p>
        “On delete” also deleted or changed these rows. Restore them after the rows of this page, in
        this order:
      </p>
      <ol>
        {taken.map(({ table, rows, ids }) => {
          const path = toRowsPath(slug, table);
          const isCut = ids.length === MAX_ROWS;
          return (
            <li>
              <a href={toRestorePath(path, { changes: ids })}>
                {`${isCut ? "the first " : ""}${showCount(rows, "row")} of ${table}`}
              </a>
              {isCut && (
                <>
                  , and <a href={toHistoryPath(path)}>all others</a>
                </>
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}
