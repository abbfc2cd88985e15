/** References that are typed as the text of their row, instead of its id. @module */
import { findLabelColumn, type TypedValue, toLabelText } from "../../pages/mod.ts";
import { isUuid } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import { callRows, toRejection } from "./call.ts";
import { listRows, MAX_SEARCHED, readPage } from "./list.ts";
import { findTable } from "./related.ts";
import type { RowsTable } from "./table.tsx";

/** The values with the id of the only row that a text names; other texts stay, and the endpoint rejects them. */
export async function resolveReferences(
  visit: Visit,
  table: RowsTable,
  values: readonly TypedValue[],
): Promise<TypedValue[]> {
  return await Promise.all(
    values.map(async (value) => {
      const { column, state } = value;
      const text = typeof state === "string" ? "" : state.text.trim();
      if (column.kind !== "ref" || text === "" || isUuid(text)) return value;
      const [id, ...more] = await findNamed(visit, table, { target: column.table ?? "", text });
      return id === undefined || more.length > 0 ? value : { ...value, state: { text: id } };
    }),
  );
}

const PAGE_ROWS = 1000;

/** The ids of the rows with this text; nothing if the endpoint does not search the table. */
async function findNamed(
  visit: Visit,
  table: RowsTable,
  { target, text }: { target: string; text: string },
): Promise<string[]> {
  const { appId } = table;
  const definition = findTable(table, target);
  const label = definition && findLabelColumn(definition)?.name;
  if (label === undefined) return [];
  const found: string[] = [];
  try {
    if (visit.deps.hasFilters) {
      const query = new URLSearchParams({ [label]: `eq.${text}`, select: "id", limit: "2" });
      const { rows } = readPage(
        (await callRows(visit, { appId, path: `${target}?${query}` })).text,
      );
      return rows.map(({ row }) => row.id);
    }
    let hasMore = true;
    for (let offset = 0; hasMore && offset < MAX_SEARCHED; offset += PAGE_ROWS) {
      const page = await listRows(visit, { appId, table: target, limit: PAGE_ROWS, offset });
      for (const { row } of page.rows)
        if (toLabelText(row[label])?.trim() === text) found.push(row.id);
      hasMore = page.hasMore;
    }
  } catch (error) {
    toRejection(error);
  }
  return found;
}
