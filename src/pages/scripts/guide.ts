/** The script of the guides and of the search in them. @module */
import { openAnnouncements } from "./announce.ts";
import { startCopyButtons } from "./copy.ts";
import { showOrigin, startAnchors, startMenu } from "./docs_page.ts";
import { startKeySecrets } from "./key_secrets.ts";
import { startPalette } from "./palette.ts";

openAnnouncements();
showOrigin();
startCopyButtons();
startAnchors();
startMenu();
startKeySecrets();
startPalette();
