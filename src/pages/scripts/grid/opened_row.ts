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

/** The row of the drawer, also while its form is being read. */
type Opened = { name: string };
let shown: Opened | undefined;

/** Opens a row with an address of its own. */
export function openRow(name: string, renew: Renew): void {
  const isNamed = isAddressed({ name });
  // Each click of a double click opens it.
  if (isNamed && shown?.name === name) return;
  if (!isNamed) history.pushState({ isOverRows: true }, "", withOpened(location.href, name));
  void show(name, renew);
}

/** Shows or closes the row that the address names. Returns whether the rows behind it are those of the address. */
export function followOpened(renew: Renew): boolean {
  const name = readOpened(location.hash);
  const isSame = isShownAt(location.href);
  const isClosed = closeFormDialog();
  if (isClosed && name !== undefined) void show(name, renew);
  else if (isClosed) shown = undefined;
  else if (shown !== undefined)
    history.pushState({ isOverRows: true }, "", withOpened(location.href, shown.name));
  return isSame;
}

function isAddressed({ name }: Opened): boolean {
  return readOpened(location.hash) === name;
}

async function show(name: string, renew: Renew): Promise<void> {
  const opened: Opened = { name };
  shown = opened;
  const isOwn = !name.includes("/");
  const isOpened = await openFormDialog({
    ...{ url: toUrl(name), done: "Saved" },
    isWanted: () => shown === opened && isAddressed(opened),
    retry: () => openRow(name, renew),
    onDone: () => {
      if (isOwn) return void renewRow(opened.name).then(() => focusRow(opened));
      labels.delete(name.slice(name.indexOf("/") + 1));
      renew();
    },
    onClose: () => {
      focusRow(opened);
      if (shown !== opened) return;
      shown = undefined;
      if (!isAddressed(opened)) return;
      if (history.state?.isOverRows === true) history.back();
      else history.replaceState(null, "", withOpened(location.href, undefined));
    },
    ...(isOwn && {
      beside: {
        has: (step: 1 | -1) => findBeside(opened, step) !== undefined,
        move: (step: 1 | -1) => move(opened, step),
      },
    }),
  });
  if (!isOpened && shown === opened) shown = undefined;
}

function toUrl(name: string): string {
  const { path, tables, table } = readTable();
  const [id = "", of = table] = name.split("/").toReversed();
  if (of === table) return withPlace(toRowPath(path, id), currentPlace());
  return toRowPath(`${tables}/${of}`, id);
}

/** The row above or below. */
function findBeside({ name }: Opened, step: 1 | -1): string | undefined {
  const row = findRow(name);
  const next = step === 1 ? row?.nextElementSibling : row?.previousElementSibling;
  return next instanceof HTMLElement ? next.dataset["rowId"] : undefined;
}

/** Names the row above or below in the address, and returns the address of its form. */
function move(opened: Opened, step: 1 | -1): string {
  opened.name = findBeside(opened, step) ?? opened.name;
  history.replaceState(history.state, "", withOpened(location.href, opened.name));
  return toUrl(opened.name);
}

function focusRow({ name }: Opened): void {
  const grid = findGrid();
  const row = findRow(name);
  if (grid === null || row === null) return;
  focusCell(grid, { row: row.sectionRowIndex, column: findCurrent(grid).column });
}
