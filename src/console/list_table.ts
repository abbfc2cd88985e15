/** The table of a list, from the columns of its declaration that have a heading. @module */
import { type Columns, type Row, toValueText } from "../accounts/actions/mod.ts";
import type { Html, Part } from "../pages/mod.ts";
import { ACTIONS_COLUMN, numeric, renderTable, renderText, renderTime } from "./parts.tsx";

type ListTable<Of extends Columns> = {
  label: string;
  now: number;
  /** The cells that show more than their value; `undefined` for the value. */
  cells?: { readonly [Name in keyof Of]?: (row: Row<Of>) => Part };
  /** The column that comes first. */
  first?: keyof Of;
  /** Links to the actions on a row. */
  actions?: (row: Row<Of>) => Part;
};

export function renderListTable<Of extends Columns>(
  { columns }: { columns: Of },
  rows: readonly Row<Of>[],
  { label, now, cells, first, actions }: ListTable<Of>,
): Html {
  const visible = Object.entries(columns)
    .flatMap(([name, { title, kind }]) => (title === undefined ? [] : [{ name, title, kind }]))
    .toSorted((a, b) => Number(b.name === first) - Number(a.name === first));
  const heads = visible.map(({ title, kind }) => (kind === "count" ? numeric(title) : title));
  const toCells = (row: Row<Of>): Part[] => [
    ...visible.map(({ name, kind }) => cells?.[name]?.(row) ?? renderValue(kind, row[name], now)),
    ...(actions === undefined ? [] : [actions(row)]),
  ];
  return renderTable(
    label,
    actions === undefined ? heads : [...heads, ACTIONS_COLUMN],
    rows.map(toCells),
  );
}

function renderValue(kind: Columns[string]["kind"], value: unknown, now: number): Part {
  if (kind === "time") return renderTime(value === null ? null : String(value), now);
  if (kind === "flag") return value === true ? "yes" : "no";
  const text = toValueText(value);
  return text !== null && (kind === "count" ? text : renderText(text));
}
