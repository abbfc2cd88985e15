/** Column heads as buttons that sort the whole table: ascending, descending, then in the default order. @module */

import { FIELDS, type Kind } from "../../../kinds/mod.ts";
import { element } from "../dom.ts";
import { CREATED, type SearchState } from "../search/state.ts";

const NAMES = { asc: "ascending", desc: "descending" } as const;

export function addSortButtons(table: HTMLTableElement): void {
  addCreationSort(table.tHead?.rows[0]?.cells[0]);
  for (const head of table.tHead?.rows[0]?.cells ?? []) {
    const { column, kind } = head.dataset;
    const name = head.querySelector("bdi");
    if (column === undefined || name === null || name.closest("button")) continue;
    if (!FIELDS[kind as Kind].search.operators.includes("eq")) continue;
    const button = element("button", { type: "button", class: "sort", "data-sort": column });
    name.replaceWith(button);
    button.append(name);
  }
}

/** The ids are in the order of creation. */
function addCreationSort(head: HTMLTableCellElement | undefined): void {
  const name = head?.lastChild;
  if (!(name instanceof Text) || name.data.trim() === "") return;
  const title = "In the order of their creation";
  const attributes = { type: "button", class: "sort", "data-sort": CREATED, title };
  name.replaceWith(element("button", attributes, name.data.trim()));
}

/** The order after a press on a head. Rows are in the order of their creation without one. */
export function toNextOrder(order: SearchState["order"], column: string): SearchState["order"] {
  if (column === CREATED && order?.column !== CREATED) return { column, isDescending: true };
  if (order?.column !== column) return { column, isDescending: false };
  return order.isDescending ? undefined : { column, isDescending: true };
}

export function markSorted(order: SearchState["order"]): void {
  for (const button of document.querySelectorAll<HTMLElement>("[data-rows] [data-sort]")) {
    const isSorted = button.dataset["sort"] === order?.column;
    const name = order?.isDescending === true ? NAMES.desc : NAMES.asc;
    if (isSorted) button.closest("th")?.setAttribute("aria-sort", name);
  }
}
