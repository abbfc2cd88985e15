/** The script of the Console's pages. @module */

import { startAxes } from "./axis.ts";
import { startCopyButtons } from "./copy.ts";
import { focusResult, openAnnouncements, startSendingOnce } from "./dom.ts";
import { startDrafts, startUnsavedWarnings } from "./forms/drafts.ts";
import { focusActedRow, startFormDialogs } from "./forms/form_dialog.ts";
import {
  startJsonFields,
  startLookups,
  startNullChoices,
  startTypedNames,
} from "./forms/inputs.ts";
import { startKeySecrets } from "./key_secrets.ts";
import { startNavigation } from "./navigation.ts";
import { startPalette } from "./palette.ts";
import { startShortcuts } from "./shortcuts.ts";
import { startTimes } from "./times.ts";

openAnnouncements();
startAxes();
startCopyButtons();
startTypedNames();
startDrafts();
startUnsavedWarnings();
startJsonFields();
startNullChoices();
startSendingOnce();
startNavigation();
startKeySecrets();
startPalette();
startFormDialogs();
startLookups();
startShortcuts();
startTimes();
if (!focusActedRow()) focusResult();
