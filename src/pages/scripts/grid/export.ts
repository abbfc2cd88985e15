/** The menu of exports: the links of the server save all rows; a search also saves the rows found. @module */
import { makeButton, saveFile } from "../dom.ts";
import { showFailure, showSaved } from "../save_state.ts";
import { countOf } from "./drawer.ts";
import { isSearch, readFoundIds } from "./search.ts";
import { toText } from "./selection.ts";
import { readRows, readTable } from "./store.ts";

export function startExport(): void {
  const menu = document.querySelector<HTMLDetailsElement>("details.export");
  const form = menu?.querySelector("div");
  if (menu === null || form === null || form === undefined) return;
  const buttons = (["csv", "json"] as const).map((format) =>
    makeButton(`Found rows as ${format.toUpperCase()}`, () => {
      menu.open = false;
      void save(format);
    }),
  );
  form.append(...buttons);
  menu.addEventListener("click", ({ target }) => {
    if (target instanceof HTMLAnchorElement) menu.open = false;
    // `toggle` comes only after the menu is shown: a press would see the buttons of another search.
    for (const button of buttons) button.hidden = !isSearch(location.href);
  });
}

async function save(format: "csv" | "json"): Promise<void> {
  try {
    const { ids, isCut } = await readFoundIds();
    const rows = await readRows(ids, true);
    saveFile(`${readTable().table}-found.${format}`, toText(rows, format, true), TYPES[format]);
    const rest = isCut ? ". The search ended before the last row: narrow it to export all" : "";
    showSaved(`Exported ${countOf(rows.length)}${rest}`);
  } catch (error) {
    showFailure(`Not exported: ${error instanceof Error ? error.message : error}`);
  }
}

const TYPES = { csv: "text/csv;charset=utf-8", json: "application/json" } as const;
