/** The tables of all apps: a list by name that can be searched and paged. @module */
import { type ConsoleTable, listConsoleTables } from "../accounts/mod.ts";
import { readParameters } from "../http/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { findTableDifferences } from "../push/mod.ts";
import type { Visit } from "./enter.ts";
import { answerConsolePage } from "./frame.ts";
import { renderEmpty, renderLink, renderTable } from "./parts.ts";
import { TABLES, toAppPath, toTablePath } from "./paths.ts";
import { renderPushHint } from "./push_hint.ts";
import { ESTIMATES, renderBytes, renderRowCount, renderState, renderUsers } from "./table_parts.ts";

const PAGE_ROWS = 50;

export async function answerTables(visit: Visit): Promise<Response> {
  const query = new Map(readParameters(visit.context.query));
  const read = (name: string) =>
    (query.get(name) ?? "").replaceAll("\0", "").trim().toLowerCase().slice(0, 48);
  const [search, after] = [read("q"), read("after")];
  const { me, tables } = await listConsoleTables(visit.deps, visit.cookies, {
    search,
    after,
    most: PAGE_ROWS + 1,
  });
  const shown = tables.slice(0, PAGE_ROWS);
  const last = tables.length > PAGE_ROWS ? shown.at(-1)?.name : undefined;
  const isEmpty = shown.length === 0 && search === "" && after === "";
  return answerConsolePage({
    me,
    entry: "Tables",
    title: "Tables",
    body: isEmpty
      ? renderEmpty("No app has pushed a table yet.", renderPushHint(visit))
      : [
          renderSearch(search),
          shown.length === 0 ? renderEmpty("No table is like that.") : renderList(shown),
          last !== undefined && renderNext({ q: search, after: last }),
          shown.length > 0 && ESTIMATES,
        ],
  });
}

function renderSearch(search: string): Html {
  return html`<form class="search" method="get" action="${TABLES}" role="search" aria-label="Find a table">
<input type="text" name="q" value="${search}" maxlength="48" aria-label="Table or owner" placeholder="Table or owner" autocomplete="off" spellcheck="false" autocapitalize="none">
<button class="button button-quiet" type="submit">Search</button>${search !== "" && renderLink("Clear", TABLES)}</form>`;
}

function renderNext(query: Record<string, string>): Html {
  return html`<p><a class="button button-quiet" href="${TABLES}?${new URLSearchParams(query).toString()}">Next page</a></p>`;
}

function renderList(tables: readonly ConsoleTable[]): Html {
  return renderTable(
    "Tables",
    [
      { name: "Table" },
      { name: "Owner" },
      { name: "Used by" },
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
