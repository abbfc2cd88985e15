/**
 * What a naive service does with a person's write: why it rejects it, or which rows there are afterwards. A write with several
 * reasons can be rejected for any of them; one without a reason must succeed.
 *
 * @module
 */
import type { Json } from "../../../src/schema/mod.ts";
import {
  actionsOf,
  columnOf,
  fromOf,
  isAllowed,
  isFixed,
  isOwn,
  isSame,
  type ModelTable,
  type Row,
  type Sight,
  sees,
  tableOf,
  toOf,
} from "./rules.ts";

export type Body = Readonly<Record<string, Json>>;
export const FORBIDDEN = 403;
export const NOT_FOUND = 404;
export const CONFLICT = 409;
export const UNMATCHED = 412;
export const INVALID = 422;

/** The id of a row that the service has not created yet. */
export const NEW_ID = "new";

/** The row that a body creates for the person. */
export function toNewRow({ person }: Sight, table: ModelTable, body: Body, id = NEW_ID): Row {
  const members = table.columns.map((column): [string, Json] => {
    if (isOwn({ person }, column)) return [column.name, person.id];
    if (Object.hasOwn(body, column.name)) return [column.name, body[column.name] ?? null];
    return [column.name, column.default ?? null];
  });
  return { ...Object.fromEntries(members), id };
}

/**
 * Why the columns of a body are rejected, whatever rows there are.
 *
 * @param isWritten whether a row gets the values. Otherwise nothing checks that a referenced row exists, unless the person does not
 *   read all rows of its table: a missing row must then be like one that the person does not see
 * @param isFound whether there is a row at all
 */
export function rejectColumns(
  sight: Sight,
  table: ModelTable,
  body: Body,
  { isWritten = true, isFound = true } = {},
): number[] {
  const reasons: number[] = [];
  for (const [name, value] of Object.entries(body)) {
    const column = columnOf(table, name);
    if (isFixed(sight, column)) reasons.push(FORBIDDEN);
    if (isOwn(sight, column) && value !== sight.person.id) reasons.push(FORBIDDEN);
    if (value === null && column.required) reasons.push(INVALID);
    if (column.kind !== "ref" || value === null || !isFound) continue;
    const target = tableOf(sight, column.table ?? "");
    if (!isWritten && actionsOf(sight, target).read === true) continue;
    const row = (sight.state.get(target.name) ?? []).find(({ id }) => id === value);
    if (row === undefined || !sees(sight, target, row)) reasons.push(INVALID);
  }
  return reasons;
}

/** Whether another row has the values of a unique constraint. */
export function findConflicts(
  { state }: Pick<Sight, "state">,
  table: ModelTable,
  row: Row,
  keys = keysOf(table),
): Row[] {
  return (state.get(table.name) ?? []).filter(
    (other) =>
      other.id !== row.id &&
      keys.some((key) =>
        key.every((name) => {
          const [a, b] = [row[name] ?? null, other[name] ?? null];
          return a !== null && b !== null && isSame(columnOf(table, name), a, b);
        }),
      ),
  );
}

export function keysOf(table: ModelTable): (readonly string[])[] {
  const single = table.columns.filter(({ unique }) => unique).map(({ name }) => [name]);
  return [...single, ...table.uniques];
}

export function rejectCreate(sight: Sight, table: ModelTable, body: Body): number[] {
  const rule = actionsOf(sight, table).create;
  if (rule === undefined) return [FORBIDDEN];
  const reasons = rejectColumns(sight, table, body);
  const row = toNewRow(sight, table, body);
  if (table.columns.some(({ name, required }) => required && row[name] === null))
    reasons.push(INVALID);
  if (!isAllowed(sight, table, { row, rule })) reasons.push(FORBIDDEN);
  if (findConflicts(sight, table, row).length > 0) reasons.push(CONFLICT);
  return reasons;
}

export type Update = { readonly id: string; readonly body: Body; readonly isMatch?: boolean };

/** @param isMatch whether the request names the row's current state; absent: any state */
export function rejectUpdate(
  sight: Sight,
  table: ModelTable,
  { id, body, isMatch = true }: Update,
): number[] {
  const { update } = actionsOf(sight, table);
  if (update === undefined) return [FORBIDDEN];
  const reasons = rejectColumns(sight, table, body);
  const row = (sight.state.get(table.name) ?? []).find((each) => each.id === id);
  if (row === undefined || !sees(sight, table, row)) return [...reasons, NOT_FOUND];
  // The tag of a row that the person may not change decides nothing.
  if (!isAllowed(sight, table, { row, rule: fromOf(update) })) return [...reasons, FORBIDDEN];
  if (!isMatch) reasons.push(UNMATCHED);
  const after: Row = { ...row, ...body, id };
  if (!isAllowed(sight, table, { row: after, rule: toOf(update) })) reasons.push(FORBIDDEN);
  if (findConflicts(sight, table, after).length > 0) reasons.push(CONFLICT);
  return reasons;
}

export function rejectDelete(
  sight: Sight,
  table: ModelTable,
  { id, isMatch = true }: Pick<Update, "id" | "isMatch">,
): number[] {
  const rule = actionsOf(sight, table).delete;
  if (rule === undefined) return [FORBIDDEN];
  const row = (sight.state.get(table.name) ?? []).find((each) => each.id === id);
  if (row === undefined || !sees(sight, table, row)) return [NOT_FOUND];
  if (!isAllowed(sight, table, { row, rule })) return [FORBIDDEN];
  const reasons = isMatch ? [] : [UNMATCHED];
  return findDoomed(sight, table, [id]).isHeld ? [...reasons, CONFLICT] : reasons;
}

export type Doomed = {
  /** The ids that a delete deletes, in all tables. */
  readonly ids: ReadonlySet<string>;
  /** Whether a remaining row references one of them. */
  readonly isHeld: boolean;
  /** Whether a deleted row does: the order of PostgreSQL's checks decides. */
  readonly isTied: boolean;
};

export function findDoomed(sight: Sight, _table: ModelTable, first: readonly string[]): Doomed {
  const ids = new Set(first);
  for (let size = 0; size !== ids.size; ) {
    size = ids.size;
    for (const { row, column } of references(sight))
      if (column.onDelete === "cascade" && ids.has(`${row[column.name]}`)) ids.add(row.id);
  }
  const holding = references(sight).filter(
    ({ row, column }) => column.onDelete === undefined && ids.has(`${row[column.name]}`),
  );
  return {
    ids,
    isHeld: holding.some(({ row }) => !ids.has(row.id)),
    isTied: holding.some(({ row, column }) => ids.has(row.id) && row[column.name] !== row.id),
  };
}

function references({ tables, state }: Sight) {
  return tables.flatMap((table) =>
    table.columns
      .filter(({ kind }) => kind === "ref")
      .flatMap((column) => (state.get(table.name) ?? []).map((row) => ({ table, row, column }))),
  );
}

/** The state without deleted rows; references to them that become null are null. */
export function withoutRows(sight: Sight, gone: ReadonlySet<string>): Sight["state"] {
  return new Map(
    sight.tables.map((table) => {
      const rows = (sight.state.get(table.name) ?? []).filter(({ id }) => !gone.has(id));
      const cleared = table.columns.filter(({ onDelete }) => onDelete === "set null");
      return [
        table.name,
        rows.map((row): Row => {
          const nulls = cleared.filter(({ name }) => gone.has(`${row[name]}`));
          return { ...row, ...Object.fromEntries(nulls.map(({ name }) => [name, null])) };
        }),
      ];
    }),
  );
}

/** The state with rows that are new, or replace those with their ids. */
export function withRows(
  state: Sight["state"],
  table: string,
  rows: readonly Row[],
): Sight["state"] {
  const kept = new Map((state.get(table) ?? []).map((row) => [row.id, row]));
  for (const row of rows) kept.set(row.id, row);
  const sorted = [...kept.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return new Map([...state, [table, sorted]]);
}
