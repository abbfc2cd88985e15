/**
 * Search, filters and order over all rows of a table. The fragment of the address contains the search. The list endpoint answers
 * page by page if it can; otherwise a worker finds the ids of the matching rows, and the first ones are shown at once.
 *
 * @module
 */
import { MAX_FOUND_IDS } from "../../../std/limits.ts";
import type { Total } from "../../rows/grid.tsx";
import type { ListedRow } from "../../rows/row.ts";
import { toDataUrl } from "../data.ts";
import { announce, element, restoreFragment, SMALL_BUTTON } from "../dom.ts";
import { makeSearchForm, type SearchForm } from "../search/form.ts";
import { readPage, readQueryPages, SearchError } from "../search/pages.ts";
import { FALLBACK_CODES, MAX_SEARCHED, type Search, toParameters } from "../search/rows.ts";
import {
  NO_SEARCH,
  readPageNumber,
  readState,
  SEARCHED_BY_ENDPOINT,
  type SearchColumn,
  type SearchState,
  toFragment,
} from "../search/state.ts";
import { makeSearcher } from "../search_worker.ts";
import { findGrid, focusCell, type Position } from "./cells.ts";
import { currentLimit, openRows, showFoundRows, showNone } from "./rows.ts";
import { describeFound, hideProgress, showPager, showProgress } from "./search_parts.ts";
import { makeSelectAll } from "./selection.ts";
import { markSorted } from "./sort.ts";
import { readRows, readTable, toListed, toUrl } from "./store.ts";

const ID: SearchColumn = { name: "id", kind: "uuid", required: true };
/** Names with another meaning in conditions. */
const UNSEARCHED = ["and", "or", "not"];

/** The rows of a search: all their ids, or pages of the list endpoint, each with the cursor of the next. */
type Found = { readonly fragment: string; count: number | undefined } & (
  | {
      readonly kind: "ids";
      ids: readonly string[];
      readonly searched: number;
      readonly isCut: boolean;
    }
  | {
      readonly kind: "pages";
      /** Where the pages begin that follow those that were read. */
      readonly starts: { readonly start: number; readonly after: string | undefined }[];
    }
);
type OpenOptions = { focus?: Position; isBack?: boolean };

const searcher = makeSearcher();
let form: HTMLFormElement | undefined;
let parts: SearchForm | undefined;
let columns: readonly SearchColumn[] = [ID];
let found: Found | undefined;
let total: Total | undefined;

/** The form above the rows. */
export function makeSearch(): HTMLFormElement {
  const table = readTable();
  const described = table.columns
    .filter(({ name }) => !UNSEARCHED.includes(name))
    .map(({ name, kind, required, values, table: target = "" }): SearchColumn => {
      const label = table.targets[target] ?? null;
      return {
        ...{ name, kind, required },
        ...(values === undefined ? {} : { values }),
        ...(table.sorted.includes(name) ? { isSorted: true } : {}),
        ...(label === null
          ? {}
          : { target: { url: new URL(toDataUrl(table.api, target), location.href).href, label } }),
      };
    });
  columns = [...described, ID];
  restoreFragment();
  form = element("form", { class: "row-search", role: "search", "aria-label": "Rows" });
  parts = makeSearchForm(form, { columns, onClear: () => void openState(NO_SEARCH) });
  parts.name("Search all columns");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void openState({ ...(parts?.read() ?? NO_SEARCH), order: currentState().order });
  });
  return form;
}

/** The known number of all rows. */
export function setSearchTotal(next: Total): void {
  total = next;
  parts?.name(isLarge() ? SEARCHED_BY_ENDPOINT : "Search all columns");
}

/** Whether only the list endpoint can search all rows. */
function isLarge(): boolean {
  if (total === undefined || !readTable().hasFilters) return false;
  return "over" in total || total.count > MAX_SEARCHED;
}

function isSmall(): boolean {
  return total !== undefined && "count" in total && total.count <= MAX_FOUND_IDS;
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

/** Shows the rows of a search state, and stores it in the address. */
export async function openState(state: SearchState): Promise<void> {
  const fragment = toFragment(state);
  if (fragment !== "") return await openFound(fragment);
  searcher.cancel();
  hideProgress();
  found = undefined;
  parts?.show(NO_SEARCH);
  await openRows(location.pathname + location.search);
}

/** Shows the results of the search in an address. */
export async function openFound(url: string, options: OpenOptions = {}): Promise<void> {
  if (parts === undefined) return;
  if (options.isBack !== true) history.pushState(null, "", url);
  const state = currentState();
  parts.show(state);
  const fragment = toFragment(state);
  if (found?.fragment !== fragment) {
    searcher.cancel();
    hideProgress();
    found = undefined;
    if (canAskEndpoint(state)) found = { fragment, kind: "pages", count: undefined, starts: [] };
    found ??= await search(state, fragment);
  }
  if (found !== undefined) await showFound(options.focus);
}

/** Reloads the displayed results. */
export async function renewFound(focus?: Position): Promise<void> {
  if (found !== undefined) await showFound(focus, true);
}

/** Whether the list endpoint finds and sorts the rows without reading them all. */
function canAskEndpoint({ text, order }: SearchState): boolean {
  if (!readTable().hasFilters || (text !== "" && !isLarge())) return false;
  return order === undefined || isSmall() || readTable().sorted.includes(order.column);
}

function toSearch(state: SearchState): Search {
  const { hasFilters } = readTable();
  const url = new URL(toUrl(), location.href).href;
  return { url, columns, state, hasFilters, isSmall: isSmall(), isLarge: isLarge() };
}

function runWorker(search: Search, onProgress?: Parameters<typeof searcher.run>[2]) {
  const { worker } = document.querySelector<HTMLElement>("[data-rows]")?.dataset ?? {};
  return searcher.run(worker ?? "", search, onProgress);
}

function openProgress(options: { cancel: () => void; button?: "Stop" } = searcher) {
  const count = () => (total !== undefined && "count" in total ? total.count : undefined);
  return showProgress({ ...options, form, total: count });
}

async function search(state: SearchState, fragment: string): Promise<Found | undefined> {
  const progress = openProgress();
  let shown: Promise<void> | undefined;
  const report = await runWorker(toSearch(state), ({ searched, found: count, first = [] }) => {
    progress.show(searched, count);
    const size = currentLimit();
    const isPage = first.length >= size && readPageNumber(location.hash) === 1;
    if (isPage) shown ??= showEarly(first.slice(0, size));
  });
  await shown;
  progress.end(report?.kind === "failed" ? `Search failed: ${report.reason}` : undefined);
  if (report?.kind !== "found") return undefined;
  const { ids, searched, isCut } = report;
  return { fragment, kind: "ids", count: ids.length, ids, searched, isCut };
}

/** The first rows, while the search goes on. */
async function showEarly(ids: readonly string[]): Promise<void> {
  await showFoundRows(await readRows(ids), 0);
  showPager(`Rows 1 to ${ids.length} found so far`, []);
}

async function showFound(focus?: Position, isFresh = false): Promise<void> {
  const of = found;
  if (of === undefined) return;
  const size = currentLimit();
  const number = readPageNumber(location.hash);
  const page =
    of.kind === "ids" ? await readIds(of, size, isFresh) : await readNext(of, number, size);
  // Another search has begun.
  if (page === undefined || found !== of) return;
  const { rows, start, number: at, hasMore, isStopped = false } = page;
  await showFoundRows(rows, start);
  if (rows.length === 0) {
    document.querySelector("[data-rows]")?.replaceChildren();
    const isCut = of.kind === "ids" && of.isCut;
    showNone(
      isStopped || isCut
        ? "No row matches among those that were searched. The table has more."
        : "No rows match this search.",
    );
  }
  const range = describeFound(of, { start, count: rows.length, isStopped });
  const link = (name: string, rel: string, to: number) =>
    element("a", { class: SMALL_BUTTON, rel, href: toFragment(currentState(), to) || "#" }, name);
  showPager(range, [
    ...(at > 1 ? [link("Previous", "prev", at - 1)] : []),
    ...(hasMore ? [link(isStopped ? "Search on" : "Next", "next", at + 1)] : []),
    ...(of.count !== undefined && of.count > size ? [makeSelectFound(of)] : []),
  ]);
  markSorted(currentState().order);
  const grid = findGrid();
  if (focus !== undefined && grid !== null) focusCell(grid, focus);
  announce(range);
  if (of.kind === "pages" && (of.count === undefined || isFresh)) void countFound(of, page);
}

type FoundPage = {
  readonly rows: readonly ListedRow[];
  readonly start: number;
  readonly number: number;
  readonly hasMore: boolean;
  /** Whether the user ended the search before the page was complete. */
  readonly isStopped?: boolean;
};

async function readIds(
  of: Found & { kind: "ids" },
  size: number,
  isFresh: boolean,
): Promise<FoundPage> {
  const pages = Math.max(1, Math.ceil(of.ids.length / size));
  const number = Math.min(readPageNumber(location.hash), pages);
  const start = (number - 1) * size;
  const ids = of.ids.slice(start, start + size);
  const rows = await readRows(ids, isFresh);
  // Rows can have been deleted since the search.
  const left = new Set(rows.map(({ row }) => row.id));
  const deleted = new Set(ids.filter((id) => !left.has(id)));
  of.ids = of.ids.filter((id) => !deleted.has(id));
  of.count = of.ids.length;
  return { rows, start, number, hasMore: number < pages };
}

/** A page of the list endpoint, read on until it is complete; if the endpoint cannot answer, the worker searches. */
async function readNext(
  of: Found & { kind: "pages" },
  number: number,
  size: number,
): Promise<FoundPage | undefined> {
  const state = currentState();
  const { start, after } = of.starts[number - 1] ?? { start: (number - 1) * size };
  const parameters = toParameters(state, columns);
  const offset = after === undefined ? start : 0;
  const rows: ListedRow[] = [];
  let next: string | undefined;
  let isStopped = false;
  let progress: ReturnType<typeof openProgress> | undefined;
  const { promise: stopped, resolve: stop } = Promise.withResolvers<undefined>();
  const pages = readQueryPages(toUrl(), { parameters, max: size, after, offset });
  try {
    for (;;) {
      const read = await Promise.race([pages.next(), stopped]);
      // Another search has begun.
      if (found !== of) return undefined;
      isStopped = read === undefined;
      if (read === undefined || read.done === true) break;
      rows.push(...read.value.texts().map(toListed));
      next = read.value.next;
      if (next === undefined || rows.length >= size) break;
      progress ??= openProgress({ cancel: () => stop(undefined), button: "Stop" });
      progress.show(undefined, rows.length);
    }
  } catch (error) {
    if (!(error instanceof SearchError)) throw error;
    if (FALLBACK_CODES.includes(error.code)) {
      found = await search(state, of.fragment);
      await showFound();
    } else openProgress().end(`Search failed: ${error.message}`);
    return undefined;
  }
  progress?.end(undefined);
  of.starts[number] = { start: start + rows.length, after: next };
  if (start === 0 && next === undefined) of.count = rows.length;
  return { rows, start, number, hasMore: next !== undefined, isStopped };
}

/** The number of all rows found, after the first are shown. */
async function countFound(
  of: Found & { kind: "pages" },
  { start, rows, isStopped = false }: FoundPage,
): Promise<void> {
  const query = new URLSearchParams([...toParameters(currentState(), columns), ["limit", "1"]]);
  const headers = { prefer: "count=exact" };
  const page = await readPage(toUrl(), { query: query.toString(), headers }).catch(() => undefined);
  if (found !== of || page?.count === undefined) return;
  const line = document.querySelector<HTMLElement>("[data-rows] [data-range=found]");
  of.count = page.count ?? undefined;
  if (line === null) return;
  line.textContent = describeFound(of, { start, count: rows.length, isStopped });
  const links = document.querySelector("[data-rows] .pager-links");
  if (of.count !== undefined && of.count > rows.length && links?.querySelector("button") === null)
    links.append(makeSelectFound(of));
}

function makeSelectFound(of: Found): HTMLButtonElement {
  return makeSelectAll(of.count ?? 0, async (max) => (await readFoundIds(max)).ids);
}

/**
 * The ids of all rows found, or of the first `max`, in their order; `isCut`: the search ended before the last row.
 *
 * @throws {SearchError} the search failed or was canceled
 */
export async function readFoundIds(
  max?: number,
): Promise<{ readonly ids: readonly string[]; readonly isCut: boolean }> {
  if (found?.kind === "ids") return found;
  const progress = openProgress();
  const wanted = { ...toSearch(currentState()), ...(max === undefined ? {} : { max }) };
  const report = await runWorker(wanted, ({ searched, found: count }) =>
    progress.show(searched, count),
  );
  progress.end(undefined);
  if (report?.kind === "found") return report;
  throw new SearchError(report?.reason ?? "The search was canceled.");
}
