/** The script of the page of a single row: help in its fields. @module */
import { openAnnouncements } from "./dom.ts";
import { addFieldHelp } from "./forms/row_dialog.ts";

openAnnouncements();
for (const form of document.querySelectorAll<HTMLFormElement>("form.action")) addFieldHelp(form);
