/** The script of the guides and of the search in them. @module */

import { startCopyButtons } from "./copy.ts";
import { showOrigin, startAnchors, startMenu } from "./docs_page.ts";
import { openAnnouncements } from "./dom.ts";
import { startKeySecrets } from "./key_secrets.ts";
import { startPalette } from "./palette.ts";

openAnnouncements();
showOrigin();
startCopyButtons();
startAnchors();
startMenu();
startKeySecrets();
startPalette();
