/**
 * The rows of an app's table, a page at a time, in the order in which they were made. What a script needs to edit them in
 * place is in the markup: the kinds of columns in the head, the id and the tag of each row.
 *
 * @module
 */
import type { NamedColumn } from "../dsl/mod.ts";
import { readParameters } from "../http/mod.ts";
import { answerSeeOther, type Html, html, type Part } from "../pages/mod.ts";
import { isUuid } from "../std/is_uuid.ts";
import type { Visit } from "./enter.ts";
import { renderEmpty, renderLink, renderRemark } from "./parts.ts";
import { toAppPath } from "./paths.ts";
import { isNumeric, renderCell, shortenId } from "./rows_cells.ts";
import { type ListedRow, listRows, tagOf } from "./rows_list.ts";
import { LIMITS, MAX_OFFSET, type Place, readPlace, withPlace } from "./rows_place.ts";
import {
  answerRowsPage,
  describeColumn,
  type RowsTable,
  readRowsTable,
  toRowPath,
} from "./rows_table.ts";

export async function answerRows(visit: Visit): Promise<Response> {
  const table = await readRowsTable(visit);
  if (table.isDisabled) return answerDisabled(table);
  const query = new Map(readParameters(visit.context.query));
  const from = query.get("from")?.trim() ?? "";
  if (isUuid(from)) return answerSeeOther(toRowPath(table.path, from));
  const asked = readPlace(visit);
  const place = from === "last" ? await findLastPlace(visit, table, asked) : asked;
  const { rows, hasMore } = await listRows(visit, { ...table, ...place });
  const { path, definition } = table;
  const columns = definition.columns.filter(({ name }) => !place.hidden.includes(name));
  const shown = { ...table, definition: { ...definition, columns } };
  return answerRowsPage(table, {
    title: table.table,
    actions: [
      renderColumns(table, place),
      renderLink("Export CSV", `${path}/export/csv`),
      renderLink("JSON", `${path}/export/json`),
      renderLink("Import", `${path}/import`),
      renderLink("New row", withPlace(`${path}/new`, place), "primary", { keys: "n" }),
    ],
    body: [
      renderDone(table, query),
      // All that a script replaces by the next page.
      html`<div data-rows>${(rows.length > 0 || place.offset > 0) && renderPager(table, place, { count: rows.length, hasMore })}${rows.length === 0 ? renderNone(table, place) : renderGrid(shown, rows, place)}</div>`,
    ],
    hasGrid: true,
  });
}

/**
 * The last page of a table: the data endpoints count no rows, so that the pages are searched, at twice as far each time and then
 * by halves. Each step reads one row.
 */
async function findLastPlace(visit: Visit, table: RowsTable, asked: Place): Promise<Place> {
  const { limit } = asked;
  const isThere = async (page: number) => {
    const place = { ...table, limit: 1, offset: page * limit };
    return (await listRows(visit, place)).rows.length > 0;
  };
  let [first, end] = [0, 1];
  while (end * limit < MAX_OFFSET && (await isThere(end))) [first, end] = [end, end * 2];
  while (end - first > 1) {
    const middle = Math.floor((first + end) / 2);
    if (await isThere(middle)) first = middle;
    else end = middle;
  }
  return { ...asked, offset: first * limit };
}

export function answerDisabled(table: RowsTable): Response {
  const body = renderEmpty(
    "This app is disabled: its rows can be neither read nor changed.",
    renderLink("Enable it", `${toAppPath(table.slug)}/state`),
  );
  return answerRowsPage(table, { title: table.table, body });
}

/** What the form before this page did. */
function renderDone({ path }: RowsTable, query: ReadonlyMap<string, string>): Part {
  const added = query.get("added") ?? "";
  if (query.has("deleted")) return renderRemark("The row was deleted.");
  const imported = query.get("imported") ?? "";
  if (/^\d{1,7}$/.test(imported))
    return renderRemark(
      `${imported} ${imported === "1" ? "row was" : "rows were"} imported. New rows come last.`,
    );
  if (query.has("stored")) return renderRemark("The row was stored.");
  if (!isUuid(added)) return undefined;
  const row = html`<a class="mono" href="${toRowPath(path, added)}">${shortenId(added)}</a>`;
  return renderRemark(
    html`The row ${row} was added. New rows come last. <a href="${path}/new">Add another</a>`,
  );
}

function renderNone({ path }: RowsTable, { offset }: Place): Html {
  return offset > 0
    ? renderEmpty("There are no rows so far down.", renderLink("To the first rows", path))
    : renderEmpty("There is no row yet.", renderLink("New row", `${path}/new`, "primary"));
}

function renderGrid(table: RowsTable, rows: readonly ListedRow[], place: Place): Html {
  const { path, definition } = table;
  return html`<div class="sheet sheet-tight" role="region" aria-label="Rows" tabindex="0"><table class="cells" data-grid="${path}">
<thead><tr><th scope="col">id</th>${definition.columns.map(renderHead)}<th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
<tbody>${rows.map((row) => renderRow(table, row, place))}</tbody>
</table></div>`;
}

/** Which columns to leave out: of a wide table few are looked at. */
function renderColumns({ path, definition }: RowsTable, { limit, offset, hidden }: Place): Html {
  const boxes = definition.columns.map(
    ({ name }) =>
      html`<label class="check"><input type="checkbox" name="hide.${name}"${hidden.includes(name) && html` checked`}><span><bdi>${name}</bdi></span></label>`,
  );
  const count = hidden.length === 0 ? "" : ` (${hidden.length} hidden)`;
  return html`<details class="columns"><summary class="button button-quiet">Columns${count}</summary>
<form class="sheet" method="get" action="${path}"><input type="hidden" name="from" value="${offset + 1}"><input type="hidden" name="limit" value="${limit}">
<fieldset><legend>Leave out</legend>${boxes}</fieldset>
<div class="act-buttons"><button class="button button-primary button-small" type="submit">Apply</button><a class="button button-quiet button-small" href="${path}">Show all</a></div></form></details>`;
}

function renderRow({ slug, path, definition }: RowsTable, listed: ListedRow, place: Place): Html {
  const { id } = listed.row;
  const to = toRowPath(path, id);
  return html`<tr data-row-id="${id}" data-etag="${tagOf(listed)}"><td><a class="mono" data-edit href="${withPlace(to, place)}" title="${id}">${shortenId(id)}</a></td>${definition.columns.map((column) => renderCell(column, listed.row[column.name], slug))}<td><a class="row-delete" data-delete href="${withPlace(`${to}/delete`, place)}" aria-label="Delete row ${shortenId(id)}">Delete</a></td></tr>\n`;
}

function renderHead(column: NamedColumn): Html {
  const { name, kind, required, values } = column;
  return html`<th scope="col"${isNumeric(column) && html` class="num"`} data-column="${name}" data-kind="${kind}"${required && html` data-required`}${values !== undefined && html` data-values="${JSON.stringify(values)}"`}><bdi>${name}</bdi> <span class="kind">${describeColumn(column)}</span></th>`;
}

function renderPager(
  { path }: RowsTable,
  place: Place,
  { count, hasMore }: { count: number; hasMore: boolean },
): Html {
  const { limit, offset, hidden } = place;
  const to = (from: number | "last") =>
    `${path}?${new URLSearchParams({ from: `${from}`, limit: `${limit}` })}`;
  const before = Math.max(offset - limit, 0) + 1;
  return html`<nav class="pager" aria-label="Pages">
<p class="quiet" data-range>${count === 0 ? "No rows" : `Rows ${offset + 1} to ${offset + count}`}${!hasMore && count > 0 && ` of ${offset + count}`}</p>
<form method="get" action="${path}"><label>Row or id <input type="text" name="from" value="${offset + 1}" size="6" maxlength="36" autocomplete="off" spellcheck="false"></label><label>Show <select name="limit">${LIMITS.map((choice) => html`<option${choice === limit && html` selected`}>${choice}</option>`)}</select></label>${hidden.map((name) => html`<input type="hidden" name="hide.${name}" value="on">`)}<button class="button button-quiet button-small" type="submit">Go</button></form>
<div class="pager-links">${offset > 0 && html`<a class="button button-quiet button-small" href="${to(1)}">First</a><a class="button button-quiet button-small" rel="prev" href="${to(before)}">Previous</a>`}${hasMore && html`<a class="button button-quiet button-small" rel="next" href="${to(offset + count + 1)}">Next</a><a class="button button-quiet button-small" data-last href="${to("last")}">Last</a>`}</div>
</nav>`;
}
