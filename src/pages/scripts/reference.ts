/**
 * The script of the API reference: accepts a key, replaces the public pages with the pages of the key's app, and sends the
 * requests of "Try it".
 *
 * @module
 */

import { startCopyButtons } from "./copy.ts";
import { showOrigin, startAnchors } from "./docs_page.ts";
import { openAnnouncements } from "./dom.ts";
import { startKeySecrets } from "./key_secrets.ts";
import { startPalette } from "./palette.ts";
import { startKeyField } from "./reference/key.ts";
import { openPage, startPages } from "./reference/pages.ts";
import { startTrying } from "./reference/try.ts";

// One choice of language for all examples of the reference, stored in this browser.

const STORED = "example-language";

function startLanguages(): void {
  const choices = () => document.querySelectorAll<HTMLInputElement>("input[data-language]");
  const choose = (language: string) => {
    for (const choice of choices()) if (choice.value === language) choice.checked = true;
  };
  const stored = localStorage.getItem(STORED);
  if (stored !== null) choose(stored);
  for (const choice of choices())
    choice.addEventListener("change", () => {
      const top = choice.getBoundingClientRect().top;
      localStorage.setItem(STORED, choice.value);
      choose(choice.value);
      // The new examples have another height: keep the scroll position of the clicked example.
      scrollBy(0, choice.getBoundingClientRect().top - top);
    });
}

function startContent(): void {
  startCopyButtons();
  startTrying();
  startLanguages();
  showOrigin();
}

openAnnouncements();
startAnchors();
startKeySecrets();
startPalette();
startPages(startContent);
startKeyField(() => openPage(location.href));
startContent();
