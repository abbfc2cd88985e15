/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * Imports rows from a file. A script checks the file in the browser and sends its rows in batches. Without a script, the user
 * pastes the text of a small file, and the server checks it by the same rules. Each batch has a key, so that nothing is stored
 * twice.
 *
 * @module
 */
import { toUpsertPath } from "../../data/mod.ts";
import { respondWithJson } from "../../http/mod.ts";
import { type Html, type Part, redirect, TOKEN_FIELD } from "../../pages/mod.ts";
import { type Detail, Problem } from "../../problem.ts";
import {
  type Batch,
  describeStored,
  findLostColumns,
  type LineIssue,
  makeBatcher,
  makeMapping,
  makeRowsReader,
  makeSource,
  type RowsFate,
} from "../../rows/mod.ts";
import { mapBounded } from "../../std/bounded.ts";
import { isObject, tryParseJson } from "../../std/json.ts";
import { MAX_BATCH, MAX_BODY_BYTES, MAX_ROWS } from "../../std/limits.ts";
import { readHeaderValue, toMessages, type Visit } from "../enter.tsx";
import { renderError, renderLink, renderTextField } from "../parts.tsx";
import { toRowsPath } from "../paths.ts";
import { countOf } from "../tables/table_parts.tsx";
import { callRows, toRejection } from "./call.ts";
import { describeColumn, type RowsTable, respondWithRowsPage } from "./cells.tsx";
import { MAX_CALLS, readMarks, writeRow } from "./change_many.ts";
import { findTable } from "./related.ts";

/** A form has at most 100 KB, and a form encodes characters such as quotes as three bytes. */
const MAX_TEXT_CHARS = 60_000;
const MAX_SKIP_CHARS = 5_000;
const MAX_VISIBLE = 200;

export async function handleImportForm(visit: Visit, table: RowsTable): Promise<Response> {
  const batch = visit.fields.get("batch");
  if (batch !== undefined) return await handleBatch(visit, table, batch);
  const deletes = visit.fields.get("deletes");
  if (deletes !== undefined) return await handleDeletes(visit, table, deletes);
  // Browsers send the lines of a text with \r\n, also inside a value.
  const text = (visit.fields.get("rows") ?? "").replaceAll("\r\n", "\n");
  const { batches, issues } = readText(table, text, visit.fields);
  if (issues.length > 0) return handleImport(visit, table, { text, issues });
  const formKey = readHeaderValue(visit.fields.get("form_key"));
  let stored = 0;
  for (const [number, batch] of batches.entries()) {
    try {
      // By the rows of the batch: a correction of later rows does not store these again.
      const seed = `${formKey}\n${number}\n${batch.body}`;
      const key = `paste-${Bun.CryptoHasher.hash("sha256", seed, "hex")}`;
      await sendBatch(visit, table, { body: batch.body, key });
    } catch (error) {
      return handleImport(visit, table, {
        text,
        ...explainStop(error, { stored, lines: batch.lines }),
      });
    }
    stored += batch.lines.length;
  }
  return redirect(`${table.path}?imported=${stored}`);
}

/** A batch from the script: the response is JSON. */
async function handleBatch(visit: Visit, table: RowsTable, body: string): Promise<Response> {
  try {
    const key = readHeaderValue(visit.fields.get("batch_key"));
    const unique = visit.fields.get("unique");
    const sent = await sendBatch(visit, table, { body, key, unique });
    return respondWithJson({ isStored: true, ...sent });
  } catch (error) {
    const { code, message, status, details = [], headers } = toRejection(error);
    const retryAfterS = Number(headers["retry-after"] ?? 0);
    const rows = findFate(error);
    return respondWithJson(
      { isStored: false, rows, code, message, details, retryAfterS },
      { status },
    );
  }
}

/** Deletes rows from the script that are still as it listed them: the response has a result for each row. */
async function handleDeletes(visit: Visit, table: RowsTable, text: string): Promise<Response> {
  const marks = [...readMarks(text)].slice(0, MAX_ROWS);
  let retryAfterS = 0;
  const results = await mapBounded(marks, MAX_CALLS, async ([id, tag]) => {
    const { problem } = await writeRow(visit, table, { id, tag, body: undefined });
    if (problem === undefined) return { id };
    retryAfterS = Math.max(retryAfterS, Number(problem.headers["retry-after"] ?? 0));
    return { id, code: problem.code, message: toMessages(problem).join("; ") };
  });
  return respondWithJson({ results, retryAfterS });
}

/** Whether the rows of a failed batch are stored: an error of the service, such as a timeout, leaves this open. */
function findFate(error: unknown): RowsFate {
  if (error instanceof LostColumns) return "stored";
  return toRejection(error).status >= 500 ? "unknown" : "not stored";
}

/** A column of the file was renamed or dropped during the import. */
class LostColumns extends Problem {}

type SentBatch = {
  /** Whether an earlier request had stored the batch. */
  isReplay: boolean;
  /** With `unique`, what happened to each row. */
  results: unknown;
};

/** Creates rows, or updates them by the columns of a unique constraint. */
async function sendBatch(
  visit: Visit,
  { appId, table }: RowsTable,
  { body, key, unique }: { body: string; key: string; unique?: string | undefined },
): Promise<SentBatch> {
  const { isReplay, text } = await callRows(visit, {
    appId,
    method: "POST",
    path: unique === undefined ? table : toUpsertPath(table, unique),
    headers: { "idempotency-key": key },
    body,
  });
  const response = tryParseJson(text);
  const lost = findLostColumns(body, response);
  if (lost.length === 0)
    return { isReplay, results: isObject(response) ? response["results"] : undefined };
  throw new LostColumns("incompatible_schema", {
    message: `The import stopped: the table no longer has ${lost.join(", ")}`,
  });
}

function readText(
  { definition }: RowsTable,
  text: string,
  fields: Visit["fields"],
): { batches: readonly Batch[]; issues: readonly LineIssue[] } {
  if (text.trim() === "") return { batches: [], issues: [{ line: 1, message: "Is empty" }] };
  const format = /^\s*[[{]/.test(text) ? "ndjson" : "csv";
  const skip = (fields.get("skip") ?? "").split(/\r?\n/).map((name) => name.trim());
  const options = { table: definition, mapping: makeMapping(definition, { skip }) };
  const isProtected = fields.has("spreadsheet") || undefined;
  const reader = makeRowsReader(makeSource(format, { isProtected }), options);
  const batcher = makeBatcher({ rows: MAX_BATCH, bytes: MAX_BODY_BYTES });
  const reads = [reader.push(text), reader.end()];
  const added = reads.flatMap(({ rows }) => rows).map(batcher.add);
  return {
    batches: [...added.flatMap(({ full }) => full), ...batcher.end()],
    issues: [
      ...reads.flatMap(({ issues }) => issues),
      ...added.flatMap(({ issue }) => issue ?? []),
    ],
  };
}

type Rejected = { text: string; issues: readonly LineIssue[]; message?: string };

function explainStop(
  error: unknown,
  { stored, lines }: { stored: number; lines: readonly number[] },
): Omit<Rejected, "text"> {
  const { message, details = [] } = toRejection(error);
  const [line = 1] = lines;
  return {
    message: `${message}. ${describeStored({ stored, lines, rows: findFate(error) })} Send the text again, with any correction from line ${line} on: the rows before it are not stored twice.`,
    issues: details.map((detail) => toLineIssue(detail, lines)),
  };
}

/** A detail of a batch, such as `/3/title`, by its line. */
function toLineIssue({ path, message }: Detail, lines: readonly number[]): LineIssue {
  const [, index = "", column] = path.split("/");
  const line = lines[Number(index)] ?? 1;
  return column === undefined ? { line, message } : { line, column, message };
}

export function handleImport(visit: Visit, table: RowsTable, rejected?: Rejected): Response {
  const { path, definition } = table;
  return respondWithRowsPage(table, {
    title: "Import rows",
    script: "import",
    status: rejected === undefined ? 200 : 422,
    body: [
      rejected && renderRejected(rejected),
      <section
        class="sheet action"
        data-import={JSON.stringify(definition)}
        data-rows-path={path}
        data-has-filters={visit.deps.hasFilters}
        data-targets={JSON.stringify(listTargets(table))}
        data-token={visit.token}
        hidden
      />,
      renderPaste(visit, table, rejected?.text ?? ""),
      renderColumns(table),
    ],
  });
}

/** The referenced tables with unique columns, by which a file can name their rows. */
function listTargets(table: RowsTable) {
  const names = new Set(table.definition.columns.flatMap((column) => column.table ?? []));
  const targets = [...names].flatMap((name) => {
    const columns = findTable(table, name)?.columns.filter(({ unique }) => unique) ?? [];
    const url = `${toRowsPath(table.slug, name)}/list`;
    return columns.length === 0 ? [] : [[name, { url, columns }] as const];
  });
  return Object.fromEntries(targets);
}

function renderRejected({ issues, message }: Rejected): Html {
  const title = message ?? `Nothing was stored. The text has ${countOf(issues.length, "error")}.`;
  const visible = issues.slice(0, MAX_VISIBLE).map(({ line, column, message: text }) => (
    <>
      Line {line}
      {column !== undefined && (
        <>
          , <bdi>{column}</bdi>
        </>
      )}
      : {text}
    </>
  ));
  const rest = issues.length - visible.length;
  return renderError(title, [...visible, ...(rest > 0 ? [`and ${rest} more`] : [])]);
}

/** The form has an idempotency key, so that sending it twice stores its rows once. */
function renderPaste({ deps, fields, token }: Visit, { path }: RowsTable, text: string): Html {
  const formKey = fields.get("form_key") ?? deps.makeId();
  const field = renderTextField({
    name: "rows",
    label: "Rows as CSV or JSON",
    hint: "The first line of a CSV has the column names. All rows are checked before any row is stored.",
    value: text,
    maxLength: MAX_TEXT_CHARS,
    rows: 10,
  });
  const skip = renderTextField({
    name: "skip",
    label: "Leave out",
    hint: "Names in the first line that are not columns, one per line. #3 is a third column without a name.",
    value: fields.get("skip") ?? "",
    maxLength: MAX_SKIP_CHARS,
    rows: 2,
  });
  const isProtected = fields.has("spreadsheet");
  return (
    <details class="import-paste" data-paste open>
      <summary>Paste rows</summary>
      <form class="sheet action" method="post" action={`${path}/import`} data-unsaved>
        <input type="hidden" name={TOKEN_FIELD} value={token} />{" "}
        <input type="hidden" name="form_key" value={formKey} />
        {field}
        {skip}{" "}
        <label class="check">
          <input type="checkbox" name="spreadsheet" checked={isProtected} />
          <span>Remove the apostrophes that an export for spreadsheets added</span>
        </label>
        <div class="action-buttons">
          <button class="button button-primary" type="submit">
            Check and import
          </button>
          {renderLink("Cancel", path)}
        </div>
      </form>
    </details>
  );
}

function renderColumns({ definition }: RowsTable): Part {
  return (
    <>
      <h2>Columns</h2>
      <ul class="plain">
        {definition.columns.map((column) => (
          <li>
            <bdi>{column.name}</bdi> <span class="kind">{describeColumn(column)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
