/** The script of the pages that sign people in and out. @module */
import { openAnnouncements } from "./announce.ts";
import { startCopyButtons } from "./copy.ts";
import { startDownloads } from "./download.ts";
import { focusFirstIssue } from "./first_issue.ts";
import { storeFragment } from "./fragment.ts";
import { startKeySecrets } from "./key_secrets.ts";
import { startRevealButtons } from "./reveal.ts";
import { startSendingOnce } from "./send_once.ts";
import { startTimes } from "./times.ts";

openAnnouncements();
storeFragment();
startKeySecrets();
startCopyButtons();
startDownloads();
startRevealButtons();
startSendingOnce();
startTimes();
focusFirstIssue();
