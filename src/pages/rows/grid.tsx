/** @jsxImportSource #html @jsxRuntime automatic */
/** A page of a table's rows: the line with its place in the table, and the grid. Rendered by the server and by scripts. @module */
import type { NamedColumn } from "../../schema/mod.ts";
import { inDigits } from "../../std/count.ts";
import type { Html, Part } from "../html.ts";
import { renderHead, renderRow } from "./cells.tsx";
import { findLabelColumn, type Labels, type ListedRow } from "./row.ts";

/** What a script knows of a table, as JSON in the page. */
export type GridTable = {
  readonly table: string;
  readonly columns: readonly NamedColumn[];
  /** The address of the page, and of the pages of all tables. */
  readonly path: string;
  readonly tables: string;
  /** The address of the app's data endpoints for scripts. */
  readonly api: string;
  /** The columns by which rows of each referenced table are found, beginning with their label. */
  readonly targets: Readonly<Record<string, readonly string[]>>;
  /** Whether the history can restore deleted rows. */
  readonly hasHistory: boolean;
};

export const NO_ROWS =
  "No rows yet. Add one, or paste cells of a spreadsheet into the row with “+”.";
export const NONE_HERE = "No rows at this position.";

/** The rows of a page, by their place in the table. */
export type Place = { readonly limit: number; readonly offset: number };

export const LIMITS = [25, 50, 100, 250] as const;
export const DEFAULT_LIMIT = 50;
const MAX_OFFSET = 2_147_483_647;

/** The place in the parameters of an address. Displayed numbers start at 1, offsets at 0. */
export function readPlace(query: ReadonlyMap<string, string>): Place {
  const limit = LIMITS.find((choice) => String(choice) === query.get("limit")) ?? DEFAULT_LIMIT;
  const from = query.get("from") ?? "1";
  const offset = /^\d{1,10}$/.test(from) ? Math.min(Math.max(Number(from) - 1, 0), MAX_OFFSET) : 0;
  return { limit, offset };
}

/** An address with a place and more parameters. */
export function withPlace(
  path: string,
  { limit, offset }: Place,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({
    ...(offset === 0 ? {} : { from: String(offset + 1) }),
    ...(limit === DEFAULT_LIMIT ? {} : { limit: String(limit) }),
    ...more,
  }).toString();
  return query === "" ? path : `${path}?${query}`;
}

/** The number of rows of a table: exact, estimated, or only that it is larger. */
export type Total =
  | { readonly count: number; readonly isEstimate?: true }
  | { readonly over: number };

/** The range of the rows shown, and of how many; a script adds the total when it is known. */
export function describeRange(place: Place, count: number, total: Total | undefined): string {
  const range = `Rows ${inDigits(place.offset + 1)} to ${inDigits(place.offset + count)}`;
  if (total === undefined) return range;
  if ("over" in total) return `${range} of more than ${inDigits(total.over)}`;
  return `${range} of ${total.isEstimate === true ? "about " : ""}${inDigits(total.count)}`;
}

type RowsPage = {
  readonly rows: readonly ListedRow[];
  readonly hasMore: boolean;
  readonly place: Place;
  readonly labels: Labels;
  readonly total: Total | undefined;
  /** The entity tag of a row. A script computes it when it writes the row. */
  readonly toTag?: (row: ListedRow) => string;
};

export function renderRowsPage(table: GridTable, page: RowsPage): Part {
  const { place, rows, hasMore } = page;
  const count = rows.length + place.offset;
  const isShown = rows.length > 0 || place.offset === 0;
  return [
    isShown && renderGrid(table, { ...page, isEnd: !hasMore }),
    count > 0 && renderPager(table, page),
  ];
}

type Grid = Omit<RowsPage, "hasMore"> & {
  /** Whether the table ends with these rows: below them is the row that adds others. */
  readonly isEnd?: boolean;
};

export function renderGrid(table: GridTable, page: Grid): Html {
  const { columns, path, tables } = table;
  const { rows, place, labels, total, toTag, isEnd = false } = page;
  const exact = total !== undefined && "count" in total && total.isEstimate === undefined;
  const query = withPlace("", place);
  const name = findLabelColumn(table);
  return (
    <div class="sheet sheet-tight" role="region" aria-label="Rows" tabindex="0">
      <table
        class="cells"
        aria-label={`Rows of ${table.table}`}
        aria-rowcount={exact ? toRowCount(total.count) : -1}
        data-grid={path}
      >
        <thead>
          <tr aria-rowindex="1">
            <th scope="col">
              <input
                type="checkbox"
                class="select"
                data-select-all
                hidden
                aria-label="Select all rows shown"
              />{" "}
              id
            </th>
            {columns.map((column) => renderHead(column, column === name))}
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((listed, index) =>
            renderRow(listed.row, {
              ...{ columns, path, tables, query, labels, place: place.offset + index + 1 },
              etag: toTag?.(listed),
            }),
          )}
        </tbody>
        {isEnd && renderNewRow(table, place, rows.length)}
      </table>
    </div>
  );
}

/** With the head and the row that adds others. */
export function toRowCount(total: number): number {
  return total + 2;
}

/** Each cell opens the form of a new row; a pasted table creates several. */
function renderNewRow({ columns, path }: GridTable, place: Place, count: number): Html {
  const name = <span class="visually-hidden">New row</span>;
  return (
    <tfoot>
      <tr aria-rowindex={toRowCount(place.offset + count)}>
        <td>
          <a data-add href={withPlace(`${path}/new`, place)}>
            + New row
          </a>
        </td>
        {columns.map(() => (
          <td>{name}</td>
        ))}
        <td>{name}</td>
      </tr>
    </tfoot>
  );
}

function renderPager(
  { path }: GridTable,
  { rows, hasMore, place, total }: Omit<RowsPage, "labels" | "toTag">,
): Html {
  const { limit, offset } = place;
  const count = rows.length;
  const to = (next: number) => withPlace(path, { limit, offset: next });
  return (
    <nav class="pager" aria-label="Pages">
      {count > 0 && (
        <p class="quiet" data-range>
          {describeRange(place, count, total)}
        </p>
      )}
      <form method="get" action={path}>
        <label>
          <span>Row or id</span>{" "}
          <input
            type="text"
            name="from"
            value={offset + 1}
            size="6"
            maxlength="36"
            autocomplete="off"
            spellcheck="false"
          />
        </label>
        <label>
          <span>Show</span>{" "}
          <select name="limit">
            {LIMITS.map((choice) => (
              <option selected={choice === limit}>{choice}</option>
            ))}
          </select>
        </label>
        <button class="button button-quiet button-small" type="submit">
          Go
        </button>
      </form>
      <div class="pager-links">
        {offset > 0 && (
          <>
            <a class="button button-quiet button-small" href={to(0)}>
              First
            </a>
            <a
              class="button button-quiet button-small"
              rel="prev"
              href={to(Math.max(offset - limit, 0))}
            >
              Previous
            </a>
          </>
        )}
        {hasMore && (
          <a class="button button-quiet button-small" rel="next" href={to(offset + count)}>
            Next
          </a>
        )}
      </div>
    </nav>
  );
}
