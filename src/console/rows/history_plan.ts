/** What restoring changes from the history would write, compared with the rows as they are now. Pure. @module */

import { EXECUTION_LIMIT_MS } from "../../db/mod.ts";
import { SQL } from "../../kinds/mod.ts";
import { type Row, readRow, TEXTS } from "../../pages/mod.ts";
import type { RowChange } from "../../records/console/mod.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { compactJson, splitObject } from "../../std/json_text.ts";
import { MAX_BODY_BYTES, MAX_ROWS } from "../../std/limits.ts";

/** Which values: all that the changes changed, one column of them, or the whole row as it was before. */
export type Wanted = { readonly column?: string | undefined; readonly isWhole?: boolean };

/** A row as it is, with its entity tag. */
type NowRow = { readonly row: Row; readonly etag: string };

/** A value as JSON text, now and after. */
type RestoredValue = { readonly name: string; readonly now: string; readonly to: string };

export type Restored = { readonly id: string; readonly before: Row } & (
  | {
      readonly kind: "update";
      readonly now: NowRow;
      readonly values: readonly RestoredValue[];
      /** The columns that someone has changed again since. */
      readonly later: readonly string[];
    }
  | { readonly kind: "create"; readonly values: ReadonlyMap<string, string> }
  /** A row that was created. `why`: it stays all the same. `above`: the other created rows that it references. */
  | {
      readonly kind: "delete";
      readonly now: NowRow;
      readonly why: string | undefined;
      readonly above?: readonly string[];
    }
  /** `isDone`: because it is as before the changes. */
  | { readonly kind: "none"; readonly why: string; readonly isDone: boolean }
);

/** The values before a change, as a row: of a delete all; of an update those of the columns that it names, or all in an earlier release. */
export function toRowBefore({ rowId, before }: Pick<RowChange, "rowId" | "before">): Row {
  const rest = before.trim().slice(1);
  const id = `{"id":${JSON.stringify(rowId)}`;
  return readRow(rest === "}" ? `${id}}` : `${id},${rest}`);
}

/** The columns that a change changed and the app declares; of a delete, all. An update can also name columns that it left as they were. */
export function listChanged(
  { before, after }: Pick<RowChange, "before" | "after">,
  { columns }: TableDefinition,
): string[] {
  const names = columns.map(({ name }) => name);
  if (after === null) return names;
  // PostgreSQL wrote both texts: equal values have equal texts.
  const [was, became] = [splitObject(before), splitObject(after)];
  return names.filter((name) => became.has(name) && became.get(name) !== was.get(name));
}

/** Changes that were made together, and can be undone together: at most as many as one restore writes. */
export function groupChanges(changes: readonly RowChange[]): (readonly RowChange[])[] {
  const groups: RowChange[][] = [];
  for (const change of changes) {
    // Requests that run at the same time record their rows in turn.
    const group = groups.findLast((others) => {
      const before = others.at(-1);
      return before !== undefined && isTogether(before, change);
    });
    if (group !== undefined) group.push(change);
    else groups.push([change]);
  }
  return groups.flatMap(splitLarge);
}

/** Between requests: each is undone as a whole. */
function splitLarge(group: readonly RowChange[]): RowChange[][] {
  if (group.length <= MAX_ROWS) return [[...group]];
  const parts: RowChange[][] = [];
  for (const request of Map.groupBy(group, ({ at }) => at).values()) {
    const last = parts.at(-1);
    if (last !== undefined && last.length + request.length <= MAX_ROWS) last.push(...request);
    else parts.push(request);
  }
  return parts;
}

/** Whether a change below this one can belong to the group: a request records its rows while it runs, and an act sends the next one. */
export function canContinue(group: readonly RowChange[], below: RowChange): boolean {
  const last = group.at(-1);
  return last === undefined || Date.parse(last.at) - Date.parse(below.at) <= EXECUTION_LIMIT_MS;
}

function isTogether(one: RowChange, other: RowChange): boolean {
  const isSameKind = toKind(one) === toKind(other);
  const isSameActor = one.by?.id === other.by?.id && one.by?.kind === other.by?.kind;
  return isSameKind && isSameActor && one.act === other.act;
}

/** What a change did to its row. */
export function toKind({ after, isCreated }: Pick<RowChange, "after" | "isCreated">) {
  return isCreated ? "created" : after === null ? "deleted" : "changed";
}

type PlanOptions = {
  readonly definition: TableDefinition;
  readonly wanted?: Wanted;
  /** For a whole row: the changes and all later ones of the row; `undefined` if they are too many to read. */
  readonly since?: readonly RowChange[] | undefined;
};

export function planRestore(
  changes: readonly RowChange[],
  rows: ReadonlyMap<string, NowRow>,
  { definition, wanted = {}, since }: PlanOptions,
): Restored[] {
  const byRow = Map.groupBy(changes, ({ rowId }) => rowId);
  return [...byRow].map(([id, ofRow]) => {
    // The oldest first: the values before it are those to restore.
    const sorted = ofRow.toSorted(compareTimes);
    return planRow({ id, changes: sorted, now: rows.get(id) }, { definition, wanted, since });
  });
}

/** The oldest first, of changes of one row. A request can record that it deleted the row before it records which reference it cleared in it. */
function compareTimes(a: RowChange, b: RowChange): number {
  const isLast = (change: RowChange) => Number(change.after === null);
  return (a.at === b.at ? isLast(a) - isLast(b) : 0) || a.id - b.id;
}

type OfRow = {
  readonly id: string;
  readonly changes: readonly RowChange[];
  readonly now: NowRow | undefined;
};

function planRow(
  { id, changes, now }: OfRow,
  { definition, wanted, since }: PlanOptions & { readonly wanted: Wanted },
): Restored {
  const [oldest, newest] = [changes.at(0), changes.at(-1)];
  if (oldest === undefined || newest === undefined) throw new Error("A row without a change");
  const before = toRowBefore(oldest);
  if (oldest.isCreated) {
    if (now === undefined)
      return { id, before, kind: "none", why: "The row no longer exists", isDone: true };
    const why = oldest.lastId === newest.id ? undefined : "changed since it was created";
    return { id, before: now.row, kind: "delete", now, why };
  }
  if (newest.after === null) {
    if (now !== undefined) return { id, before, kind: "none", why: "The row exists", isDone: true };
    return { id, before, kind: "create", values: overlay(changes, definition) };
  }
  if (now === undefined) return { id, before, kind: "none", why: WAS_DELETED, isDone: false };
  if (wanted.isWhole === true && since === undefined)
    return { id, before, kind: "none", why: HAS_MANY, isDone: false };
  const values =
    since === undefined ? overlay(changes, definition) : rewind(now.row, { since, definition });
  const { column } = wanted;
  const isJson = (name: string) =>
    definition.columns.some((known) => known.name === name && SQL[known.kind].isJson === true);
  const names = [...values.keys()].filter((name) => column === undefined || name === column);
  const restored = names.flatMap((name): RestoredValue[] => {
    // An update sets the time of the last change itself.
    if (column === undefined && isSetByUpdates(definition, name)) return [];
    const [shown = "null", to = "null"] = [now.row[TEXTS].get(name), values.get(name)];
    return isSame(shown, to, isJson(name)) ? [] : [{ name, now: shown, to }];
  });
  if (restored.length === 0)
    return { id, before, kind: "none", why: "The row already has these values", isDone: true };
  const last = lastValues(changes);
  const later = restored.flatMap(({ name, now: shown }) => {
    const left = last.get(name);
    return left === undefined || isSame(left, shown, isJson(name)) ? [] : [name];
  });
  return { id, before, kind: "update", now, values: restored, later };
}

const WAS_DELETED = "The row was deleted: restore the row first";
const HAS_MANY = "The row has too many later changes: restore values";

function isSetByUpdates({ columns }: TableDefinition, name: string): boolean {
  return columns.some((column) => column.name === name && column.onUpdate !== undefined);
}

/** All values of the row that the app declares. */
function declared(row: Row, { columns }: TableDefinition): Map<string, string> {
  return new Map(
    columns.flatMap(({ name }) => {
      const text = row[TEXTS].get(name);
      return text === undefined ? [] : [[name, text] as const];
    }),
  );
}

/** All values of the row before these changes. */
function rewind(
  now: Row,
  { since, definition }: { since: readonly RowChange[]; definition: TableDefinition },
): Map<string, string> {
  const values = declared(now, definition);
  for (const change of since.toSorted((a, b) => b.id - a.id))
    for (const [name, text] of declared(toRowBefore(change), definition)) values.set(name, text);
  return values;
}

/** The values before the first change of each column. */
function overlay(changes: readonly RowChange[], definition: TableDefinition): Map<string, string> {
  const values = new Map<string, string>();
  for (const change of changes.toReversed()) {
    const before = declared(toRowBefore(change), definition);
    for (const name of listChanged(change, definition)) {
      const text = before.get(name);
      if (text !== undefined) values.set(name, text);
    }
  }
  return values;
}

/** The values after the last change of each column. */
function lastValues(changes: readonly RowChange[]): Map<string, string> {
  return new Map(changes.flatMap(({ after }) => [...splitObject(after ?? "{}")]));
}

/** Both texts are of valid JSON, but PostgreSQL writes spaces in one of them. Stored JSON can have more digits than a JavaScript number. */
function isSame(one: string, other: string, isJson: boolean): boolean {
  const [a, b] = [one, other].map((text) =>
    isJson ? compactJson(text) : canonicalJson(JSON.parse(text)),
  );
  return a === b;
}

type Batch = { method: "PATCH" | "POST"; rows: readonly Restored[]; body: string };

/** Lists that a request can have, in the order of the plan: the newest change first, so that passed on unique values come back. */
export function toBatches(
  planned: readonly Restored[],
  shown: ReadonlyMap<string, string>,
): Batch[] {
  const batches: { method: "PATCH" | "POST"; rows: Restored[]; texts: string[]; bytes: number }[] =
    [];
  for (const restored of planned) {
    const text = toText(restored, shown);
    const bytes = Buffer.byteLength(text) + 1;
    const method = restored.kind === "create" ? "POST" : "PATCH";
    const last = batches.at(-1);
    if (last !== undefined && last.method === method && last.bytes + bytes < MAX_BODY_BYTES) {
      last.rows.push(restored);
      last.texts.push(text);
      last.bytes += bytes;
    } else batches.push({ method, rows: [restored], texts: [text], bytes: bytes + 2 });
  }
  return batches.map(({ method, rows, texts }) => ({ method, rows, body: `[${texts.join(",")}]` }));
}

/** The row in a list of updates or creates. */
export function toText(restored: Restored, shown: ReadonlyMap<string, string>): string {
  const values =
    restored.kind === "update"
      ? restored.values.map(({ name, to }) => [name, to] as const)
      : restored.kind === "create"
        ? [...restored.values]
        : [];
  const match = restored.kind === "update" ? shown.get(restored.id) : undefined;
  const members = [
    ["id", JSON.stringify(restored.id)],
    ...(match === undefined ? [] : [["ifMatch", JSON.stringify(match)]]),
    ...values,
  ];
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}
