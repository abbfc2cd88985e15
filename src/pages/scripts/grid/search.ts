/**
 * Search, filters and order over all rows of a table. The fragment of the address contains the search. A worker finds
 * the ids of the matching rows, and the server renders one page of these rows.
 *
 * @module
 */
import {
  announce,
  element,
  makeButton,
  requestPage,
  restoreFragment,
  SMALL_BUTTON,
} from "../dom.ts";
import { makeSearchForm, type SearchForm } from "../search/form.ts";
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
import {
  findGrid,
  findRow,
  focusCell,
  openRows,
  type Position,
  showRows,
  toRowsUrl,
} from "./rows.ts";
import { makeSelectAll } from "./selection.ts";
import { markSorted } from "./sort.ts";

const MAX_PAGE_ROWS = 100;
const DEFAULT_PAGE_ROWS = 50;
const ID: SearchColumn = { name: "id", kind: "uuid", required: true };

type Opened = {
  form: HTMLFormElement;
  parts: SearchForm;
  columns: readonly SearchColumn[];
  /** Whether only the list endpoint can search all rows. */
  isLarge: boolean;
};
type Found = { fragment: string; ids: readonly string[]; searched: number; isCut: boolean };
type OpenOptions = { focus?: Position; isBack?: boolean };

const searcher = makeSearcher();
let opened: Opened | undefined;
let found: Found | undefined;
/** The last known number of all rows. */
let total: number | undefined;

/** Shows the form and, if the address contains a search, its results. */
export function startSearch(): void {
  const form = document.querySelector<HTMLFormElement>("form[data-search]");
  restoreFragment();
  if (form === null) return;
  const described: readonly SearchColumn[] = JSON.parse(form.dataset["columns"] ?? "[]");
  const columns = [...described, ID];
  const isLarge = form.dataset["hasFilters"] !== undefined && isMoreThanRead();
  const label = isLarge ? SEARCHED_BY_ENDPOINT : "Search all columns";
  const parts = makeSearchForm(form, { columns, label, onClear: () => void openState(NO_SEARCH) });
  opened = { form, parts, columns, isLarge };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void openState({ ...parts.read(), order: currentState().order });
  });
  if (isSearch(location.href)) void openFound(location.href, { isBack: true });
}

/** Whether an address contains a search, a filter or an order. */
export function isSearch(url: string): boolean {
  if (opened === undefined) return false;
  return toFragment(readState(new URL(url, location.href).hash, opened.columns)) !== "";
}

export function currentState(): SearchState {
  return opened === undefined ? NO_SEARCH : readState(location.hash, opened.columns);
}

/** Shows the rows of a search state, and stores it in the address. */
export async function openState(state: SearchState): Promise<void> {
  const fragment = toFragment(state);
  if (fragment !== "") return await openFound(fragment);
  searcher.cancel();
  found = undefined;
  opened?.parts.show(NO_SEARCH);
  await openRows(location.pathname + location.search);
}

/** Shows the results of the search in an address. */
export async function openFound(url: string, options: OpenOptions = {}): Promise<void> {
  if (opened === undefined) return;
  if (options.isBack !== true) history.pushState(null, "", url);
  const state = currentState();
  opened.parts.show(state);
  if (found?.fragment !== toFragment(state)) found = await search(opened, state);
  if (found !== undefined) await showFound(found, options.focus);
}

/** Reloads the displayed results. */
export async function renewFound(focus?: Position): Promise<void> {
  if (found !== undefined) await showFound(found, focus);
}

async function search(
  { form, columns, isLarge }: Opened,
  state: SearchState,
): Promise<Found | undefined> {
  total = readTotal() ?? total;
  const progress = showProgress();
  const report = await searcher.run(
    form.dataset["worker"] ?? "",
    {
      url: new URL(form.dataset["search"] ?? "", location.href).href,
      columns,
      state,
      hasFilters: form.dataset["hasFilters"] !== undefined,
      isSmall: total !== undefined && total <= Number(form.dataset["maxSorted"]),
      isLarge,
    },
    ({ searched, found: count }) => progress.show(searched, count),
  );
  progress.end(report?.kind === "failed" ? `Search failed: ${report.reason}` : undefined);
  if (report?.kind !== "found") return undefined;
  const { ids, searched, isCut } = report;
  return { fragment: toFragment(state), ids, searched, isCut };
}

/** The server counts as many rows as the script reads. */
function isMoreThanRead(): boolean {
  return document.querySelector("[data-range]") !== null && readTotal() === undefined;
}

function readTotal(): number | undefined {
  const text = document.querySelector<HTMLElement>("[data-total]")?.dataset["total"];
  return text === undefined ? undefined : Number(text);
}

const inDigits = (count: number) => count.toLocaleString("en");

/** The progress of the search, with a button that cancels it. */
function showProgress() {
  document.getElementById("search-progress")?.remove();
  const bar = element("progress", { "aria-label": "Search" });
  const text = element("span", {}, "Searching…");
  const cancel = makeButton("Cancel", searcher.cancel);
  const line = element("p", { id: "search-progress", class: "search-progress" }, bar, text, cancel);
  opened?.form.after(line);
  return {
    show: (searched: number, count: number) => {
      const of = total === undefined ? "" : ` of ${inDigits(Math.max(total, searched))}`;
      if (total !== undefined) Object.assign(bar, { max: total, value: searched });
      text.textContent = `${inDigits(searched)}${of} searched, ${inDigits(count)} found`;
    },
    end: (reason: string | undefined) => {
      if (reason === undefined) return line.remove();
      line.replaceChildren(reason);
      line.classList.add("notice", "notice-error");
      announce(reason);
    },
  };
}

async function showFound(asked: Found, focus?: Position): Promise<void> {
  const limit = Number(new URLSearchParams(location.search).get("limit") ?? DEFAULT_PAGE_ROWS);
  const size = Math.min(limit || DEFAULT_PAGE_ROWS, MAX_PAGE_ROWS);
  const pages = Math.max(1, Math.ceil(asked.ids.length / size));
  const number = Math.min(readPageNumber(location.hash), pages);
  const start = (number - 1) * size;
  const ids = asked.ids.slice(start, start + size);
  if (ids.length > 0 && !showRows((await requestPage(toRowsUrl(ids))).page))
    return location.reload();
  // Rows can have been deleted since the search.
  const left = ids.filter((id) => findRow(id) !== null);
  const deleted = new Set(ids.filter((id) => !left.includes(id)));
  found = { ...asked, ids: asked.ids.filter((id) => !deleted.has(id)) };
  if (left.length === 0) showNothing();
  const range = describeRange(found, start, left.length);
  const link = (name: string, rel: string, to: number) =>
    element("a", { class: SMALL_BUTTON, rel, href: toFragment(currentState(), to) || "#" }, name);
  const links = element(
    "div",
    { class: "pager-links" },
    ...(number > 1 ? [link("Previous", "prev", number - 1)] : []),
    ...(number < pages ? [link("Next", "next", number + 1)] : []),
    ...(pages > 1 ? [makeSelectAll(found.ids)] : []),
  );
  const line = element("p", { class: "quiet", "data-range": "" }, range);
  const nav = element("nav", { class: "pager", "aria-label": "Pages" }, line, links);
  document.querySelector("[data-rows]")?.prepend(nav);
  markSorted(currentState().order);
  const grid = findGrid();
  if (focus !== undefined && grid !== null) focusCell(grid, focus);
  announce(range);
}

function showNothing(): void {
  const text = element("p", {}, "No rows match this search.");
  document.querySelector("[data-rows]")?.replaceChildren(element("div", { class: "blank" }, text));
}

function describeRange({ ids, searched, isCut }: Found, start: number, count: number): string {
  const rows =
    count === 0
      ? "No rows found"
      : `Rows ${inDigits(start + 1)} to ${inDigits(start + count)} of ${inDigits(ids.length)} found`;
  return isCut ? `${rows} in the first ${inDigits(searched)} rows; the table has more` : rows;
}
