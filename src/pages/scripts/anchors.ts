/** Copies the address of a heading when its link is followed. @module */
import { announce } from "./announce.ts";

const VISIBLE_MS = 2000;

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
