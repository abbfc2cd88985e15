/** The tables of all apps: a list by name that can be searched and paged. @module */
import { type ConsoleTable, readConsole } from "../accounts/console/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { findTableDifferences } from "../push/mod.ts";
import { renderDone } from "./done.ts";
import type { Visit } from "./enter.ts";
import { respondWithConsolePage } from "./frame.ts";
import { renderEmpty, renderTable } from "./parts.ts";
import { TABLES, toAppPath, toTablePath } from "./paths.ts";
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
    [
      "Table",
      "Owner",
      "Used by",
      { name: "Columns", isNumber: true },
      { name: "Rows", isNumber: true },
      { name: "Size", isNumber: true },
      { name: "State", isHidden: true },
    ],
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
