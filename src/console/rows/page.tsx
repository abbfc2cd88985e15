/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The rows of an app's table in pages, in the order of their creation. The markup contains the data for editing in place: the
 * kinds of columns in the head, the id and the tag of each row.
 *
 * @module
 */
import { listSortedColumns } from "../../data/mod.ts";
import { readParameters } from "../../http/mod.ts";
import { shortenId } from "../../kinds/mod.ts";
import { type Html, type Part, redirect, renderNotice, toScriptPath } from "../../pages/mod.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { MAX_VISITS } from "../../std/limits.ts";
import { isUuid } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import { renderEmpty, renderLink } from "../parts.tsx";
import { toRowsPath } from "../paths.ts";
import {
  describeColumn,
  isNumeric,
  type RowsTable,
  renderCell,
  respondWithRowsPage,
  toRowPath,
} from "./cells.tsx";
import {
  countRows,
  findReferring,
  findRows,
  LIMITS,
  type ListedRow,
  listRows,
  MAX_OFFSET,
  MAX_SEARCHED,
  type Position,
  type Reference,
  type RowsPage,
  readPosition,
  readTotal,
  SHOW,
  type Total,
  tagOf,
  withPosition,
} from "./list.ts";
import { findLabelColumn, findTable, type Labels, readLabels } from "./related.ts";

export async function handleRows(visit: Visit, table: RowsTable): Promise<Response> {
  const query = new Map(readParameters(visit.context.query));
  const from = query.get("from")?.trim() ?? "";
  if (isUuid(from)) return redirect(toRowPath(table.path, from));
  const asked = readPosition(visit);
  const position = from === "last" ? await findLastPosition(visit, table, asked) : asked;
  const { path } = table;
  return respondWithRowsPage(table, {
    title: table.table,
    isList: true,
    actions: [
      renderColumns(table, position),
      renderLink("Export CSV", `${path}/export/csv`),
      renderLink("JSON", `${path}/export/json`),
      renderLink("Import", `${path}/import`),
      renderLink("New row", withPosition(`${path}/new`, position), "primary", { keys: "n" }),
    ],
    body: [
      renderDone(table, query),
      renderSearch(visit, table),
      renderSelection(table),
      // The part that a script replaces with the next page.
      <div data-rows {...(visit.deps.hasLive && describeChanges(table))}>
        {await renderRows(visit, table, position)}
      </div>,
    ],
    script: "grid",
  });
}

/** The address of the app's changes for the script, and a cursor from before the rows were read. */
function describeChanges({ path, cursor }: RowsTable) {
  return cursor !== null && { "data-changes": `${path}/changes`, "data-cursor": cursor };
}

async function renderRows(visit: Visit, table: RowsTable, position: Position): Promise<Part> {
  const { reference, ids, offset } = position;
  const isPage = ids.length === 0 && reference === undefined;
  const { rows, hasMore } = await readRows(visit, { ...table, ...position });
  const min = offset + rows.length;
  const [labels, total] = await Promise.all([
    readLabels(
      visit,
      table,
      rows.map(({ row }) => row),
    ),
    isPage && hasMore ? readTotal(visit, { ...table, min }) : { count: min },
  ]);
  const { columns } = table.definition;
  const some = columns.filter(({ name }) => position.columns.includes(name));
  const definition = { ...table.definition, columns: some.length === 0 ? columns : some };
  const hasPager = isPage && min > 0;
  return [
    reference && renderReference(table, reference, { count: rows.length, hasMore }),
    hasPager && renderPager(table, position, { count: rows.length, hasMore, total }),
    rows.length === 0
      ? isPage && renderNone(table, offset)
      : renderGrid({ ...table, definition }, { rows, labels, position, total }),
  ];
}

async function readRows(visit: Visit, asked: RowsTable & Position): Promise<RowsPage> {
  const { reference, ids } = asked;
  if (reference !== undefined) return await findReferring(visit, asked, reference);
  if (ids.length === 0) return await listRows(visit, asked);
  return { rows: await findRows(visit, asked), hasMore: false };
}

function renderReference(
  { path }: RowsTable,
  { column, id }: Reference,
  { count, hasMore }: { count: number; hasMore: boolean },
): Html {
  const rows = count === 1 ? "1 row references" : `${count || "No"} rows reference`;
  const limit = `of the first ${MAX_SEARCHED.toLocaleString("en")} rows`;
  return (
    <p>
      {rows} <span class="mono">{shortenId(id)}</span> in <bdi>{column}</bdi>
      {hasMore && `, ${limit}. There may be more`}. <a href={path}>All rows</a>
    </p>
  );
}

async function findLastPosition(
  visit: Visit,
  table: RowsTable,
  asked: Position,
): Promise<Position> {
  const { limit } = asked;
  const count = await countRows(visit, { ...table, min: 0, max: MAX_OFFSET });
  const last = Math.max((count ?? MAX_OFFSET) - 1, 0);
  return { ...asked, offset: last - (last % limit) };
}

/** The notice of the previous form. */
function renderDone({ path }: RowsTable, query: ReadonlyMap<string, string>): Part {
  const added = query.get("added") ?? "";
  const deleted = Number(query.get("deleted"));
  if (deleted > 1) return renderNotice("info", `${deleted} rows were deleted.`);
  if (query.has("deleted")) return renderNotice("info", "The row was deleted.");
  const imported = query.get("imported") ?? "";
  if (/^\d{1,7}$/.test(imported))
    return renderNotice(
      "info",
      `${imported} ${imported === "1" ? "row was" : "rows were"} imported. New rows come last.`,
    );
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

function renderNone({ path }: RowsTable, offset: number): Html {
  return offset > 0
    ? renderEmpty("No rows at this position.", renderLink("Show the first rows", path))
    : renderEmpty("No rows yet.", renderLink("New row", `${path}/new`, "primary"));
}

type GridState = {
  rows: readonly ListedRow[];
  labels: Labels;
  position: Position;
  total: Total;
};

/** The number of rows, if it is exact. */
function toExact(total: Total): number | undefined {
  return "isEstimate" in total ? undefined : total.count;
}

function describeTotal(total: Total): string {
  if (total.count === undefined) return `more than ${total.over}`;
  return total.isEstimate === true ? `about ${total.count.toLocaleString("en")}` : `${total.count}`;
}

function renderGrid(table: RowsTable, page: GridState): Html {
  const { path, definition } = table;
  return (
    <div class="sheet sheet-tight" role="region" aria-label="Rows" tabindex="0">
      <table
        class="cells"
        aria-label={`Rows of ${table.table}`}
        aria-rowcount={(toExact(page.total) ?? -2) + 1}
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
            {definition.columns.map(renderHead)}
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>{page.rows.map((row, index) => renderRow(table, row, { ...page, index }))}</tbody>
      </table>
    </div>
  );
}

/** The menu to hide columns of wide tables. */
function renderColumns({ path, definition }: RowsTable, position: Position): Html {
  const { limit, offset, columns } = position;
  const isVisible = (name: string) => columns.length === 0 || columns.includes(name);
  const boxes = definition.columns.map(({ name }) => (
    <div class="column">
      <label class="check">
        <input type="checkbox" name={`${SHOW}${name}`} checked={isVisible(name)} />
        <span>
          <bdi>{name}</bdi>
        </span>
      </label>
    </div>
  ));
  const hidden = definition.columns.filter(({ name }) => !isVisible(name)).length;
  return (
    <details class="columns">
      <summary class="button button-quiet">
        Columns<span data-hidden-columns>{hidden > 0 && ` (${hidden} hidden)`}</span>
      </summary>
      <form class="sheet" method="get" action={path}>
        <input type="hidden" name="from" value={offset + 1} />
        <input type="hidden" name="limit" value={limit} />
        <fieldset>
          <legend>Show</legend>
          {boxes}
        </fieldset>
        <div class="action-buttons">
          <button class="button button-primary button-small" type="submit">
            Apply
          </button>
          <a class="button button-quiet button-small" href={path}>
            Show all
          </a>
        </div>
      </form>
    </details>
  );
}

/** Names with another meaning in conditions. */
const UNSEARCHED = ["and", "or", "not"];

/** The search form for the script, with the searchable columns. */
function renderSearch({ deps }: Visit, table: RowsTable): Html {
  const { path, definition } = table;
  const sorted = new Set(listSortedColumns(definition));
  const columns = definition.columns
    .filter(({ name }) => !UNSEARCHED.includes(name))
    .map((column) => ({
      ...{ name: column.name, kind: column.kind, required: column.required },
      ...(column.values === undefined ? {} : { values: column.values }),
      ...(sorted.has(column.name) ? { isSorted: true } : {}),
      ...toSearchTarget(table, column),
    }));
  return (
    <>
      <form
        class="row-search"
        data-search={`${path}/list`}
        data-worker={toScriptPath("search")}
        data-columns={JSON.stringify(columns)}
        data-has-filters={deps.hasFilters}
        data-max-sorted={deps.hasFilters && MAX_VISITS}
        role="search"
        aria-label="Rows"
        hidden
      />
      <noscript>
        <p class="quiet">Search, filters and sorting need JavaScript.</p>
      </noscript>
    </>
  );
}

/** The referenced rows, whose labels are searched. */
function toSearchTarget(of: RowsTable, { kind, table = "" }: NamedColumn) {
  const target = kind === "ref" ? findTable(of, table) : undefined;
  const label = target && findLabelColumn(target)?.name;
  return label === undefined
    ? {}
    : { target: { url: `${toRowsPath(of.slug, table)}/list`, label } };
}

/** The actions on the checked rows. */
function renderSelection({ path, definition }: RowsTable): Html {
  return (
    <form
      class="selection"
      id="selection"
      method="get"
      action={`${path}/change`}
      aria-label="Selected rows"
    >
      <p data-selected>Select rows to change or delete them together.</p>
      <label>
        Set{" "}
        <select name="column">
          <option value="">a column</option>
          {definition.columns.map(({ name }) => (
            <option>{name}</option>
          ))}
        </select>
      </label>{" "}
      <button class="button button-quiet button-small" type="submit">
        Set
      </button>{" "}
      <button class="button button-danger button-small" type="submit" name="delete" value="yes">
        Delete
      </button>
    </form>
  );
}

function renderRow(
  table: RowsTable,
  listed: ListedRow,
  { labels, position, index }: GridState & { index: number },
): Html {
  const { slug, path, definition } = table;
  const { id } = listed.row;
  const to = toRowPath(path, id);
  return (
    <tr aria-rowindex={position.offset + index + 2} data-row-id={id} data-etag={tagOf(listed)}>
      <td>
        <input
          type="checkbox"
          class="select"
          form="selection"
          name="row"
          value={id}
          aria-label={`Select row ${shortenId(id)}`}
        />{" "}
        <a class="mono" data-edit href={withPosition(to, position)} title={id}>
          {shortenId(id)}
        </a>
      </td>
      {definition.columns.map((column) => renderCell(column, listed.row, { slug, labels }))}
      <td>
        <a
          class="row-delete"
          data-delete
          href={withPosition(`${to}/delete`, position)}
          aria-label={`Delete row ${shortenId(id)}`}
        >
          Delete
        </a>
      </td>
    </tr>
  );
}

function renderHead(column: NamedColumn): Html {
  const { name, kind, required, values } = column;
  return (
    <th
      scope="col"
      class={isNumeric(column) && "num"}
      data-column={name}
      data-kind={kind}
      data-required={required}
      data-values={values !== undefined && JSON.stringify(values)}
    >
      <bdi>{name}</bdi> <span class="kind">{describeColumn(column)}</span>
    </th>
  );
}

function renderPager(
  { path }: RowsTable,
  position: Position,
  { count, hasMore, total }: { count: number; hasMore: boolean; total: Total },
): Html {
  const { limit, offset, columns } = position;
  const to = (from: number | "last") =>
    withPosition(path, { ...position, offset: 0 }, { from: `${from}`, limit: `${limit}` });
  const before = Math.max(offset - limit, 0) + 1;
  return (
    <nav class="pager" aria-label="Pages">
      <p class="quiet" data-range data-total={toExact(total)}>
        {count === 0 ? "No rows" : `Rows ${offset + 1} to ${offset + count}`}
        {count > 0 && ` of ${describeTotal(total)}`}
      </p>
      <form method="get" action={path}>
        <label>
          Row or id{" "}
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
          Show{" "}
          <select name="limit">
            {LIMITS.map((choice) => (
              <option selected={choice === limit}>{choice}</option>
            ))}
          </select>
        </label>
        {columns.map((name) => (
          <input type="hidden" name={`${SHOW}${name}`} value="on" />
        ))}
        <button class="button button-quiet button-small" type="submit">
          Go
        </button>
      </form>
      <div class="pager-links">
        {offset > 0 && (
          <>
            <a class="button button-quiet button-small" href={to(1)}>
              First
            </a>
            <a class="button button-quiet button-small" rel="prev" href={to(before)}>
              Previous
            </a>
          </>
        )}
        {hasMore && (
          <>
            <a class="button button-quiet button-small" rel="next" href={to(offset + count + 1)}>
              Next
            </a>
            <a class="button button-quiet button-small" data-last href={to("last")}>
              Last
            </a>
          </>
        )}
      </div>
    </nav>
  );
}
