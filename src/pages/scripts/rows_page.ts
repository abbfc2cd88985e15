/**
 * The script of a table's rows. Arrow keys move between cells as in a spreadsheet. A cell is edited in place, a row in a dialog.
 * The next page replaces the rows. All calls go to the data endpoints of the Console. Without the script, the page is a table to
 * read, with a form for each row.
 *
 * @module
 */
import { openAnnouncements } from "./dom.ts";
import { openFormDialog } from "./forms/row_dialog.ts";
import {
  addGridKeys,
  addSkipLink,
  columnOf,
  countGridRows,
  findCurrent,
  findGrid,
  findMove,
  focusCell,
  isOfNewRow,
  type Position,
  ROWS,
  readPosition,
  rowIdOf,
  toChord,
} from "./grid/cells.ts";
import { arrangeColumns, makeColumnsMenu } from "./grid/columns.ts";
import {
  handleTypingKey,
  input,
  onNewRowTyped,
  openCell,
  selectCell,
  storeNull,
} from "./grid/editor.ts";
import { startExport } from "./grid/export.ts";
import { enterText, findControl } from "./grid/fields.ts";
import { startLive } from "./grid/live.ts";
import { startMenus } from "./grid/menus.ts";
import { followOpened, openRow } from "./grid/opened_row.ts";
import { handleRangeKey, startRange } from "./grid/range.ts";
import {
  addLast,
  currentPlace,
  findPager,
  openRows,
  readFirst,
  readNextRows,
  renewRows,
  showTotal,
  startRows,
} from "./grid/rows.ts";
import {
  currentState,
  explainUnread,
  isSearch,
  makeSearch,
  openFound,
  openState,
  readNextFound,
  renewFound,
} from "./grid/search.ts";
import { showSelection, startSelection } from "./grid/selection.ts";
import { toNextOrder } from "./grid/sort.ts";
import { countRows, readTable } from "./grid/store.ts";
import { isInputMethodKey } from "./input.ts";
import { pressSaveAction } from "./save_state.ts";
import { SearchError } from "./search/pages.ts";

/** The effects of keys on the focused cell, except moves. */
const ACTIONS: Readonly<Record<string, (cell: HTMLTableCellElement) => void>> = {
  Enter: (cell) => void editInCell(cell),
  F2: (cell) => void editInCell(cell),
  "Shift+Enter": openWhole,
  "Control+Backspace": storeNull,
  Delete: (cell) => askToDelete(cell),
  "Control+z": undoLast,
};

/** The history knows changes that the page does not, such as those before a reload; its page shows what it would write. */
function undoLast(): void {
  const { path, hasHistory } = readTable();
  if (!pressSaveAction() && hasHistory) location.assign(`${path}/restore?from=last`);
}

openAnnouncements();
startTable();

function startTable(): void {
  const tools = document.querySelector("[data-tools]");
  const names = readTable().columns.map(({ name }) => name);
  tools?.prepend(makeSearch());
  startMenus(makeColumnsMenu(names, () => renew()));
  tools?.after(startSelection(renew));
  startExport();
  arrangeColumns(document);
  startRange({
    renew,
    readNext: (max) =>
      (isSearch(location.href) ? readNextFound(max) : readNextRows(max)).catch(toReason),
  });
  startRows();
  showSelection();
  startLive(renew);
  addGridKeys();
  addSkipLink();
  onNewRowTyped((cell) => void input.settle().then(() => addRow(cell)));
  if (isSearch(location.href)) open(location.href, { isBack: true });
  else readFirst();
  explainUnread();
  void startCount();
  document.addEventListener("keydown", onKey);
  document.addEventListener("focusin", ({ target }) => {
    if (
      target instanceof HTMLTableCellElement &&
      target.matches("[data-grid] :is(tbody, tfoot) td")
    )
      selectCell(target);
  });
  document.addEventListener("click", onClick);
  document.addEventListener("change", ({ target }) => {
    // Narrow pages hide the button of the form.
    if (target instanceof HTMLSelectElement && target.matches(".pager select"))
      target.form?.requestSubmit();
  });
  document.addEventListener("dblclick", ({ target }) => {
    const cell = findCellOf(target);
    if (cell !== null) void editInCell(cell);
  });
  addEventListener("popstate", () => {
    if (followOpened(renew)) return;
    open(location.href, { isBack: true });
    explainUnread();
  });
  followOpened(renew);
}

function toReason(error: unknown): string {
  if (error instanceof SearchError) return error.message;
  throw error;
}

/** The rows are shown first. */
async function startCount(): Promise<void> {
  const { offset } = currentPlace();
  const count = countGridRows(findGrid());
  const hasMore = document.querySelector(`${ROWS}[data-more]`) !== null;
  const show = (total: Parameters<typeof showTotal>[0] & object) => {
    showTotal(total);
    addLast(total);
  };
  if (!hasMore && offset + count > 0) show({ count: offset + count });
  else if (hasMore) await countRows(show);
}

/** Shows the rows of an address: a page of rows, or the results of a search. */
function open(url: string, options: { focus?: Position; isBack?: boolean }): void {
  void (isSearch(url) ? openFound(url, options) : openRows(url, options));
}

/** Loads the same rows again. */
function renew(focus?: Position): void {
  void (isSearch(location.href) ? renewFound(focus) : renewRows(focus).then(startCount));
}

function sortBy(column: string): void {
  const state = currentState();
  const button = `[data-sort="${CSS.escape(column)}"]`;
  void openState({ ...state, order: toNextOrder(state.order, column) }).then(() =>
    document.querySelector<HTMLElement>(button)?.focus(),
  );
}

function onKey(event: KeyboardEvent): void {
  // After a reload, no cell has the focus.
  if (event.target === document.body && toChord(event) === "Control+z") undoLast();
  const target = input.cell();
  const grid = findGrid();
  // An editor in the cell handles its own keys.
  if (!input.is(event.target) || target === undefined || grid === null) return;
  if (isInputMethodKey(event) || handleTypingKey(event)) return;
  const chord = toChord(event);
  if (handleRangeKey(chord, target, renew)) {
    event.preventDefault();
    return;
  }
  const position = readPosition(target);
  const next = findMove(chord, position);
  const lastRow = countGridRows(grid) - 1;
  const isPast =
    (chord === "PageDown" && position.row === lastRow) ||
    (chord === "PageUp" && position.row === 0);
  const pager = isPast ? findPager(chord === "PageDown" ? "next" : "prev") : null;
  const action = ACTIONS[chord];
  if (next === undefined && action === undefined) return;
  event.preventDefault();
  if (pager !== null) open(pager.href, { focus: { row: 0, column: position.column } });
  else if (next !== undefined) focusCell(grid, next);
  else action?.(target);
}

/** Handles links of the grid on this page instead of opening their own pages. */
function onClick(event: MouseEvent): void {
  const { target } = event;
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const cell = findCellOf(target);
  const link = target instanceof Element ? target.closest("a") : null;
  const sorted = target instanceof Element ? target.closest<HTMLElement>("[data-sort]") : null;
  const grid = findGrid();
  // The click itself checks the box.
  if (target instanceof HTMLInputElement) return;
  if (sorted !== null) sortBy(sorted.dataset["sort"] ?? "");
  else if (link?.matches("[data-rows] .pager a")) {
    event.preventDefault();
    open(link.href, { focus: { row: 0, column: 0 } });
  } else if (cell !== null && grid !== null && link === null) focusCell(grid, readPosition(cell));
  else if (cell !== null && link?.matches("[data-edit]")) {
    event.preventDefault();
    openRow(rowIdOf(cell), renew);
  } else if (cell !== null && link?.dataset["peek"] !== undefined) {
    event.preventDefault();
    openRow(link.dataset["peek"], renew);
  } else if (cell !== null && link?.matches("[data-add]")) {
    event.preventDefault();
    addRow(cell);
  } else if (cell !== null && link?.matches("[data-delete]")) {
    event.preventDefault();
    askToDelete(cell);
  }
}

/** The cell of an event; `null` for an event in an editor. */
function findCellOf(target: EventTarget | null): HTMLTableCellElement | null {
  if (!(target instanceof Element) || target.closest("form") !== null) return null;
  return target.closest<HTMLTableCellElement>("[data-grid] :is(tbody, tfoot) td");
}

/** A cell without a field, such as the id, opens the whole row. */
async function editInCell(cell: HTMLTableCellElement): Promise<void> {
  if (!(await openCell(cell))) openWhole(cell);
}

function openWhole(cell: HTMLTableCellElement): void {
  if (isOfNewRow(cell)) addRow(cell);
  else openRow(rowIdOf(cell), renew);
}

/** Opens the form of a new row with the text that was typed. Afterwards the next row can be added in the same column. */
function addRow(cell: HTMLTableCellElement): void {
  const url = cell.closest("tr")?.querySelector<HTMLAnchorElement>("a[data-add]")?.href;
  if (url === undefined) return;
  const { column } = readPosition(cell);
  const name = columnOf(cell);
  const onDone = () => void showLast(column).then(startCount);
  const fillForm = (form: HTMLFormElement) => {
    const control = name === undefined ? null : findControl(form, name);
    const typed = input.empty();
    if (typed !== undefined) enterText(control, typed);
    return control;
  };
  void openFormDialog({ url, done: "Added", onDone, fillForm });
}

/** The new row is the last one, perhaps of the next page. */
async function showLast(column: number): Promise<void> {
  await renewRows();
  const next = findPager("next");
  if (next !== null) await openRows(next.href);
  const grid = findGrid();
  if (grid !== null) focusCell(grid, { row: countGridRows(grid), column });
}

function askToDelete(cell: HTMLTableCellElement): void {
  const url = cell.closest("tr")?.querySelector<HTMLAnchorElement>("a[data-delete]")?.href;
  const grid = findGrid();
  if (url === undefined || grid === null) return;
  void openFormDialog({ url, done: "Deleted", onDone: () => renew(findCurrent(grid)) });
}
