/** The script of the pages that sign people in and out. @module */
import { openAnnouncements } from "./announce.ts";
import { startCopyButtons } from "./copy.ts";
import { startDownloads } from "./download.ts";
import { focusFirstFault } from "./first_fault.ts";
import { startRevealButtons } from "./reveal.ts";
import { startSendingOnce } from "./send_once.ts";
import { startTimes } from "./times.ts";

openAnnouncements();
startCopyButtons();
startDownloads();
startRevealButtons();
startSendingOnce();
startTimes();
focusFirstFault();
