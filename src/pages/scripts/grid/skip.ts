/** A link before the navigation that leads to the rows. @module */
import { element } from "../dom.ts";
import { findCurrent, findGrid, focusCell } from "./cells.ts";

/** Without the link, the rows are some thirty tab stops away. Only a script can focus the current cell. */
export function addSkipLink(): void {
  const link = element("a", { class: "skip", href: "#main" }, "Skip to the rows");
  link.addEventListener("click", (event) => {
    const grid = findGrid();
    if (grid === null) return;
    event.preventDefault();
    focusCell(grid, findCurrent(grid));
  });
  document.querySelector(".skip")?.after(link);
}
