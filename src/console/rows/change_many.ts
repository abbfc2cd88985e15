/**
 * Changes several rows: sets one column, or deletes the rows. A preview shows each row before and after. Then each row is
 * written if it has not changed since the preview, and the page shows a result for each.
 *
 * @module
 */

import { redirect } from "../../pages/mod.ts";
import type { Problem } from "../../problem.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { mapBounded } from "../../std/bounded.ts";
import { tryParseJson } from "../../std/json.ts";
import { splitList } from "../../std/json_text.ts";
import { isUuid } from "../../std/patterns.ts";
import { TAG_LENGTH } from "../../tables/catalog/mod.ts";
import { readHeaderValue, type Visit } from "../enter.tsx";
import { renderError } from "../parts.tsx";
import { countOf } from "../tables/table_parts.tsx";
import { callRows, TEXTS, toRejection } from "./call.ts";
import { type RowsTable, respondWithDisabledApp, respondWithRowsPage } from "./cells.tsx";
import {
  type Change,
  type ChangeResult,
  renderChoice,
  renderPreview,
  renderResults,
} from "./change_many_forms.tsx";
import { findTypingIssues, type TypedValue, toBody } from "./fields.tsx";
import { makeFields, sortIssues } from "./form.tsx";
import {
  findRows,
  type ListedRow,
  readPosition,
  readState,
  type State,
  tagOf,
  toMark,
  toState,
} from "./list.ts";

const MAX_ROWS = 500;
/** Max concurrent writes. */
export const MAX_CALLS = 8;

export async function handleChange(visit: Visit, table: RowsTable): Promise<Response> {
  const query = new URLSearchParams(visit.context.query);
  const change = findChange(table, {
    column: query.get("column") ?? "",
    isDeletion: query.has("delete"),
  });
  const { ids } = readPosition(visit);
  if (change?.kind === "delete" && ids.length > 0)
    return await respondWithPreview(visit, table, { change, ids });
  return await respondWithForm(visit, table, { change, ids });
}

export async function handleChangeForm(visit: Visit, table: RowsTable): Promise<Response> {
  if (table.isDisabled) return respondWithDisabledApp(table);
  const { fields } = visit;
  const change = findChange(table, {
    column: fields.get("column") ?? "",
    isDeletion: fields.has("delete"),
  });
  if (change?.kind === "set" && fields.get("step") === "undo")
    return await handleUndo(visit, table, change.column);
  const ids = readIds(fields.get("rows") ?? "");
  if (change === undefined || ids.length === 0)
    return await respondWithForm(visit, table, { change, ids, message: NOTHING });
  if (ids.length > MAX_ROWS)
    return await respondWithForm(visit, table, {
      change,
      ids: ids.slice(0, MAX_ROWS),
      message: TOO_MANY,
    });
  const typed = change.kind === "set" ? readTyped(visit, change.column) : undefined;
  const issues = typed === undefined ? [] : findTypingIssues([typed]);
  if (typed !== undefined && issues.length > 0)
    return await respondWithForm(visit, table, { change, ids, typed, issues });
  const marks = readMarks(fields.get("marks") ?? "");
  if (marks.size === 0 || fields.get("step") !== "write")
    return await respondWithPreview(visit, table, { change, ids, typed });
  return await respondWithResults(visit, table, { change, marks, typed });
}

const NOTHING = "Select rows, then a column to set or Delete";
const TOO_MANY = `Select at most ${MAX_ROWS} rows`;

function findChange(
  { definition }: RowsTable,
  asked: { column: string; isDeletion: boolean },
): Change | undefined {
  if (asked.isDeletion) return { kind: "delete" };
  const column = definition.columns.find(({ name }) => name === asked.column);
  return column && { kind: "set", column };
}

function readIds(text: string): string[] {
  return [...new Set(text.split(" ").filter(isUuid))];
}

/** The tags of the displayed rows, by id. A script sends the whole digest of a row. */
export function readMarks(text: string): Map<string, string> {
  const pairs = text.split(" ").map((pair) => pair.split(":"));
  return new Map(
    pairs.flatMap(([id = "", tag = ""]) =>
      isUuid(id) && /^[\w-]+$/.test(tag) ? [[id, `"${tag.slice(0, TAG_LENGTH)}"`] as const] : [],
    ),
  );
}

function readTyped({ fields }: Visit, column: NamedColumn): TypedValue {
  const first = toMark(toOpenState(column));
  return { column, state: readState(column, fields, { first, isNew: false }) ?? "null" };
}

type Asked = {
  change: Change | undefined;
  ids: readonly string[];
  typed?: TypedValue;
  message?: string;
  issues?: Problem["details"];
  problem?: Problem;
};

async function respondWithForm(
  visit: Visit,
  table: RowsTable,
  { change, ids, typed, message, issues = [], problem }: Asked,
): Promise<Response> {
  const column = change?.kind === "set" ? change.column : undefined;
  const some = column && { ...table, definition: { ...table.definition, columns: [column] } };
  const state: State = typed?.state ?? (column === undefined ? "null" : toOpenState(column));
  const found = problem && sortIssues(problem, table.definition);
  const of = new Map(issues.map((issue) => [issue.path.slice(1), [issue.message]]));
  const [field] =
    some === undefined
      ? []
      : await makeFields(visit, some, {
          states: new Map([[column?.name ?? "", state]]),
          issues: found ?? { of, others: [] },
        });
  const others = [...(message === undefined ? [] : [message]), ...(found?.others ?? [])];
  const isRejected = others.length > 0 || of.size > 0 || problem !== undefined;
  return respondWithRowsPage(table, {
    title: column === undefined ? "Change rows" : `Set ${column.name}`,
    body: [
      isRejected && renderError("Nothing was changed.", others),
      renderChoice(visit, table, { change, ids, field }),
    ],
    status: problem?.status ?? (isRejected ? 422 : 200),
    script: "grid",
  });
}

/** The state of a field before any input. */
function toOpenState(column: NamedColumn): State {
  return column.required ? { text: "" } : "null";
}

type Wanted = { change: Change; ids: readonly string[]; typed?: TypedValue | undefined };

async function respondWithPreview(
  visit: Visit,
  table: RowsTable,
  { change, ids, typed }: Wanted,
): Promise<Response> {
  const rows = await findRows(visit, { ...table, ids });
  const changed = typed === undefined ? rows : rows.filter((listed) => !isEqual(typed, listed));
  return respondWithRowsPage(table, {
    title: describeChange(change, changed.length),
    body: renderPreview(visit, table, {
      change,
      rows: changed,
      marks: changed.map((listed) => `${listed.row.id}:${tagOf(listed).slice(1, -1)}`).join(" "),
      same: rows.length - changed.length,
      missing: ids.length - rows.length,
      state: typed?.state,
    }),
  });
}

function isEqual({ column, state }: TypedValue, { row }: ListedRow): boolean {
  // Texts that differ only in line ends are different values.
  if (column.kind === "string" && typeof state !== "string") return row[column.name] === state.text;
  return toMark(toState(column, row)) === toMark(state);
}

function describeChange(change: Change, count: number): string {
  const rows = countOf(count, "row");
  return change.kind === "delete" ? `Delete ${rows}` : `Set ${change.column.name} in ${rows}`;
}

type Confirmed = {
  change: Change;
  marks: ReadonlyMap<string, string>;
  typed: TypedValue | undefined;
};

async function respondWithResults(
  visit: Visit,
  table: RowsTable,
  { change, marks, typed }: Confirmed,
): Promise<Response> {
  const rows = await findRows(visit, { ...table, ids: [...marks.keys()] });
  const before = new Map(rows.map((listed) => [listed.row.id, listed]));
  const write = async ([id, tag]: readonly [string, string]): Promise<ChangeResult> => {
    const result = await writeRow(visit, table, { id, tag, body: typed && toBody([typed]) });
    const listed = before.get(id);
    // Rows that another user has changed since are not written.
    const isSame = listed !== undefined && tagOf(listed) === tag;
    const text = isSame && typed ? listed.row[TEXTS].get(typed.column.name) : undefined;
    return { ...result, before: text };
  };
  const [first, ...rest] = marks;
  if (first === undefined) return redirect(table.path);
  const tried = await write(first);
  // An error of the value is the same for every row.
  if (tried.problem?.code === "validation_failed" && typed !== undefined)
    return await respondWithForm(visit, table, {
      ...{ change, typed, problem: tried.problem },
      ids: [...marks.keys()],
    });
  const results = [tried, ...(await mapBounded(rest, MAX_CALLS, write))];
  const count = results.filter(({ problem }) => problem === undefined).length;
  if (typed === undefined && count === results.length)
    return redirect(`${table.path}?deleted=${count}`);
  return respondWithRowsPage(table, {
    title: `${change.kind === "delete" ? "Deleted" : "Changed"} ${count} of ${results.length} rows`,
    body: renderResults(visit, table, { change, results, state: typed?.state }),
  });
}

/** Restores the values from before a change, in rows that have not changed since. */
async function handleUndo(visit: Visit, table: RowsTable, column: NamedColumn): Promise<Response> {
  const values = readUndo(visit.fields.get("undo") ?? "");
  const results = await mapBounded(values, MAX_CALLS, async ([id, tag, value]) => {
    const body = `{${JSON.stringify(column.name)}:${value}}`;
    return await writeRow(visit, table, { id, tag, body });
  });
  const count = results.filter(({ problem }) => problem === undefined).length;
  return respondWithRowsPage(table, {
    title: `Restored ${count} of ${results.length} rows`,
    body: renderResults(visit, table, { change: undefined, results, state: undefined }),
  });
}

/** The part of the form that {@linkcode renderResults} adds; the value is JSON text. */
function readUndo(text: string): [id: string, tag: string, value: string][] {
  const list = tryParseJson(text);
  if (!Array.isArray(list) || list.length > MAX_ROWS) return [];
  const texts = splitList(text);
  return list.flatMap((entry: unknown, index): [string, string, string][] => {
    const [id, tag, value] = Array.isArray(entry) ? entry : [];
    const isWhole = typeof id === "string" && isUuid(id) && value !== undefined;
    const [, , before = ""] = isWhole ? splitList(texts[index] ?? "[]") : [];
    return isWhole && typeof tag === "string" ? [[id, readHeaderValue(tag), before]] : [];
  });
}

type RowWrite = { id: string; tag: string; body: string | undefined };

export async function writeRow(
  visit: Visit,
  { appId, table }: RowsTable,
  { id, tag, body }: RowWrite,
): Promise<ChangeResult> {
  const call = { appId, path: `${table}/${id}`, headers: { "if-match": tag } };
  try {
    if (body !== undefined)
      return { id, tag: (await callRows(visit, { ...call, method: "PATCH", body })).etag };
    await callRows(visit, { ...call, method: "DELETE" });
    return { id };
  } catch (error) {
    const problem = toRejection(error);
    // Another user has deleted the row, as intended.
    return body === undefined && problem.code === "not_found" ? { id } : { id, problem };
  }
}
