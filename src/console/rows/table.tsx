/** @jsxImportSource #html @jsxRuntime automatic */
/** The table of a page of rows: read with the rights of the visitor. @module */

import { sealCursor } from "../../data/mod.ts";
import { type Html, type Row, renderCell } from "../../pages/mod.ts";
import { readConsole } from "../../records/console/mod.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import type { Visit } from "../enter.tsx";
import { type ConsolePage, respondWithConsolePage } from "../frame.tsx";
import { renderEmpty, renderLink } from "../parts.tsx";
import { APPS, toAppPath, toAppTablesPath, toRowsPath, toSwitchPath } from "../paths.ts";

export type RowsTable = Awaited<ReturnType<typeof readRowsTable>>;

/** @throws {Problem} unknown_app; unknown_table */
export async function readRowsTable({ deps, context }: Visit) {
  const { app: slug = "", table = "" } = context.params;
  const { position, cursorKey, hasHistory, ...page } = await readConsole(deps, "show_rows", {
    app_slug: slug,
    wanted_table: table,
  });
  const cursor =
    position === null || cursorKey === null
      ? null
      : sealCursor(Buffer.from(cursorKey, "hex"), table, position);
  const tables = toAppTablesPath(slug);
  const shown = { hasHistory: hasHistory && deps.previews.includes("history") };
  return { ...page, ...shown, cursor, slug, table, tables, path: toRowsPath(slug, table) };
}

type Handle = (visit: Visit, table: RowsTable) => Response | Promise<Response>;

/** The handlers of a page about rows and of its form. The page of a disabled app shows only how to enable the app. */
export function makeRowsPage(show: Handle, submit?: Handle) {
  return {
    show: async (visit: Visit) => {
      const table = await readRowsTable(visit);
      return table.isDisabled ? respondWithDisabledApp(table) : await show(visit, table);
    },
    ...(submit && {
      submit: async (visit: Visit) => await submit(visit, await readRowsTable(visit)),
    }),
  };
}

function respondWithDisabledApp(table: RowsTable): Response {
  const body = renderEmpty(
    "This app is disabled. Its rows cannot be read or changed.",
    renderLink("Enable the app", toSwitchPath(table.slug, "disabled")),
  );
  return respondWithRowsPage(table, { title: table.table, isList: true, body });
}

/** A page below the list of the table's rows; with `isList`, the list itself. */
export function respondWithRowsPage(
  { me, slug, table, path, tableNames }: RowsTable,
  { isList = false, ...page }: Omit<ConsolePage, "me" | "entry" | "crumbs"> & { isList?: boolean },
): Response {
  return respondWithConsolePage({
    me,
    crumbs: [
      { name: "Apps", path: APPS },
      { name: slug, path: toAppPath(slug) },
      { name: "Tables", path: toAppTablesPath(slug) },
      ...(isList ? [] : [{ name: table, path }]),
    ],
    ...(isList && {
      beside: {
        name: `Tables of ${slug}`,
        pages: tableNames.map((name) => ({ name, path: toRowsPath(slug, name) })),
      },
    }),
    ...page,
  });
}

type ValuesTable = {
  label: string;
  columns: readonly NamedColumn[];
  /** The rows by their heads; a row that does not exist has no column. */
  versions: readonly (readonly [head: string, row: Row | undefined])[];
  /** The action of a column. */
  toLink?: ((column: string) => Html) | undefined;
};

/** The values of some columns in versions of a row. */
export function renderValues(
  table: RowsTable,
  { label, columns, versions, toLink }: ValuesTable,
): Html {
  const shown = versions.flatMap(([head, row]) => (row === undefined ? [] : [{ head, row }]));
  return (
    <div class="change-rows" role="region" aria-label={label} tabindex="0">
      <table>
        <thead>
          <tr>
            <th scope="col">Column</th>
            {shown.map(({ head }) => (
              <th scope="col">{head}</th>
            ))}
            {toLink && (
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {columns.map((column) => (
            <tr>
              <th scope="row">
                <bdi>{column.name}</bdi>
              </th>
              {shown.map(({ row }) => renderCell(column, row, table))}
              {toLink && <td>{toLink(column.name)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
