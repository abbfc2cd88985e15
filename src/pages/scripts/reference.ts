/**
 * The script of the API reference: accepts a key, replaces the public pages with the pages of the key's app, and sends the
 * requests of "Try it".
 *
 * @module
 */
import { openAnnouncements } from "./announce.ts";
import { startCopyButtons } from "./copy.ts";
import { showOrigin, startAnchors } from "./docs_page.ts";
import { startKeySecrets } from "./key_secrets.ts";
import { startLanguages } from "./languages.ts";
import { startPalette } from "./palette.ts";
import { startKeyField } from "./reference_key.ts";
import { openPage, startPages } from "./reference_pages.ts";
import { startTrying } from "./reference_try.ts";

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
