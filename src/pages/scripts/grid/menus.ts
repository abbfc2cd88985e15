/** The menus above the rows. Escape, and a press or the focus elsewhere, close them. On a narrow page, one button shows those of `#rarer`. @module */
import { makeButton } from "../dom.ts";

const OPEN = "[data-tools] details.columns[open]";

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
  for (const name of ["pointerdown", "focusin"] as const)
    document.addEventListener(name, ({ target }) => {
      if (!(target instanceof Element)) return;
      for (const menu of document.querySelectorAll<HTMLDetailsElement>(OPEN))
        if (!menu.contains(target)) menu.open = false;
      if (name === "pointerdown" && more?.contains(target) === false && target !== button)
        showMore(false);
    });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !(event.target instanceof Element)) return;
    const menu = event.target.closest<HTMLDetailsElement>(OPEN);
    const isMore = menu === null && more?.contains(event.target) === true;
    if (menu === null && !isMore) return;
    event.preventDefault();
    if (menu !== null) menu.open = false;
    else showMore(false);
    (menu?.querySelector("summary") ?? button).focus();
  });
}
