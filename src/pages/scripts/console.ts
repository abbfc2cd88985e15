/** The script of the Console's pages. @module */

import { startAxes } from "./axis.ts";
import { startCopyButtons } from "./copy.ts";
import { focusFirstIssue, openAnnouncements, startSendingOnce } from "./dom.ts";
import { startDrafts } from "./drafts.ts";
import { startFormDialogs } from "./form_dialog.ts";
import { startJsonFields } from "./json_fields.ts";
import { startKeySecrets } from "./key_secrets.ts";
import { startNavigation } from "./navigation.ts";
import { startNullChoices } from "./null_choice.ts";
import { startPalette } from "./palette.ts";
import { startPeopleLookup } from "./people_lookup.ts";
import { startShortcuts } from "./shortcuts.ts";
import { startTimes } from "./times.ts";
import { startTypedNames } from "./typed_name.ts";
import { startUnsavedWarnings } from "./unsaved.ts";

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
startPeopleLookup();
startShortcuts();
startTimes();
focusFirstIssue();
