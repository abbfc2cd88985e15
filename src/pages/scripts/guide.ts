/** The script of the guides. @module */
import { openAnnouncements } from "./announce.ts";
import { startCopyButtons } from "./copy.ts";
import { startMenu } from "./menu.ts";

openAnnouncements();
startCopyButtons();
startMenu();
