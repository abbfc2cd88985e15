/** @jsxImportSource #html @jsxRuntime automatic */
/** The page that imports rows. A script reads a file or pasted rows, checks them, and calls the data endpoints. @module */
import { describeColumn, findLabelColumn, type Part } from "../../pages/mod.ts";
import type { Visit } from "../enter.tsx";
import { toAppPath } from "../paths.ts";
import { renderImports } from "./imports.tsx";
import { findTable, listReferrers } from "./related.ts";
import { type RowsTable, respondWithRowsPage } from "./table.tsx";

export async function handleImport(visit: Visit, table: RowsTable): Promise<Response> {
  const { path, definition, slug, hasHistory } = table;
  return respondWithRowsPage(table, {
    title: "Import rows",
    script: "import_page",
    body: [
      <noscript>
        <p class="quiet">
          An import needs JavaScript. The command rowhouse data import needs none.
        </p>
      </noscript>,
      <section
        class="sheet action"
        data-import={JSON.stringify(definition)}
        data-rows-path={path}
        data-has-history={hasHistory}
        data-api={`${toAppPath(slug)}/data`}
        data-cascades={JSON.stringify(listCascades(table))}
        data-targets={JSON.stringify(listTargets(table))}
        hidden
      />,
      await renderImports(visit, table),
      renderColumns(table),
    ],
  });
}

/** The columns of the referenced tables by which a file can name their rows: the unique ones, and the one that the pages show. */
function listTargets(table: RowsTable) {
  const names = new Set(table.definition.columns.flatMap((column) => column.table ?? []));
  const targets = [...names].flatMap((name) => {
    const target = findTable(table, name);
    const label = target && findLabelColumn(target)?.name;
    const columns =
      target?.columns.filter((column) => column.unique || column.name === label) ?? [];
    const url = `${toAppPath(table.slug)}/data/${encodeURIComponent(name)}`;
    return columns.length === 0 ? [] : [[name, { url, columns, label }] as const];
  });
  return Object.fromEntries(targets);
}

/** The other tables whose rows are deleted with a row that they reference. */
function listCascades(table: RowsTable): string[] {
  const found = listReferrers(table).filter(
    ({ referrer, column }) => referrer.name !== table.table && column.onDelete === "cascade",
  );
  return [...new Set(found.map(({ referrer }) => referrer.name))];
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
