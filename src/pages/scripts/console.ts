/** The script of the Console's pages. @module */

import { startAxes } from "./axis.ts";
import { startCopyButtons } from "./copy.ts";
import { focusFirstIssue, openAnnouncements, startSendingOnce } from "./dom.ts";
import { startDrafts } from "./forms/drafts.ts";
import { startFormDialogs } from "./forms/form_dialog.ts";
import { startJsonFields } from "./forms/json_fields.ts";
import { startNullChoices } from "./forms/null_choice.ts";
import { startPeopleLookup } from "./forms/people_lookup.ts";
import { startTypedNames } from "./forms/typed_name.ts";
import { startUnsavedWarnings } from "./forms/unsaved.ts";
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
startPeopleLookup();
startShortcuts();
startTimes();
focusFirstIssue();
