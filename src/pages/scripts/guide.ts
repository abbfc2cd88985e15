/** The script of the guides and of the search in them. @module */
import { startAnchors } from "./anchors.ts";
import { openAnnouncements } from "./announce.ts";
import { startCopyButtons } from "./copy.ts";
import { startMenu } from "./menu.ts";
import { showOrigin } from "./origin.ts";
import { startPalette } from "./palette.ts";

openAnnouncements();
showOrigin();
startCopyButtons();
startAnchors();
startMenu();
startPalette();
