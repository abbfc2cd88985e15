/** The menu of exports: the links of the server save all rows; a search also saves the rows found. @module */
import { makeButton, saveFile } from "../dom.ts";
import { showFailure, showSaved } from "../save_state.ts";
import { countOf } from "./drawer.ts";
import { isSearch, readFound } from "./search.ts";
import { toText } from "./selection.ts";
import { readTable } from "./store.ts";

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

/** The file is made in memory. */
const MAX_EXPORTED = 50_000;

async function save(format: "csv" | "json"): Promise<void> {
  try {
    const { rows, isCut } = await readFound(MAX_EXPORTED);
    saveFile(`${readTable().table}-found.${format}`, toText(rows, format, true), TYPES[format]);
    const rest = isCut ? ". More rows were found: narrow the search to export all" : "";
    showSaved(`Exported ${countOf(rows.length)}${rest}`);
  } catch (error) {
    showFailure(`Not exported: ${error instanceof Error ? error.message : error}`);
  }
}

const TYPES = { csv: "text/csv;charset=utf-8", json: "application/json" } as const;
