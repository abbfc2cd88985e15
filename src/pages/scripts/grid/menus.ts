/** The menus above the rows: closed by Escape and by a press elsewhere; on a narrow page, those of `#rarer` are below one button. @module */
import { makeButton } from "../dom.ts";

const MENUS = "[data-tools] details.columns";

/** Adds the menu of the columns to the rarer tools. */
export function startMenus(columns: HTMLElement): void {
  const more = document.getElementById("rarer");
  const button = makeButton("More", () => showMore(button.ariaExpanded !== "true"), {
    class: "button button-quiet more-button",
    "aria-controls": "rarer",
    "aria-expanded": "false",
  });
  const showMore = (isOpen: boolean) => {
    button.ariaExpanded = String(isOpen);
  };
  more?.prepend(columns);
  more?.before(button);
  document.addEventListener("pointerdown", ({ target }) => {
    if (!(target instanceof Element)) return;
    for (const menu of listOpen()) if (!menu.contains(target)) menu.open = false;
    if (more?.contains(target) === false && target !== button) showMore(false);
  });
  document.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof Element)) return;
    for (const menu of listOpen()) if (!menu.contains(target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !(event.target instanceof Element)) return;
    const menu = event.target.closest<HTMLDetailsElement>(`${MENUS}[open]`);
    const isMore = menu === null && more?.contains(event.target) === true;
    if (menu === null && !isMore) return;
    event.preventDefault();
    if (menu !== null) menu.open = false;
    else showMore(false);
    (menu?.querySelector("summary") ?? button).focus();
  });
}

function listOpen(): HTMLDetailsElement[] {
  return [...document.querySelectorAll<HTMLDetailsElement>(`${MENUS}[open]`)];
}
