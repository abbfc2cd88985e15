/** Keys typed before a cell's editor is there: they go into its field, and are neither shortcuts nor moves. @module */

/** Keeps what is typed on a cell until `end`; Tab still leads away. */
export function keepTyping(cell: HTMLTableCellElement): {
  end: () => void;
  typeInto: (field: Element | null) => void;
} {
  let typed = "";
  const keep = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key === "Tab") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key.length === 1) typed += event.key;
  };
  cell.addEventListener("keydown", keep);
  return {
    end: () => cell.removeEventListener("keydown", keep),
    typeInto: (field) => {
      if (typed === "") return;
      if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) return;
      field.setRangeText(typed, 0, field.value.length, "end");
      field.dispatchEvent(new Event("input", { bubbles: true }));
    },
  };
}
