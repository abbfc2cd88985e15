/** Collects keys that the user types before a cell's editor opens, and enters them into its field. @module */

export type Typing = {
  end: () => void;
  text: () => string;
  typeInto: (field: Element | null) => void;
};

/** Collects keys on a cell until `end`; Tab leaves the cell. */
export function keepTyping(cell: HTMLTableCellElement, first: string): Typing {
  let typed = first;
  const keep = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key === "Tab") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key.length === 1) typed += event.key;
  };
  cell.addEventListener("keydown", keep);
  return {
    end: () => cell.removeEventListener("keydown", keep),
    text: () => typed,
    typeInto: (field) => {
      if (typed !== "") typeInto(field, typed);
    },
  };
}

/** Replaces the value of a field; in a choice, selects the first option that begins with the text. */
function typeInto(field: Element | null, text: string): void {
  if (field instanceof HTMLSelectElement) {
    const found = [...field.options].find(({ label }) =>
      label.toLowerCase().startsWith(text.toLowerCase()),
    );
    if (found !== undefined) found.selected = true;
  } else if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) {
    field.setRangeText(text, 0, field.value.length, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
