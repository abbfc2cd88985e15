/** @jsxImportSource #html @jsxRuntime automatic */
/** Tables by name, in pages: of all apps, with a search; of one app, with links to its rows. @module */

import type { Html, Part } from "../../pages/mod.ts";
import type { RowsOf } from "../../records/actions/mod.ts";
import { tableList } from "../../records/console/mod.ts";
import { respondWithAppPage } from "../app_page.tsx";
import type { Visit } from "../enter.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import {
  type ListQuery,
  makeCsv,
  readListed,
  readListQuery,
  renderListLinks,
  renderListTable,
  renderSearch,
  type Searched,
  toListLinks,
  toPage,
} from "../list.tsx";
import { renderEmpty, renderLink, renderPushHint, renderRowActions } from "../parts.tsx";
import {
  renderDone,
  TABLES,
  toAppPath,
  toAppTablesPath,
  toNewColumnPath,
  toNewTablePath,
  toRowsPath,
  toTablePath,
} from "../paths.ts";
import {
  ESTIMATES,
  renderBytes,
  renderRowCount,
  renderState,
  renderUsers,
} from "./table_parts.tsx";

const SEARCHED: Searched = { what: "a table", label: "Table or owner", maxLength: 48 };

export async function handleTables(visit: Visit): Promise<Response> {
  const query = readListQuery(visit.context.query, SEARCHED, tableList);
  const { search, after, sort } = query;
  const { me, tables, isWhole } = await readListed(visit, tableList, {
    ...{ after, sort, filter: { search } },
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
              : renderTables(page, { sorted: { path: TABLES, query }, now: visit.deps.now() }),
            page.length > 0 && [
              renderListLinks({ path: TABLES, isWhole, ...toListLinks(query, last?.name) }),
              ESTIMATES,
            ],
          ],
    ],
  });
}

export const tablesCsv = makeCsv(tableList, ({ context }) => ({
  search: readListQuery(context.query, SEARCHED).search,
}));
export const appTablesCsv = makeCsv(tableList);

const TABLE_MAX = 48;

export async function handleAppTables(visit: Visit): Promise<Response> {
  const { deps, context } = visit;
  const slug = context.params["app"] ?? "";
  const query = readListQuery(context.query, { maxLength: TABLE_MAX }, tableList);
  const { me, app, tables, isWhole } = await readListed(visit, tableList, query);
  const { page, last } = toPage(tables);
  const path = toAppTablesPath(slug);
  return respondWithAppPage({
    visit,
    me,
    isDisabled: app?.disabledAt !== null,
    tab: "Tables",
    body: [
      renderDone(visit),
      page.length === 0
        ? renderEmpty("This app has no tables yet. Push a schema to create them.", [
            renderPushHint(visit),
            renderLink("New table", toNewTablePath(slug)),
          ])
        : [
            renderTables(page, { sorted: { path, query }, now: deps.now(), slug }),
            renderListLinks({ path, isWhole, ...toListLinks(query, last?.name) }),
            ESTIMATES,
          ],
    ],
  });
}

type Listed = RowsOf<typeof tableList>;

/** Tables of all apps, or as the app `slug` uses them, with links to its rows. */
function renderTables(
  tables: readonly Listed[],
  { sorted, now, slug }: { sorted: { path: string; query: ListQuery }; now: number; slug?: string },
): Html {
  return renderListTable(tableList, tables, {
    label: "Tables",
    now,
    sorted,
    cells: {
      name: ({ name }) => (
        <a class="row-name" href={slug === undefined ? toTablePath(name) : toRowsPath(slug, name)}>
          {name}
        </a>
      ),
      owner: ({ owner }) =>
        owner === slug ? (
          <span class="quiet">this app</span>
        ) : (
          <a href={toAppPath(owner)}>{owner}</a>
        ),
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
  const actions = [
    ["Definition", toTablePath(table)],
    ["New column", toNewColumnPath(slug, table)],
    ["Stop using", `${toRowsPath(slug, table)}/end`, "danger"],
  ] as const;
  return renderRowActions(table, actions, { isDialog: false });
}
