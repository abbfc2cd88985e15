/**
 * Search, filters and order over all rows of a table. The fragment of the address contains the search. The list endpoint answers
 * page by page.
 *
 * @module
 */
import type { ListedRow } from "../../rows/row.ts";
import { toDataUrl } from "../data.ts";
import { announce, element, restoreFragment, SMALL_BUTTON } from "../dom.ts";
import { showFailure } from "../save_state.ts";
import { makeSearchForm, type SearchForm } from "../search/form.ts";
import { isUnserved, readPage, readQuery, readQueryPages, SearchError } from "../search/pages.ts";
import {
  CREATED,
  isWhole,
  listUnread,
  NO_SEARCH,
  readPageNumber,
  readState,
  type SearchColumn,
  type SearchState,
  toFragment,
  toParameters,
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
  parameters: ReturnType<typeof toParameters>;
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
  if (found?.fragment !== fragment)
    found = {
      ...{ fragment, parameters: toParameters(state, columns), isWhole: isWhole(state, columns) },
      ...{ count: undefined, starts: [] },
    };
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
  const page = await readFoundPage(of).catch((error: unknown) => {
    if (!(error instanceof SearchError)) throw error;
    return error;
  });
  // Another search has begun.
  if (found !== of) return;
  if (page instanceof SearchError) return progress.end(`Search failed: ${page.message}`);
  progress.end();
  const { rows, start, number, hasMore } = page;
  await showFoundRows(rows, start);
  const none = `No rows match this search.${of.isWhole ? "" : ` ${NOT_WHOLE}`}`;
  if (rows.length === 0) {
    document.querySelector("[data-rows]")?.replaceChildren();
    showNone(none);
  }
  const range = rows.length === 0 ? "" : describeFound(of.count, { start, count: rows.length });
  const link = (name: string, rel: string, to: number) =>
    element("a", { class: SMALL_BUTTON, rel, href: toFragment(currentState(), to) || "#" }, name);
  showPager(of.isWhole || range === "" ? range : `${range}. ${NOT_WHOLE}`, [
    ...(number > 1 ? [link("Previous", "prev", number - 1)] : []),
    ...(hasMore ? [link("Next", "next", number + 1)] : []),
    ...(of.count !== undefined && of.count > currentLimit() ? [makeSelectFound(of)] : []),
  ]);
  markSorted(currentState().order);
  const grid = findGrid();
  if (focus !== undefined && grid !== null) focusCell(grid, focus);
  announce(range || none);
  if (of.count === undefined || isFresh) void countFound(of, page);
}

type FoundPage = {
  readonly rows: readonly ListedRow[];
  readonly start: number;
  readonly number: number;
  readonly hasMore: boolean;
};

/** A text is searched in the tables of the references only if that is not too much. @throws {SearchError} a request failed */
async function readFoundPage(of: Found): Promise<FoundPage> {
  try {
    return await readPageOf(of);
  } catch (error) {
    const state = currentState();
    const fewer = toParameters(
      state,
      columns.map(({ label, rows, ...column }) => column),
    );
    if (!isUnserved(error) || String(fewer) === String(of.parameters)) throw error;
    of.parameters = fewer;
    of.isWhole = false;
    return await readPageOf(of);
  }
}

/** A response ends early after many bytes. */
async function readPageOf(of: Found): Promise<FoundPage> {
  const size = currentLimit();
  const number = readPageNumber(location.hash);
  const { start, after } = of.starts[number - 1] ?? { start: (number - 1) * size };
  const { parameters } = of;
  const from = after === undefined ? { offset: start } : { after };
  const pages = await readQuery(toUrl(), { parameters, max: size, ...from });
  const rows = pages.flatMap((page) => page.texts().map(toListed));
  const next = pages.at(-1)?.next;
  of.starts[number] = { start: start + rows.length, after: next };
  if (start === 0 && next === undefined) of.count = rows.length;
  return { rows, start, number, hasMore: next !== undefined };
}

/** The rows found below those on the page, max `max`. @throws {SearchError} a request failed */
export async function readNextFound(max: number): Promise<ListedRow[]> {
  const after = found?.starts[readPageNumber(location.hash)]?.after;
  if (found === undefined || after === undefined) return [];
  const pages = await readQuery(toUrl(), { parameters: found.parameters, max, after });
  return pages.flatMap((page) => page.texts().map(toListed));
}

/** The number of all rows found, after the first are shown. */
async function countFound(of: Found, { start, rows }: FoundPage): Promise<void> {
  const query = new URLSearchParams([...of.parameters, ["limit", "1"]]).toString();
  const headers = { prefer: "count=exact" };
  const page = await readPage(toUrl(), { query, headers }).catch(() => undefined);
  if (found !== of || page?.count === undefined) return;
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

/**
 * The first rows found, in their order; `isCut`: more rows follow.
 *
 * @throws {SearchError} a request failed
 */
export async function readFound(
  max: number,
  more: Found["parameters"] = [],
): Promise<{ readonly rows: readonly ListedRow[]; readonly isCut: boolean }> {
  const rows: ListedRow[] = [];
  const parameters = [...(found?.parameters ?? []), ...more];
  for await (const page of readQueryPages(toUrl(), { parameters, max })) {
    rows.push(...page.texts().map(toListed));
    if (page.next === undefined) return { rows, isCut: false };
  }
  return { rows, isCut: true };
}
