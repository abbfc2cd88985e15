/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The rows of an app's table in pages, in the order of their creation: a table to read, with links to a form for each row. The
 * markup contains what a script needs to edit it. Nothing is counted here, so that large tables open as fast as small ones.
 *
 * @module
 */
import { readParameters } from "../../http/mod.ts";
import { shortenId } from "../../kinds/mod.ts";
import {
  type GridTable,
  type Html,
  listFinders,
  NO_ROWS,
  NONE_HERE,
  type Part,
  redirect,
  renderNotice,
  renderRowsPage,
  toRowPath,
  withPlace,
} from "../../pages/mod.ts";
import { isUuid } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import { renderEmpty, renderLink } from "../parts.tsx";
import { toAppPath, toTablePath } from "../paths.ts";
import { toHistoryPath } from "./history_read.ts";
import { listRows, readPosition, tagOf } from "./list.ts";
import { findTable, readLabels } from "./related.ts";
import { type RowsTable, respondWithRowsPage } from "./table.tsx";

export async function handleRows(visit: Visit, table: RowsTable): Promise<Response> {
  const query = new Map(readParameters(visit.context.query));
  const from = query.get("from")?.trim() ?? "";
  if (isUuid(from)) return redirect(toRowPath(table.path, from));
  return respondWithRowsPage(table, {
    title: table.table,
    isList: true,
    actions: [
      renderLink("Structure", `${toTablePath(table.table)}?app=${encodeURIComponent(table.slug)}`),
      visit.deps.previews.includes("history") && renderLink("History", toHistoryPath(table.path)),
    ],
    body: [renderDone(table, query), await renderRows(visit, table)],
    script: "rows_page",
  });
}

/** The script adds the tools above the rows, and replaces the rows. */
async function renderRows(visit: Visit, table: RowsTable): Promise<Part> {
  const { path } = table;
  const place = readPosition(visit);
  const { rows, hasMore } = await listRows(visit, { ...table, ...place });
  const labels = await readLabels(
    visit,
    table,
    rows.map(({ row }) => row),
  );
  const grid = toGridTable(table);
  return [
    <noscript>
      <p class="quiet">Search, filters, sorting and changes of several rows need JavaScript.</p>
    </noscript>,
    <div class="row-tools" data-tools>
      <div class="more-tools">
        <div class="rarer" id="rarer">
          <details class="columns export">
            <summary class="button button-quiet">Export</summary>
            <div class="sheet">
              {renderLink("All rows as CSV", `${path}/export/csv`)}
              {renderLink("All rows as JSON", `${path}/export/json`)}
            </div>
          </details>
          {renderLink("Import", `${path}/import`)}
        </div>
      </div>
      {renderLink("New row", withPlace(`${path}/new`, place), "primary", { keys: "n" })}
    </div>,
    <div
      data-rows
      data-table={JSON.stringify(grid)}
      data-more={hasMore}
      {...(visit.deps.previews.includes("live") && describeChanges(table, grid))}
    >
      {renderRowsPage(grid, { rows, hasMore, place, labels, total: undefined, toTag: tagOf })}
      {rows.length === 0 && renderNone(path, place.offset)}
    </div>,
  ];
}

function toGridTable(table: RowsTable): GridTable {
  const { columns } = table.definition;
  const names = new Set(columns.flatMap((column) => column.table ?? []));
  const targets = [...names].map((name) => {
    const target = findTable(table, name);
    return [name, target === undefined ? [] : listFinders(target)] as const;
  });
  return {
    ...{ table: table.table, columns, path: table.path, tables: table.tables },
    api: `${toAppPath(table.slug)}/data`,
    targets: Object.fromEntries(targets),
    hasHistory: table.hasHistory,
  };
}

/** The address of the app's changes for the script, and a cursor from before the rows were read. */
function describeChanges({ table, cursor }: RowsTable, { api }: GridTable) {
  return cursor !== null && { "data-changes": `${api}/${table}/changes`, "data-cursor": cursor };
}

/** The notice of the previous form. */
function renderDone({ path }: RowsTable, query: ReadonlyMap<string, string>): Part {
  const added = query.get("added") ?? "";
  if (query.has("deleted")) return renderNotice("info", "The row was deleted.");
  if (query.has("stored")) return renderNotice("info", "The row was stored.");
  if (!isUuid(added)) return undefined;
  const row = (
    <a class="mono" href={toRowPath(path, added)}>
      {shortenId(added)}
    </a>
  );
  return renderNotice(
    "info",
    <>
      The row {row} was added. New rows come last. <a href={`${path}/new`}>Add another</a>
    </>,
  );
}

function renderNone(path: string, offset: number): Html {
  return offset > 0
    ? renderEmpty(NONE_HERE, renderLink("Show the first rows", path))
    : renderEmpty(NO_ROWS, renderLink("Import a file", `${path}/import`));
}
