/**
 * Search, filters and order over all rows of a table. The fragment of the address contains the search. The list endpoint answers
 * page by page.
 *
 * @module
 */
import type { Parameter } from "../../../sdk/related.ts";
import type { ListedRow } from "../../rows/row.ts";
import { toDataUrl } from "../data.ts";
import { announce, element, makeButton, restoreFragment, SMALL_BUTTON } from "../dom.ts";
import { showFailure } from "../save_state.ts";
import { makeSearchForm, type SearchForm } from "../search/form.ts";
import { isUnserved, readPage, readQuery, readQueryPages, SearchError } from "../search/pages.ts";
import {
  CREATED,
  isWhole,
  listQueries,
  listUnread,
  NO_SEARCH,
  readPageNumber,
  readState,
  type SearchColumn,
  type SearchState,
  toFragment,
} from "../search/state.ts";
import { findGrid, focusCell, type Position } from "./cells.ts";
import { currentLimit, openRows, setShownAt, showFoundRows, showNone } from "./rows.ts";
import { describeFound, hideProgress, showPager, showProgress } from "./search_parts.ts";
import { makeSelectAll } from "./selection.ts";
import { markSorted } from "./sort.ts";
import { readLabel, readTable, toListed, toUrl } from "./store.ts";

const ID: SearchColumn = { name: "id", kind: "uuid", required: true };
const CREATION: SearchColumn = {
  name: CREATED,
  title: "created",
  kind: "timestamp",
  required: true,
};
/** Names with another meaning in conditions. */
const UNSEARCHED = ["and", "or", "not"];

const NOT_WHOLE = "Not all columns were searched: add a filter for a column.";

/** A search, whose rows are pages of the list endpoint. */
type Found = {
  readonly fragment: string;
  readonly queries: ReturnType<typeof listQueries>;
  /** The slowest query that the endpoint is known to serve: the next page that is read is one of its. */
  parameters: Parameter[];
  /** The page that is shown, perhaps of a faster query. */
  shown: FoundPage | undefined;
  /** Whether no slower query follows. */
  isSettled: boolean;
  isWhole: boolean;
  count: number | undefined;
  /** Where the pages begin that follow those that were read, with the cursor of each. */
  readonly starts: { readonly start: number; readonly after: string | undefined }[];
};
type OpenOptions = { focus?: Position; isBack?: boolean };

let parts: SearchForm | undefined;
let columns: readonly SearchColumn[] = [ID, CREATION];
let found: Found | undefined;

/** The form above the rows. */
export function makeSearch(): HTMLFormElement {
  const table = readTable();
  const described = table.columns
    .filter(({ name }) => !UNSEARCHED.includes(name))
    .map(({ name, kind, required, values, table: target = "" }): SearchColumn => {
      const finders = table.targets[target] ?? [];
      const [label] = finders;
      return {
        ...{ name, kind, required },
        ...(values === undefined ? {} : { values }),
        ...(label === undefined ? {} : { label, finders, rows: toDataUrl(table.api, target) }),
      };
    });
  columns = [...described, ID, CREATION];
  restoreFragment();
  const form = element("form", { class: "row-search", role: "search", "aria-label": "Rows" });
  parts = makeSearchForm(form, {
    columns,
    toLabel: readLabel,
    onApply: () => void openState({ ...(parts?.read() ?? NO_SEARCH), order: currentState().order }),
    onClear: () => void openState(NO_SEARCH),
  });
  return form;
}

/** Whether an address contains a search, a filter or an order. */
export function isSearch(url: string): boolean {
  return (
    parts !== undefined && toFragment(readState(new URL(url, location.href).hash, columns)) !== ""
  );
}

export function currentState(): SearchState {
  return parts === undefined ? NO_SEARCH : readState(location.hash, columns);
}

/** Says which conditions in the address are not applied. */
export function explainUnread(): void {
  const unread = listUnread(location.hash, columns);
  if (unread.length === 0) return;
  const texts = unread.map((text) => JSON.stringify(text)).join(", ");
  showFailure(`Not applied: ${texts}. The table has no such column or comparison.`);
}

/** Shows the rows of a search state, and stores it in the address. */
export async function openState(state: SearchState): Promise<void> {
  const fragment = toFragment(state);
  if (fragment !== "") return await openFound(fragment);
  hideProgress();
  found = undefined;
  parts?.show(NO_SEARCH);
  await openRows(location.pathname + location.search);
}

/** Shows the results of the search in an address. */
export async function openFound(url: string, options: OpenOptions = {}): Promise<void> {
  if (parts === undefined) return;
  if (options.isBack !== true) history.pushState(null, "", url);
  setShownAt(location.href);
  const state = currentState();
  parts.show(state);
  const fragment = toFragment(state);
  if (found?.fragment !== fragment) {
    const queries = listQueries(state, columns);
    const isSettled = queries.length === 1;
    found = {
      ...{ fragment, queries, parameters: queries[0], isSettled },
      ...{ isWhole: isWhole(state, columns), count: undefined, shown: undefined, starts: [] },
    };
  }
  await showFound(options.focus);
}

/** Reloads the displayed results. */
export async function renewFound(focus?: Position): Promise<void> {
  if (found !== undefined) await showFound(focus, true);
}

async function showFound(focus?: Position, isFresh = false): Promise<void> {
  const of = found;
  if (of === undefined) return;
  const progress = showProgress();
  const page = await readShown(of);
  // Another search has begun.
  if (found !== of) return;
  if (page instanceof SearchError) return progress.end(`Search failed: ${page.message}`);
  if (of.isSettled || page.rows.length > 0) await showPage(of, page, focus);
  if (of.isSettled) {
    progress.end();
    if (of.count === undefined || isFresh) void countFound(of);
    return;
  }
  const rest = await settle(of, page);
  if (found !== of) return;
  progress.end();
  const isSame =
    (page.next === undefined) === (rest.next === undefined) && toIds(page) === toIds(rest);
  if (isSame && rest.rows.length > 0) showRange(of, rest);
  // The user may be editing a row.
  else if (of.shown === page && isInGrid()) offerPage(of, rest);
  else await showPage(of, rest, focus);
  if (of.count === undefined) void countFound(of);
}

async function readShown(of: Found): Promise<FoundPage | SearchError> {
  // The rows before a later page are those of the whole search.
  if (!of.isSettled && readPageNumber(location.hash) > 1) return await settle(of);
  return await readPageOf(of).catch(toSearchError);
}

function toSearchError(error: unknown): SearchError {
  if (!(error instanceof SearchError)) throw error;
  return error;
}

/** The rows of the slowest query that the endpoint serves; `quick` are those of the fastest one. */
async function settle(of: Found, quick: FoundPage): Promise<FoundPage>;
async function settle(of: Found): Promise<FoundPage | SearchError>;
async function settle(of: Found, quick?: FoundPage): Promise<FoundPage | SearchError> {
  for (const query of of.queries.slice(1).toReversed()) {
    const page = await readPageOf(of, query).catch(toSearchError);
    const isFailed = page instanceof SearchError;
    if (isFailed) of.isWhole = false;
    // Without a network, no other query is served either.
    if (isFailed && isUnserved(page)) continue;
    if (!isFailed) of.parameters = query;
    of.isSettled = !isFailed;
    return isFailed && quick !== undefined ? quick : page;
  }
  of.isSettled = true;
  return quick ?? (await readPageOf(of).catch(toSearchError));
}

function toIds({ rows }: FoundPage): string {
  return rows.map(({ row }) => row.id).join();
}

function isInGrid(): boolean {
  return document.activeElement?.closest("[data-rows] tbody") != null;
}

/** Rows that a slower query found, after a press: until then, those of the faster one stay. */
function offerPage(of: Found, page: FoundPage): void {
  const show = () => void showPage(of, page);
  if (of.shown !== undefined) showRange(of, of.shown);
  document
    .querySelector("[data-rows] .pager-links")
    ?.prepend(makeButton("Show more rows found", show));
  announce("More rows were found");
}

async function showPage(of: Found, page: FoundPage, focus?: Position): Promise<void> {
  const { rows, start } = page;
  await showFoundRows(rows, start);
  if (rows.length === 0) {
    document.querySelector("[data-rows]")?.replaceChildren();
    showNone(toNone(of));
  }
  showRange(of, page);
  markSorted(currentState().order);
  const grid = findGrid();
  if (focus !== undefined && grid !== null) focusCell(grid, focus);
}

function toNone({ isWhole }: Found): string {
  return `No rows match this search.${isWhole ? "" : ` ${NOT_WHOLE}`}`;
}

/** The line below the rows of a page, after which the next page begins. */
function showRange(of: Found, page: FoundPage): void {
  const { rows, start, number, next } = page;
  of.shown = page;
  of.starts[number] = { start: start + rows.length, after: next };
  const count = of.isSettled ? of.count : undefined;
  const range = rows.length === 0 ? "" : describeFound(count, { start, count: rows.length });
  const link = (name: string, rel: string, to: number) =>
    element("a", { class: SMALL_BUTTON, rel, href: toFragment(currentState(), to) || "#" }, name);
  showPager(of.isWhole || range === "" ? range : `${range}. ${NOT_WHOLE}`, [
    ...(number > 1 ? [link("Previous", "prev", number - 1)] : []),
    ...(next !== undefined ? [link("Next", "next", number + 1)] : []),
    ...(count !== undefined && count > currentLimit() ? [makeSelectFound(of)] : []),
  ]);
  announce(range || toNone(of));
}

type FoundPage = {
  readonly rows: readonly ListedRow[];
  readonly start: number;
  readonly number: number;
  readonly parameters: Parameter[];
  /** The cursor of the rows after these. */
  readonly next: string | undefined;
};

/** A response ends early after many bytes. */
async function readPageOf(of: Found, parameters = of.parameters): Promise<FoundPage> {
  const size = currentLimit();
  const number = readPageNumber(location.hash);
  const { start, after } = of.starts[number - 1] ?? { start: (number - 1) * size };
  const from = after === undefined ? { offset: start } : { after };
  const pages = await readQuery(toUrl(), { parameters, max: size, ...from });
  const rows = pages.flatMap((page) => page.texts().map(toListed));
  const next = pages.at(-1)?.next;
  const isLast = parameters === of.queries.at(-1);
  of.count = start === 0 && next === undefined && (of.isSettled || isLast) ? rows.length : of.count;
  return { rows, start, number, parameters, next };
}

/** The rows found below those on the page, max `max`. @throws {SearchError} a request failed */
export async function readNextFound(max: number): Promise<ListedRow[]> {
  const { parameters = [], next: after } = found?.shown ?? {};
  if (after === undefined) return [];
  const pages = await readQuery(toUrl(), { parameters, max, after });
  return pages.flatMap((page) => page.texts().map(toListed));
}

/** The number of all rows found, after the first are shown. */
async function countFound(of: Found): Promise<void> {
  const query = new URLSearchParams([...of.parameters, ["limit", "1"]]).toString();
  const headers = { prefer: "count=exact" };
  const page = await readPage(toUrl(), { query, headers }).catch(() => undefined);
  if (found !== of || page?.count === undefined || of.shown === undefined) return;
  const { start, rows } = of.shown;
  const line = document.querySelector<HTMLElement>("[data-rows] [data-range=found]");
  of.count = page.count ?? undefined;
  if (line === null) return;
  const range = describeFound(of.count, { start, count: rows.length });
  line.textContent = of.isWhole ? range : `${range}. ${NOT_WHOLE}`;
  const links = document.querySelector("[data-rows] .pager-links");
  if (of.count !== undefined && of.count > rows.length && links?.querySelector("button") === null)
    links.append(makeSelectFound(of));
}

function makeSelectFound(of: Found): HTMLButtonElement {
  return makeSelectAll(of.count ?? 0, async (max) => {
    const { rows } = await readFound(max, [["select", "id"]]);
    return rows.map(({ row }) => row.id);
  });
}

/** After each response, the number of rows that were read, and of all found if it is known. Returns whether to go on. */
type OnRead = (rows: number, total: number | undefined) => boolean;

/**
 * The first rows found, in their order, also those that a slower query has not found yet; `isCut`: more rows follow.
 *
 * @throws {SearchError} a request failed
 */
export async function readFound(
  max: number,
  more: Parameter[] = [],
  onRead: OnRead = () => true,
): Promise<{ readonly rows: readonly ListedRow[]; readonly isCut: boolean }> {
  const rows: ListedRow[] = [];
  const of = found;
  const query = of?.isSettled === false ? of.queries.at(-1) : of?.parameters;
  const parameters = [...(query ?? []), ...more];
  for await (const page of readQueryPages(toUrl(), { parameters, max })) {
    rows.push(...page.texts().map(toListed));
    if (page.next === undefined) return { rows, isCut: false };
    if (!onRead(rows.length, of?.count)) break;
  }
  return { rows, isCut: true };
}
