/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * A row: its values in a form, and to copy. Only changed values are sent, with the tag of the opened version: if another user has
 * changed the row since, nothing is stored, and the form shows both versions.
 *
 * @module
 */

import { shortenId } from "../../kinds/mod.ts";
import {
  escapeTurns,
  findTypingIssues,
  type Html,
  type Row,
  readRow,
  readState,
  redirect,
  type State,
  showState,
  TEXTS,
  type TypedValue,
  toBody,
  toLabel,
  toRowPath,
  toState,
  withLineEnds,
  withPlace,
} from "../../pages/mod.ts";
import type { Problem } from "../../problem.ts";
import { indentJson } from "../../std/json_text.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import type { Visit } from "../enter.tsx";
import {
  renderEmpty,
  renderError,
  renderLink,
  renderSnippet,
  type Snippet,
  toApiUrl,
} from "../parts.tsx";
import { callRows, toRejection } from "./call.ts";
import { makeFields, renderIssues, renderRowForm, sortIssues } from "./form.tsx";
import { renderHistoryLink } from "./history.tsx";
import { toDeletedPath } from "./history_read.ts";
import { readPosition, toMark } from "./list.ts";
import { resolveReferences } from "./related.ts";
import { readRelatedRows, renderReferrers } from "./related_rows.tsx";
import { type RowsTable, respondWithRowsPage } from "./table.tsx";

export type FoundRow = { row: Row; etag: string };

/** The row in the address; `undefined` if it does not exist. */
export async function findRow(
  visit: Visit,
  { appId, table }: RowsTable,
  id = visit.context.params["row"] ?? "",
): Promise<FoundRow | undefined> {
  try {
    const path = `${table}/${id}`;
    const { text, etag } = await callRows(visit, { appId, path });
    return { row: readRow(text), etag };
  } catch (error) {
    const { code } = toRejection(error);
    if (code !== "not_found" && code !== "invalid_id") throw error;
    return undefined;
  }
}

export function respondWithNoRow(table: RowsTable): Response {
  const body = renderEmpty("Row not found. It may have been deleted.", [
    renderLink("All rows", table.path),
    table.hasHistory && renderLink("Deleted rows", toDeletedPath(table.path)),
  ]);
  return respondWithRowsPage(table, { title: "Row not found", body, status: 404 });
}

export async function handleRow(visit: Visit, table: RowsTable): Promise<Response> {
  const found = await findRow(visit, table);
  if (found === undefined) return respondWithNoRow(table);
  return await respondWithForm(visit, table, { found, typed: [] });
}

export async function handleRowForm(visit: Visit, table: RowsTable): Promise<Response> {
  const found = await findRow(visit, table);
  if (found === undefined) return respondWithNoRow(table);
  const typed = await resolveReferences(visit, table, readTyped(visit, table, found.row));
  const etag = visit.fields.get("etag") ?? "";
  if (etag !== found.etag)
    return await respondWithForm(visit, table, { found, typed, isOutdated: true });
  try {
    if (typed.length > 0)
      await callRows(visit, {
        appId: table.appId,
        method: "PATCH",
        path: `${table.table}/${found.row.id}`,
        headers: { "if-match": etag },
        body: toBody(typed),
      });
    return redirect(withPlace(table.path, readPosition(visit), { stored: found.row.id }));
  } catch (error) {
    const problem = toRejection(error);
    const now = await findRow(visit, table);
    if (now === undefined) return respondWithNoRow(table);
    const isOutdated = problem.code === "precondition_failed";
    return await respondWithForm(visit, table, {
      found: now,
      typed,
      ...(isOutdated ? { isOutdated } : { problem }),
    });
  }
}

/** The values that the user changed in the form. */
function readTyped({ fields }: Visit, { definition }: RowsTable, row: Row): TypedValue[] {
  const opened = readOpened(fields);
  return definition.columns.flatMap((column) => {
    const first = opened.get(column.name) ?? "";
    const wasNull = first === toMark("null");
    const state = readState(column, fields, { wasNull, isNew: false });
    if (state === undefined || toMark(state) === first) return [];
    return [{ column, state: withLineEnds(column, state, row) }];
  });
}

/** The mark of each column's state when the form was opened. */
function readOpened(fields: ReadonlyMap<string, string>): Map<string, string> {
  const pairs = (fields.get("opened") ?? "").split(" ").map((pair) => pair.split(":"));
  return new Map(pairs.map(([name = "", mark = ""]) => [name, mark]));
}

type FormState = {
  found: FoundRow;
  typed: readonly TypedValue[];
  /** Whether another user has changed the row since. */
  isOutdated?: boolean;
  problem?: Problem;
};

async function respondWithForm(
  visit: Visit,
  table: RowsTable,
  { found: { row, etag }, typed, isOutdated = false, problem }: FormState,
): Promise<Response> {
  const position = readPosition(visit);
  const { columns } = table.definition;
  const stored = new Map(columns.map((column) => [column.name, toState(column, row)]));
  const states = new Map([
    ...stored,
    ...typed.map(({ column, state }) => [column.name, state] as const),
  ]);
  const changed = isOutdated ? findChanged(visit, stored) : new Map<string, State>();
  const now = new Map([...changed].map(([name, state]) => [name, showState(state)]));
  const related = await readRelatedRows(visit, table, row);
  const issues = problem && sortIssues(problem, table.definition, findTypingIssues(typed));
  const path = toRowPath(table.path, row.id);
  const marks = [...stored].map(([name, state]) => `${name}:${toMark(state)}`);
  const form = renderRowForm(visit, {
    action: withPlace(path, position),
    hidden: { etag, opened: marks.join(" ") },
    fields: makeFields(table, {
      ...{ states, issues, now, labels: related.labels },
    }),
    created: (
      <>
        <div class="field created">
          <dl>
            <dt>id</dt>
            <dd class="mono">{row.id}</dd>
            <dt>app_id</dt>
            <dd class="mono">{table.appId}</dd>
          </dl>
        </div>
        {renderReferrers(table, row, related)}
      </>
    ),
    button: isOutdated ? "Overwrite" : "Save",
    cancel: withPlace(table.path, position),
    deletion: withPlace(`${path}/delete`, position),
    history: renderHistoryLink(visit, table, row),
    duplicate: withPlace(`${table.path}/new`, position, { like: row.id }),
  });
  return respondWithRowsPage(table, {
    title: toRowTitle(table, row),
    isValue: true,
    body: [
      isOutdated && renderConflict([...changed.keys()]),
      issues && renderIssues("Nothing was stored.", issues),
      <div class="row-page">
        {form}
        {renderCopies(visit, table, row)}
      </div>,
    ],
    status: isOutdated ? 412 : (problem?.status ?? 200),
    script: "row_page",
  });
}

/** The label of a row; without one, its id. */
export function toRowTitle({ definition }: RowsTable, row: Row): string {
  return toLabel(definition, row) ?? `Row ${shortenId(row.id)}`;
}

/** Columns that another user has changed since the form was opened, with their stored values. */
function findChanged({ fields }: Visit, stored: ReadonlyMap<string, State>): Map<string, State> {
  const opened = readOpened(fields);
  return new Map([...stored].filter(([name, state]) => opened.get(name) !== toMark(state)));
}

function renderConflict(names: readonly string[]) {
  const what = names.length === 0 ? "" : `: ${names.join(", ")}`;
  return renderError("Another user changed this row while you had it open. Nothing was stored.", [
    `Changed${what}. Each changed field shows its stored value; your input is retained`,
    "Save again to overwrite the stored values, or cancel",
  ]);
}

const MAX_CHARS = 20_000;

export function renderCopies(visit: Visit, { table }: RowsTable, row: Row): Html {
  const snippets = toSnippets(`${toApiUrl(visit)}/v1/data/db/${table}`, table, row);
  return (
    <section class="sheet row-copies" aria-labelledby="copies">
      <h2 id="copies">Copy the row</h2>
      {snippets.map((snippet, index) => (
        <details open={index === 0}>
          <summary>{snippet.name}</summary>
          {renderSnippet({ id: `copy-${index}`, ...snippet })}
        </details>
      ))}
    </section>
  );
}

function toSnippets(url: string, table: string, row: Row): Snippet[] {
  const { id } = row;
  const json = toRowJson(row);
  const values = toJson([...row[TEXTS]].filter(([name]) => name !== "id" && name !== "app_id"));
  const read = {
    name: "curl",
    text: `curl -sS ${quoteForShell(`${url}/${id}`)} \\\n  -H "Authorization: Bearer $ROWHOUSE_API_KEY"`,
  };
  if (json.length > MAX_CHARS) return [read];
  return [
    { name: "JSON", text: json },
    read,
    {
      name: "curl, to create a copy",
      text: `curl -sS ${quoteForShell(url)} \\
  -H "Authorization: Bearer $ROWHOUSE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  --data-binary ${quoteForShell(escapeTurns(values))}`,
    },
    {
      name: "SDK, to create a copy",
      text: `await db.${table}.create(${escapeTurns(indentJson(values))});`,
    },
  ];
}

/** A row as JSON, with the digits and the order of the endpoints. */
export function toRowJson(row: Row): string {
  return escapeTurns(indentJson(toJson([...row[TEXTS]])));
}

function toJson(values: readonly (readonly [name: string, text: string])[]): string {
  return `{${values.map(([name, text]) => `${JSON.stringify(name)}:${text}`)}}`;
}
