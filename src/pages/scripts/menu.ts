/** On narrow screens the menu covers the page: closes it when one of its links is followed. @module */

export function startMenu(): void {
  document.getElementById("menu")?.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("a") !== null) closeMenu();
  });
}

export function closeMenu(): void {
  const menu = document.getElementById("menu");
  if (menu?.matches(":popover-open") === true) menu.hidePopover();
}
