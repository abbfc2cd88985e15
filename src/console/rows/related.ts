/** Tables that a table references or that reference it: the labels of their rows, and their columns. @module */
import type { NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { isUuid } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import type { Row } from "./call.ts";
import type { RowsTable } from "./cells.tsx";
import { findRows } from "./list.ts";

export type Labels = ReadonlyMap<string, string>;

/** The limit for one page, over all columns. */
const MAX_LABELS = 200;
const LABEL_CHARS = 60;

/** The column with the label of a row: the first unique text column, otherwise the first text column. */
export function findLabelColumn({ columns }: TableDefinition): NamedColumn | undefined {
  const texts = columns.filter(({ kind }) => kind === "string");
  return texts.find(({ unique }) => unique) ?? texts[0];
}

export function toLabel(
  definition: TableDefinition | undefined,
  row: Readonly<Record<string, unknown>>,
): string | undefined {
  const column = definition && findLabelColumn(definition);
  const value = column && row[column.name];
  return typeof value === "string" && value.trim() !== "" ? value.slice(0, LABEL_CHARS) : undefined;
}

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
      if (definition === undefined || findLabelColumn(definition) === undefined) return;
      for (const { row } of await findRows(visit, { appId, table: name, ids: [...ids] })) {
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
  for (const { name, kind, table } of columns) {
    if (kind !== "ref" || table === undefined) continue;
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
      .filter((column) => column.kind === "ref" && column.table === table)
      .map((column) => ({ referrer, column })),
  );
}
