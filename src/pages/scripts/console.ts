/** The script of the Console's pages. @module */
import { openAnnouncements } from "./announce.ts";
import { startCopyButtons } from "./copy.ts";
import { startDrafts } from "./drafts.ts";
import { focusFirstFault } from "./first_fault.ts";
import { startJsonFields } from "./json_fields.ts";
import { startNavigation } from "./navigation.ts";
import { startNullChoices } from "./null_choice.ts";
import { startPalette } from "./palette.ts";
import { startSendingOnce } from "./send_once.ts";
import { startShortcuts } from "./shortcuts.ts";
import { startTimes } from "./times.ts";
import { startTypedNames } from "./typed_name.ts";
import { startUnsavedWarnings } from "./unsaved.ts";

openAnnouncements();
startCopyButtons();
startTypedNames();
startDrafts();
startUnsavedWarnings();
startJsonFields();
startNullChoices();
startSendingOnce();
startNavigation();
startPalette();
startShortcuts();
startTimes();
focusFirstFault();
