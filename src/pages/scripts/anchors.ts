/** The address of a heading is copied when its link is followed. @module */
import { announce } from "./announce.ts";

const VISIBLE_MS = 2000;

export function startAnchors(): void {
  document.addEventListener("click", ({ target }) => {
    const link = target instanceof Element ? target.closest<HTMLAnchorElement>("a.anchor") : null;
    if (link === null) return;
    // If a browser has no clipboard, the address is in the address bar.
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
