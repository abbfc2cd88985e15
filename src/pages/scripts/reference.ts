/**
 * The script of the API reference: takes a key, shows the pages of its app in place of those for everybody, and sends the
 * requests that are tried.
 *
 * @module
 */
import { openAnnouncements } from "./announce.ts";
import { startCopyButtons } from "./copy.ts";
import { startKeyField } from "./reference_key.ts";
import { openPage, startPages } from "./reference_pages.ts";
import { startTrying } from "./reference_try.ts";

function startContent(): void {
  startCopyButtons();
  startTrying();
  for (const origin of document.querySelectorAll("[data-origin]"))
    origin.textContent = location.origin;
}

openAnnouncements();
startPages(startContent);
startKeyField(() => openPage(location.href));
startContent();
