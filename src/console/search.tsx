/** @jsxImportSource #html @jsxRuntime automatic */
/** Lists with a search, paged by a key such as a slug: the request, the form, a page, and the link to the next page. @module */
import { readParameters } from "../http/mod.ts";
import type { Html } from "../pages/mod.ts";
import { toSearchExpression } from "../std/letter_case.ts";
import { renderLink } from "./parts.tsx";

const PAGE_ROWS = 50;
/** The number of rows to request: one more than the page, to detect a next page. */
export const ROWS_READ = PAGE_ROWS + 1;

export type ListQuery = {
  search: string;
  /** The search as a regular expression of PostgreSQL, for texts in any alphabet. */
  expression: string;
  after: string;
};

/** The limits of a search and its text. */
export type Searched = { what: string; label: string; maxLength: number };

export const SEARCHED_PEOPLE: Searched = {
  what: "a person",
  label: "Address or name",
  maxLength: 254,
};

export function readListQuery(
  query: string,
  { maxLength }: Pick<Searched, "maxLength">,
): ListQuery {
  const given = new Map(readParameters(query));
  const read = (name: string) =>
    (given.get(name) ?? "").replaceAll("\0", "").trim().slice(0, maxLength);
  const text = read("q");
  return { search: text.toLowerCase(), expression: toSearchExpression(text), after: read("after") };
}

export function renderSearch(
  path: string,
  { search }: ListQuery,
  { what, label, maxLength }: Searched,
): Html {
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
};

/** The links below a list with rows: to the next page, and to all rows as CSV. */
export function renderListLinks({ path, query = {}, next, name }: Links): Html {
  return (
    <p class="action-buttons">
      {next && renderNextLink(path, { ...query, ...next }, name)}
      <a class="button button-quiet" href={toAddress(`${path}.csv`, query)} download>
        Download as CSV
      </a>
    </p>
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
