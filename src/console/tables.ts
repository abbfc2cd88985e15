/** Tables by name, in pages: of all apps, with a search; of one app, with links to its rows. @module */
import { type ConsoleAppTable, type ConsoleTable, readConsole } from "../accounts/console/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { findTableDifferences } from "../push/mod.ts";
import { respondWithAppPage } from "./app_page.ts";
import { renderDone } from "./done.ts";
import type { Visit } from "./enter.ts";
import { respondWithConsolePage } from "./frame.ts";
import { ACTIONS_COLUMN, numeric, renderEmpty, renderPill, renderTable } from "./parts.ts";
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

const SIZE_COLUMNS = [
  ...["Columns", "Rows", "Size"].map(numeric),
  { name: "State", isHidden: true },
];
const SEARCHED: Searched = { what: "a table", label: "Table or owner", maxLength: 48 };

export async function handleTables(visit: Visit): Promise<Response> {
  const query = readListQuery(visit.context.query, SEARCHED);
  const { me, tables } = await readConsole(visit.deps, "list_tables", {
    search: query.search,
    after_name: query.after,
    max_rows: ROWS_READ,
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
            page.length === 0 ? renderEmpty("No matching tables.") : renderList(page),
            last !== undefined && renderNext(TABLES, { q: query.search, after: last.name }),
            page.length > 0 && ESTIMATES,
          ],
    ],
  });
}

function renderList(tables: readonly ConsoleTable[]): Html {
  return renderTable(
    "Tables",
    ["Table", "Owner", "Used by", ...SIZE_COLUMNS],
    tables.map((table): Part[] => [
      html`<a class="row-name" href="${toTablePath(table.name)}">${table.name}</a>`,
      html`<a href="${toAppPath(table.owner)}">${table.owner}</a>`,
      renderUsers(table.users),
      table.definition.columns.length,
      renderRowCount(table.size),
      renderBytes(table.size),
      renderState(table, findTableDifferences(table).length),
    ]),
  );
}

const TABLE_MAX = 48;

export async function handleAppTables(visit: Visit): Promise<Response> {
  const { deps, context } = visit;
  const slug = context.params["app"] ?? "";
  const { after } = readListQuery(context.query, { maxLength: TABLE_MAX });
  const { me, app, tables } = await readConsole(deps, "list_app_tables", {
    app_slug: slug,
    after_name: after,
    max_rows: ROWS_READ,
  });
  const { page, last } = toPage(tables);
  return respondWithAppPage({
    me,
    slug,
    isDisabled: app.disabledAt !== null,
    tab: "Tables",
    body: [
      renderDone(visit),
      page.length === 0
        ? renderEmpty(
            "This app has no tables yet. Push a schema to create them.",
            renderPushHint(visit),
          )
        : [
            renderAppTables(slug, page),
            last !== undefined && renderNext(toAppTablesPath(slug), { after: last.name }),
            ESTIMATES,
          ],
    ],
  });
}

function renderAppTables(slug: string, tables: readonly ConsoleAppTable[]): Html {
  return renderTable(
    "Tables",
    ["Table", "Owner", ...SIZE_COLUMNS, ACTIONS_COLUMN],
    tables.map((table): Part[] => [
      html`<a class="row-name" href="${toRowsPath(slug, table.name)}">${table.name}</a>`,
      table.owner === slug
        ? html`<span class="quiet">this app</span>`
        : html`<a href="${toAppPath(table.owner)}">${table.owner}</a>`,
      renderColumnCount(table),
      renderRowCount(table.size),
      renderBytes(table.size),
      [
        table.users.count > 1 && renderPill(`shared by ${table.users.count}`),
        renderState(table, 0),
      ],
      renderActions(slug, table.name),
    ]),
  );
}

/** Other apps can declare more columns. */
function renderColumnCount({ columns, all }: ConsoleAppTable): Part {
  return columns.length === all ? all : `${columns.length} of ${all}`;
}

function renderActions(slug: string, table: string): Html {
  const what = html`<span class="visually-hidden"> ${table}</span>`;
  return html`<span class="row-actions"><a class="button button-quiet button-small" href="${toTablePath(table)}">Definition${what}</a>
<a class="button button-danger button-small" href="${toRowsPath(slug, table)}/end">Stop using${what}</a></span>`;
}
