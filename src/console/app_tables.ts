/** The tables that an app uses: owner, declared columns and links to the rows. @module */
import { type ConsoleAppTable, readConsole } from "../accounts/console/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { respondWithAppPage } from "./app_page.ts";
import { renderDone } from "./done.ts";
import type { Visit } from "./enter.ts";
import { ACTIONS_COLUMN, renderEmpty, renderPill, renderTable } from "./parts.ts";
import { toAppPath, toAppTablesPath, toRowsPath, toTablePath } from "./paths.ts";
import { ROWS_READ, readListQuery, renderNext, toPage } from "./search.ts";
import { renderPushHint } from "./snippets.ts";
import { ESTIMATES, renderBytes, renderRowCount, renderState } from "./table_parts.ts";

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
            renderList(slug, page),
            last !== undefined && renderNext(toAppTablesPath(slug), { after: last.name }),
            ESTIMATES,
          ],
    ],
  });
}

function renderList(slug: string, tables: readonly ConsoleAppTable[]): Html {
  return renderTable(
    "Tables",
    [
      "Table",
      "Owner",
      { name: "Columns", isNumber: true },
      { name: "Rows", isNumber: true },
      { name: "Size", isNumber: true },
      { name: "State", isHidden: true },
      ACTIONS_COLUMN,
    ],
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
