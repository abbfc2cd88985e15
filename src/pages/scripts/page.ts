/** The script of the pages that sign people in and out. @module */

import { startCopyButtons } from "./copy.ts";
import {
  focusResult,
  openAnnouncements,
  saveFile,
  startSendingOnce,
  storeFragment,
} from "./dom.ts";
import { startKeySecrets } from "./key_secrets.ts";
import { startTimes } from "./times.ts";

// Buttons that save the text of an element as a file. The browser creates the file; no address
// serves it.

function startDownloads(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-download]")) {
    button.hidden = false;
    button.addEventListener("click", () => save(button));
  }
}

function save({ dataset }: HTMLButtonElement): void {
  const text = document.getElementById(dataset["download"] ?? "")?.textContent ?? "";
  saveFile(dataset["file"] ?? "", `${text}\n`, "text/plain");
}

// Buttons that show the text of a password field.

function startRevealButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-reveal]")) {
    const field = document.getElementById(button.dataset["reveal"] ?? "");
    if (!(field instanceof HTMLInputElement)) continue;
    button.hidden = false;
    button.addEventListener("click", () => show(field, button, field.type === "password"));
    // Browsers and password managers recognize a password by the type of its field.
    field.form?.addEventListener("submit", () => show(field, button, false));
  }
}

function show(field: HTMLInputElement, button: HTMLButtonElement, isVisible: boolean): void {
  field.type = isVisible ? "text" : "password";
  const label = button.querySelector("[data-label]");
  if (label !== null) label.textContent = isVisible ? "Hide" : "Show";
}

openAnnouncements();
storeFragment();
startKeySecrets();
startCopyButtons();
startDownloads();
startRevealButtons();
startSendingOnce();
startTimes();
focusResult();
