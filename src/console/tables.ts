/** Tables by name, in pages: of all apps, with a search; of one app, with links to its rows. @module */
import type { RowsOf } from "../accounts/actions/mod.ts";
import { readConsole, tableList } from "../accounts/console/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { respondWithAppPage } from "./app_page.ts";
import { renderDone } from "./done.ts";
import type { Visit } from "./enter.ts";
import { respondWithConsolePage } from "./frame.ts";
import { renderListTable } from "./list_table.ts";
import { renderEmpty } from "./parts.ts";
import { TABLES, toAppPath, toAppTablesPath, toRowsPath, toTablePath } from "./paths.ts";
import {
  ROWS_READ,
  readListQuery,
  renderNext,
  renderSearch,
  type Searched,
  toPage,
} from "./search.ts";
import { renderPushHint } from "./snippets.ts";
import { ESTIMATES, renderBytes, renderRowCount, renderState, renderUsers } from "./table_parts.ts";

const SEARCHED: Searched = { what: "a table", label: "Table or owner", maxLength: 48 };

export async function handleTables(visit: Visit): Promise<Response> {
  const query = readListQuery(visit.context.query, SEARCHED);
  const { me, tables } = await readConsole(visit.deps, "list_tables", {
    ...{ app_slug: "", search: query.search, after_name: query.after, max_rows: ROWS_READ },
  });
  const { page, last } = toPage(tables);
  const isEmpty = page.length === 0 && query.search === "" && query.after === "";
  return respondWithConsolePage({
    me,
    title: "Tables",
    body: [
      renderDone(visit),
      isEmpty
        ? renderEmpty("No app has pushed a table yet.", renderPushHint(visit))
        : [
            renderSearch(TABLES, query, SEARCHED),
            page.length === 0
              ? renderEmpty("No matching tables.")
              : renderTables(page, visit.deps.now()),
            last !== undefined && renderNext(TABLES, { q: query.search, after: last.name }),
            page.length > 0 && ESTIMATES,
          ],
    ],
  });
}

const TABLE_MAX = 48;

export async function handleAppTables(visit: Visit): Promise<Response> {
  const { deps, context } = visit;
  const slug = context.params["app"] ?? "";
  const { after } = readListQuery(context.query, { maxLength: TABLE_MAX });
  const { me, app, tables } = await readConsole(deps, "list_tables", {
    ...{ app_slug: slug, search: "", after_name: after, max_rows: ROWS_READ },
  });
  const { page, last } = toPage(tables);
  return respondWithAppPage({
    me,
    slug,
    isDisabled: app?.disabledAt !== null,
    tab: "Tables",
    body: [
      renderDone(visit),
      page.length === 0
        ? renderEmpty(
            "This app has no tables yet. Push a schema to create them.",
            renderPushHint(visit),
          )
        : [
            renderTables(page, deps.now(), slug),
            last !== undefined && renderNext(toAppTablesPath(slug), { after: last.name }),
            ESTIMATES,
          ],
    ],
  });
}

type Listed = RowsOf<typeof tableList>;

/** Tables of all apps, or as the app `slug` uses them, with links to its rows. */
function renderTables(tables: readonly Listed[], now: number, slug?: string): Html {
  return renderListTable(tableList, tables, {
    label: "Tables",
    now,
    cells: {
      name: ({ name }) =>
        html`<a class="row-name" href="${slug === undefined ? toTablePath(name) : toRowsPath(slug, name)}">${name}</a>`,
      owner: ({ owner }) =>
        owner === slug
          ? html`<span class="quiet">this app</span>`
          : html`<a href="${toAppPath(owner)}">${owner}</a>`,
      apps: renderUsers,
      columns: renderColumnCount,
      rows: ({ rows }) => renderRowCount(rows),
      bytes: ({ bytes }) => renderBytes(bytes),
      builds: renderState,
    },
    ...(slug !== undefined && { actions: ({ name }) => renderActions(slug, name) }),
  });
}

/** Other apps can declare more columns. */
function renderColumnCount({ columns, definition: { columns: all } }: Listed): Part {
  return columns.length === all.length ? all.length : `${columns.length} of ${all.length}`;
}

function renderActions(slug: string, table: string): Html {
  const what = html`<span class="visually-hidden"> ${table}</span>`;
  return html`<span class="row-actions"><a class="button button-quiet button-small" href="${toTablePath(table)}">Definition${what}</a>
<a class="button button-danger button-small" href="${toRowsPath(slug, table)}/end">Stop using${what}</a></span>`;
}
