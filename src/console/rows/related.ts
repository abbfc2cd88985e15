/**
 * Tables that a table references or that reference it: the labels of their rows, their columns, and references that are typed as
 * text.
 *
 * @module
 */
import {
  findLabelColumn,
  type Labels,
  type Row,
  type TypedValue,
  toLabel,
} from "../../pages/mod.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import { isUuid } from "../../std/patterns.ts";
import { quoteElement } from "../../std/quote.ts";
import type { Visit } from "../enter.tsx";
import { toRejection } from "./call.ts";
import { findRows, queryRows } from "./list.ts";
import type { RowsTable } from "./table.tsx";

/** The limit for one page, over all columns. */
const MAX_LABELS = 200;

/** A related table, or this table. */
export function findTable(table: RowsTable, name: string): TableDefinition | undefined {
  if (name === table.table) return table.definition;
  return table.related.find((other) => other.name === name);
}

export async function readLabels(
  visit: Visit,
  table: RowsTable,
  rows: readonly Row[],
): Promise<Labels> {
  const { appId } = table;
  const labels = new Map<string, string>();
  const asked = groupTargets(table.definition, rows);
  await Promise.all(
    [...asked].map(async ([name, ids]) => {
      const definition = findTable(table, name);
      const column = definition && findLabelColumn(definition);
      if (column === undefined) return;
      const of = { appId, table: name, ids: [...ids], select: `id,${column.name}` };
      // Without them, the page shows ids.
      const found = await findRows(visit, of).catch((error: unknown) => {
        toRejection(error);
        return [];
      });
      for (const { row } of found) {
        const label = toLabel(definition, row);
        if (label !== undefined) labels.set(row.id, label);
      }
    }),
  );
  return labels;
}

/** The referenced ids by table. */
function groupTargets(
  { columns }: TableDefinition,
  rows: readonly Row[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const groups = new Map<string, Set<string>>();
  let left = MAX_LABELS;
  for (const { name, table } of columns) {
    if (table === undefined) continue;
    const ids = groups.get(table) ?? new Set();
    groups.set(table, ids);
    for (const row of rows) {
      const id = row[name];
      if (typeof id !== "string" || !isUuid(id) || ids.has(id) || left === 0) continue;
      ids.add(id);
      left -= 1;
    }
  }
  return groups;
}

/** The columns of this app's tables that reference the table. */
export function listReferrers({ table, definition, related }: RowsTable) {
  const others = related.filter(({ name }) => name !== table);
  return [definition, ...others].flatMap((referrer) =>
    referrer.columns
      .filter((column) => column.table === table)
      .map((column) => ({ referrer, column })),
  );
}

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
      if (column.table === undefined || text === "" || isUuid(text)) return value;
      const [id, ...more] = await findNamed(visit, table, { target: column.table, text });
      return id === undefined || more.length > 0 ? value : { ...value, state: { text: id } };
    }),
  );
}

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
  const parameters = { and: `(${label}.eq.${quoteElement(text)})`, select: "id" };
  const rows = await queryRows(visit, { appId, table: target, parameters, max: 2 }).catch(
    (error: unknown) => {
      toRejection(error);
      return [];
    },
  );
  return rows.map(({ row }) => row.id);
}
