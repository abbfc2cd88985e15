/**
 * The row that is open in the drawer. The fragment of the address names it, so that Back closes the drawer, and a reload opens it
 * again. A row of another table has the name of its table before its id.
 *
 * @module
 */
import { toRowPath } from "../../rows/cells.tsx";
import { withPlace } from "../../rows/grid.tsx";
import { closeFormDialog, openFormDialog } from "../forms/row_dialog.ts";
import { readOpened, withOpened } from "../search/state.ts";
import { findCurrent, findGrid, findRow, focusCell } from "./cells.ts";
import { currentPlace, isShownAt, renewRow } from "./rows.ts";
import { labels, readTable } from "./store.ts";

/** Shows the rows again after a row of another table has changed. */
type Renew = () => void;

/** Opens a row with an address of its own. */
export function openRow(name: string, renew: Renew): void {
  history.pushState({ isOverRows: true }, "", withOpened(location.href, name));
  void show(name, renew);
}

/** Shows or closes the row that the address names. Returns whether the rows behind it are those of the address. */
export function followOpened(renew: Renew): boolean {
  const name = readOpened(location.hash);
  const isSame = isShownAt(location.href);
  if (!closeFormDialog())
    history.pushState({ isOverRows: true }, "", withOpened(location.href, shown));
  else if (name !== undefined) void show(name, renew);
  return isSame;
}

/** The row of the drawer. */
let shown = "";

async function show(name: string, renew: Renew): Promise<void> {
  shown = name;
  const isOwn = !name.includes("/");
  const isNamed = () => readOpened(location.hash) === shown;
  await openFormDialog({
    ...{ url: toUrl(name), done: "Saved", isWanted: isNamed },
    onDone: () => {
      if (isOwn) return void renewRow(shown).then(focusShown);
      labels.delete(name.slice(name.indexOf("/") + 1));
      renew();
    },
    onClose: () => {
      focusShown();
      if (!isNamed()) return;
      if (history.state?.isOverRows === true) history.back();
      else history.replaceState(null, "", withOpened(location.href, undefined));
    },
    ...(isOwn && { beside: { has: (step: 1 | -1) => findBeside(step) !== undefined, move } }),
  });
}

function toUrl(name: string): string {
  const { path, tables, table } = readTable();
  const [id = "", of = table] = name.split("/").toReversed();
  if (of === table) return withPlace(toRowPath(path, id), currentPlace());
  return toRowPath(`${tables}/${of}`, id);
}

/** The row above or below. */
function findBeside(step: 1 | -1): string | undefined {
  const row = findRow(shown);
  const next = step === 1 ? row?.nextElementSibling : row?.previousElementSibling;
  return next instanceof HTMLElement ? next.dataset["rowId"] : undefined;
}

/** Names the row above or below in the address, and returns the address of its form. */
function move(step: 1 | -1): string {
  shown = findBeside(step) ?? shown;
  history.replaceState(history.state, "", withOpened(location.href, shown));
  return toUrl(shown);
}

function focusShown(): void {
  const grid = findGrid();
  const row = findRow(shown);
  if (grid === null || row === null) return;
  focusCell(grid, { row: row.sectionRowIndex, column: findCurrent(grid).column });
}
