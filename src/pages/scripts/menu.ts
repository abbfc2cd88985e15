/** The menu, which is over the page where there is little room: it closes when a link of it is followed. @module */

export function startMenu(): void {
  document.getElementById("menu")?.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("a") !== null) closeMenu();
  });
}

export function closeMenu(): void {
  const menu = document.getElementById("menu");
  if (menu?.matches(":popover-open") === true) menu.hidePopover();
}
