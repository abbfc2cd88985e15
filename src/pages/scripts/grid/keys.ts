/** The keys of the grid, for the list that `?` opens. @module */

import { element } from "../dom.ts";

const KEYS = [
  { keys: ["↑", "↓", "←", "→"], name: "Move; with Ctrl to the edge" },
  { keys: ["Page ↓", "Page ↑"], name: "Move ten rows; from the last row, open the next page" },
  { keys: ["Enter", "F2"], name: "Edit the cell" },
  { keys: ["a", "7", "…"], name: "Replace the value of the cell" },
  { keys: ["Enter", "Tab"], name: "Save the value and move on" },
  { keys: ["Shift Enter"], name: "Start a new line" },
  { keys: ["Esc"], name: "Cancel the edit" },
  { keys: ["Ctrl ⌫"], name: "Set the cell to null" },
  { keys: ["Ctrl Z"], name: "Undo the last saved change" },
  { keys: ["Shift Enter"], name: "Edit the whole row" },
  { keys: ["Shift ↑", "Shift ↓", "Shift ←", "Shift →"], name: "Select a range; also by dragging" },
  { keys: ["Ctrl C", "Ctrl V"], name: "Copy the range; paste a range after a preview" },
  { keys: ["Ctrl D"], name: "Fill the range down with its first row" },
  { keys: ["Shift Space"], name: "Select the row" },
  { keys: ["Del"], name: "Delete the row, after a confirmation" },
] as const;

/** Adds the list to the page, where the dialog finds it. */
export function addGridKeys(): void {
  const entries = KEYS.flatMap(({ keys, name }) => [
    element("dt", {}, ...keys.flatMap((key) => [element("kbd", {}, key), " "])),
    element("dd", {}, name),
  ]);
  document.body.append(
    element("dl", { class: "keys", hidden: "", "data-keys-of": "In the grid" }, ...entries),
  );
}
