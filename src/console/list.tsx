/** @jsxImportSource #html @jsxRuntime automatic */
/** The table of a list, from the columns of its declaration that have a heading. @module */

import type { Arguments, FunctionName } from "../db/mod.ts";
import { readParameters } from "../http/mod.ts";
import type { Html, Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import {
  type Columns,
  type List,
  type Row,
  toCsvStream,
  toValueText,
} from "../records/actions/mod.ts";
import {
  type ConsoleReads,
  type PageView,
  readConsole,
  readSorted,
} from "../records/console/mod.ts";
import { inDigits } from "../std/count.ts";
import { toSearchExpression } from "../std/letter_case.ts";
import { MAX_SORTED_ROWS } from "../std/limits.ts";
import type { Visit } from "./enter.tsx";
import {
  ACTIONS_COLUMN,
  type ColumnSort,
  renderLink,
  renderTable,
  renderText,
  renderTime,
} from "./parts.tsx";

type ListTable<Of extends Columns> = {
  label: string;
  now: number;
  /** The cells that show more than their value; `undefined` for the value. */
  cells?: { readonly [Name in keyof Of]?: (row: Row<Of>) => Part };
  /** The column that comes first. */
  first?: keyof Of;
  /** Columns that other cells show. */
  omitted?: readonly (keyof Of)[];
  /** The page, whose list can be sorted. */
  sorted?: { path: string; query: ListQuery };
  /** Links to the actions on a row. */
  actions?: (row: Row<Of>) => Part;
};

export function renderListTable<Of extends Columns>(
  list: Sortable<Of> & { columns: Of },
  rows: readonly Row<Of>[],
  { label, now, cells, first, omitted = [], sorted, actions }: ListTable<Of>,
): Html {
  const { columns } = list;
  const visible = Object.entries(columns)
    .flatMap(([name, { title, kind }]) =>
      title === undefined || omitted.includes(name) ? [] : [{ name, title, kind }],
    )
    .toSorted((a, b) => Number(b.name === first) - Number(a.name === first));
  const heads = visible.map(({ name, title, kind }) => ({
    name: title,
    isNumber: kind === "count",
    ...(sorted !== undefined &&
      list.sorts?.includes(name) === true && { sort: toColumnSort(list, name, sorted) }),
  }));
  const toCells = (row: Row<Of>): Part[] => [
    ...visible.map(({ name, kind }) => cells?.[name]?.(row) ?? renderValue(kind, row[name], now)),
    ...(actions === undefined ? [] : [actions(row)]),
  ];
  return renderTable(
    label,
    actions === undefined ? heads : [...heads, ACTIONS_COLUMN],
    rows.map(toCells),
  );
}

type Sortable<Of extends Columns> = {
  sorts?: readonly (keyof Of & string)[];
  key?: keyof Of & string;
};

/** A column sorts by its value; a second time, the other way round. */
function toColumnSort<Of extends Columns>(
  { key }: Sortable<Of>,
  name: string,
  { path, query: { search, sort } }: { path: string; query: ListQuery },
): ColumnSort {
  const current = sort ?? (key === undefined ? undefined : { by: key, isDescending: false });
  const isCurrent = current?.by === name;
  const next = isCurrent && !current.isDescending ? `-${name}` : name;
  return {
    path: toAddress(path, { q: search, sort: next === key ? "" : next }),
    order: isCurrent ? (current.isDescending ? "descending" : "ascending") : undefined,
  };
}

function renderValue(kind: Columns[string]["kind"], value: unknown, now: number): Part {
  if (kind === "time") return renderTime(value === null ? null : String(value), now);
  if (kind === "flag") return value === true ? "yes" : "no";
  const text = toValueText(value);
  return text !== null && (kind === "count" ? text : renderText(text));
}

// Lists with a search, paged by a key such as a slug: the request, the form, a page, and its links.

const PAGE_ROWS = 50;
/** The number of rows to request: one more than the page, to detect a next page. */
export const ROWS_READ = PAGE_ROWS + 1;

export type ListQuery = {
  search: string;
  /** The search as a regular expression of PostgreSQL, for texts in any alphabet. */
  expression: string;
  after: string;
  sort: { by: string; isDescending: boolean } | undefined;
};

export type Searched = { what: string; label: string; maxLength: number };

export function readListQuery(
  query: string,
  { maxLength }: Pick<Searched, "maxLength">,
  { sorts = [] }: { sorts?: readonly string[] } = {},
): ListQuery {
  const given = new Map(readParameters(query));
  const read = (name: string) =>
    (given.get(name) ?? "").replaceAll("\0", "").trim().slice(0, maxLength);
  const text = read("q");
  const [, minus, by = ""] = /^(-?)(\w*)$/.exec(given.get("sort") ?? "") ?? [];
  return {
    search: text.toLowerCase(),
    expression: toSearchExpression(text),
    after: read("after"),
    sort: sorts.includes(by) ? { by, isDescending: minus === "-" } : undefined,
  };
}

function toSortText({ sort }: ListQuery): string {
  return sort === undefined ? "" : `${sort.isDescending ? "-" : ""}${sort.by}`;
}

/** The query of a list's links: its search and order, and where the next page begins if there is a `last` row. */
export function toListLinks(query: ListQuery, last: string | undefined): Omit<Links, "path"> {
  const after = query.sort === undefined ? (last ?? "") : String(toSkipped(query) + PAGE_ROWS);
  return {
    query: { q: query.search, sort: toSortText(query) },
    next: last === undefined ? undefined : { after },
  };
}

/** The rows before the page of a sorted list. */
function toSkipped({ after }: Pick<ListQuery, "after">): number {
  return /^\d{1,6}$/.test(after) ? Number(after) : 0;
}

export function renderSearch(
  path: string,
  query: ListQuery,
  { what, label, maxLength }: Searched,
): Html {
  const { search, sort } = query;
  return (
    <form class="search" method="get" action={path} role="search" aria-label={`Find ${what}`}>
      <input
        type="text"
        name="q"
        value={search}
        maxlength={maxLength}
        aria-label={label}
        placeholder={label}
        autocomplete="off"
        spellcheck="false"
        autocapitalize="none"
      />{" "}
      {sort !== undefined && <input type="hidden" name="sort" value={toSortText(query)} />}
      <button class="button button-quiet" type="submit">
        Search
      </button>
      {search !== "" && renderLink("Clear", path)}
    </form>
  );
}

/** The rows of a page, and the last row if there is a next page. */
export function toPage<Row>(rows: readonly Row[]): { page: Row[]; last: Row | undefined } {
  const page = rows.slice(0, PAGE_ROWS);
  return { page, last: rows.length > PAGE_ROWS ? page.at(-1) : undefined };
}

type Query = Readonly<Record<string, string>>;
type Links = {
  path: string;
  /** The filter, without the position. */
  query?: Query;
  /** The position of the next page. */
  next?: Query | undefined;
  name?: string;
  /** Whether all rows were sorted, if the list is sorted. */
  isWhole?: boolean | undefined;
};

/** The links below a list with rows: to the next page, and to all rows as CSV. */
export function renderListLinks({ path, query = {}, next, name, isWhole }: Links): Html {
  return (
    <>
      {isWhole === false && (
        <p class="quiet">
          The list is long: only its first {inDigits(MAX_SORTED_ROWS)} rows are sorted. Search it.
        </p>
      )}
      <p class="action-buttons">
        {next && renderNextLink(path, { ...query, ...next }, name)}
        <a
          class="button button-quiet"
          href={toAddress(`${path}.csv`, { ...query, sort: "" })}
          download
        >
          Download as CSV
        </a>
      </p>
    </>
  );
}

export function renderNextLink(path: string, query: Query, name = "Next page"): Html {
  return renderLink(name, toAddress(path, query));
}

/** Without empty parameters. */
function toAddress(path: string, query: Query): string {
  const given = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
  return given.size === 0 ? path : `${path}?${given}`;
}

// The rows of a page, and a CSV of all rows with the rights and the filter of the page.

type ReadName = Extract<keyof ConsoleReads, FunctionName>;
type Listed<Name extends ReadName, Of extends Columns> = Pick<
  List<Name, string, Of, Columns>,
  "read" | "ask" | "name" | "columns" | "key" | "sorts"
>;
type Filter<Name extends ReadName> = Partial<Arguments<Name>>;
type Asked<Name extends ReadName> = Partial<Pick<ListQuery, "after" | "sort">> & {
  limit?: number;
  filter?: Filter<Name>;
};

/** The rows after a key, of the app in the address. @throws {Problem} unknown_app, and as {@linkcode readConsole} */
export async function readListed<Name extends ReadName, Of extends Columns>(
  { deps, context }: Visit,
  { read, ask, name }: Listed<Name, Of>,
  { after = "", sort, limit = ROWS_READ, filter }: Asked<Name>,
): Promise<PageView<ConsoleReads[Name]> & { isWhole: boolean | undefined }> {
  const { app: of = "" } = context.params;
  if (sort !== undefined) {
    const { search = "" } = { ...filter } as { search?: string };
    return await readSorted<Name>(deps, read, {
      ...{ list: name, app_slug: of, search, sorted_by: sort.by },
      ...{ is_descending: sort.isDescending, skipped: toSkipped({ after }), max_rows: limit },
    });
  }
  // The compiler does not compare the arguments of a read with those of its function for the Console.
  const values = { ...ask({ of, after, limit }), ...filter } as never;
  const page = await readConsole<Name>(deps, read, values);
  // The audit log also has entries of deleted apps.
  if (of !== "" && "app" in page && page.app === null) throw new Problem("unknown_app");
  return page as typeof page & { isWhole: undefined };
}

/** A row of tables has the whole definition. */
const CSV_PAGE_ROWS = 100;

/** @throws {Problem} as `toFilter` and {@linkcode readConsole} */
export function makeCsv<Name extends ReadName, Of extends Columns>(
  list: Listed<Name, Of>,
  toFilter: (visit: Visit) => Filter<Name> = () => ({}),
): (visit: Visit) => Promise<Response> {
  return async (visit) => {
    const filter = toFilter(visit);
    const read = async (after?: string): Promise<Row<Of>[]> => {
      const asked = { ...(after !== undefined && { after }), limit: CSV_PAGE_ROWS, filter };
      const page: object = await readListed(visit, list, asked);
      // The compiler does not connect the name of a list with the rows of its page.
      return (page as Record<string, Row<Of>[]>)[list.name] ?? [];
    };
    // Read the first page before the response begins, so that a rejection has its own status.
    return new Response(toCsvStream(list, await read(), { read, maxRows: CSV_PAGE_ROWS }), {
      headers: {
        "content-type": "text/csv; charset=utf-8",
        "content-disposition": `attachment; filename="${toFileName(visit)}"`,
        "cache-control": "no-store",
        "cross-origin-resource-policy": "same-origin",
      },
    });
  };
}

/** Such as `rowhouse-wiki-keys-2030-01-31.csv`. */
function toFileName({ deps, context }: Visit): string {
  const [name] = new URL(context.request.url).pathname.split("/").slice(-1);
  const parts = ["rowhouse", context.params["app"], name?.replace(/\.csv$/, "")];
  const day = new Date(deps.now()).toISOString().slice(0, 10);
  return `${[...parts, day].filter((part) => part !== undefined).join("-")}.csv`;
}
