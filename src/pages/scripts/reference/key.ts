/**
 * The API key of this page, held only in memory: never in the browser's storage, an address, a cookie or another tab. Opening
 * another page of the reference keeps it (reference_pages.ts); reloading the page or leaving the reference deletes it.
 *
 * @module
 */
import { announce } from "../dom.ts";

/** The characters that a header can contain. */
const KEY = /^[\x21-\x7e]+$/;

let used: string | undefined;

export function readKey(): string | undefined {
  return used;
}

/** The header with the key; empty without a key. */
export function keyHeaders(): Record<string, string> {
  const key = readKey();
  return key === undefined ? {} : { Authorization: `Bearer ${key}` };
}

/** `status` is the status of the response; 0 without a response. */
export type Opened = { isOpen: boolean; status: number };

/** `open` loads the page again with the current key. */
export function startKeyField(open: () => Promise<Opened>): void {
  const section = find("[data-key]");
  const form = find<HTMLFormElement>("[data-key-form]");
  const input = find<HTMLInputElement>("#api-key");
  section.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void useKey(input.value.trim(), open);
    input.value = "";
  });
  find("[data-key-forget]").addEventListener("click", () => {
    used = undefined;
    showState();
    announce("Key removed");
    input.focus();
    void open();
  });
  // A tab that was open during an update can have a key that an earlier version stored.
  sessionStorage.removeItem("rowhouse.apiKey");
  showState();
}

/** Keeps a valid key even if the page does not exist for its app. */
async function useKey(key: string, open: () => Promise<Opened>): Promise<void> {
  if (!KEY.test(key)) {
    showState(toIssue(401));
    return;
  }
  used = key;
  const { isOpen, status } = await open();
  if (status === 401) used = undefined;
  showState(isOpen ? "" : toIssue(status));
}

function toIssue(status: number): string {
  if (status === 401) return "This key is not accepted: it is mistyped, revoked or expired.";
  if (status === 404) return "The app of this key has no such table.";
  if (status === 429) return "Too many requests: try again in a minute.";
  return "No response: try again.";
}

/** The secret part of a key is never displayed. */
function showState(issue = ""): void {
  const key = readKey();
  find("[data-key-form]").hidden = key !== undefined;
  find("[data-key-used]").hidden = key === undefined;
  find("[data-key-name]").textContent = `${key?.split(".")[0] ?? ""}…`;
  find("[data-key-issue]").textContent = issue;
}

export function focusKeyField(): void {
  find("#api-key").focus();
}

function find<Found extends HTMLElement>(selector: string): Found {
  const found = document.querySelector<Found>(selector);
  if (found === null) throw new Error(`There is no ${selector} on this page`);
  return found;
}
