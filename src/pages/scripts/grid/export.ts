/** The menu of exports: the links of the server save all rows; a search also saves the rows found. @module */
import { inDigits } from "../../../std/count.ts";
import { makeButton, saveFile } from "../dom.ts";
import { showFailure, showRunning, showSaved } from "../save_state.ts";
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
  let isStopped = false;
  const stop = () => {
    isStopped = true;
  };
  const progress = showRunning("Exporting…", { name: "Stop", run: stop });
  try {
    const { rows, isCut } = await readFound(MAX_EXPORTED, [], (read, total) => {
      if (!isStopped) progress(`Exporting… ${describeRead(read, total)}`);
      return !isStopped;
    });
    if (isStopped) return showFailure("Not exported: it was stopped");
    saveFile(`${readTable().table}-found.${format}`, toText(rows, format, true), TYPES[format]);
    const rest = isCut ? ". More rows were found: narrow the search to export all" : "";
    showSaved(`Exported ${countOf(rows.length)}${rest}`);
  } catch (error) {
    showFailure(`Not exported: ${error instanceof Error ? error.message : error}`);
  }
}

function describeRead(read: number, total: number | undefined): string {
  return total === undefined ? countOf(read) : `${inDigits(read)} of ${countOf(total)}`;
}

const TYPES = { csv: "text/csv;charset=utf-8", json: "application/json" } as const;
