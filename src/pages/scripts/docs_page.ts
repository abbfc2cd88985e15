/** Scripts of the pages of docs: the guides and the API reference. @module */
import { announce } from "./dom.ts";

const VISIBLE_MS = 2000;

/** Copies the address of a heading when its link is followed. */
export function startAnchors(): void {
  document.addEventListener("click", ({ target }) => {
    const link = target instanceof Element ? target.closest<HTMLAnchorElement>("a.anchor") : null;
    if (link === null) return;
    // Without a clipboard, the address bar still has the address.
    void navigator.clipboard
      ?.writeText(link.href)
      .then(() => showCopied(link))
      .catch(() => undefined);
  });
}

function showCopied(link: HTMLElement): void {
  announce("Link copied");
  link.dataset["copied"] = "";
  setTimeout(() => {
    delete link.dataset["copied"];
  }, VISIBLE_MS);
}

/** On narrow screens the menu covers the page: closes it when one of its links is followed. */
export function startMenu(): void {
  document.getElementById("menu")?.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("a") !== null) closeMenu();
  });
}

export function closeMenu(): void {
  const menu = document.getElementById("menu");
  if (menu?.matches(":popover-open") === true) menu.hidePopover();
}

/** Puts the address of the reader's service into examples. */
export function showOrigin(): void {
  for (const origin of document.querySelectorAll("[data-origin]"))
    origin.textContent = location.origin;
}
