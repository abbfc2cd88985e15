/**
 * Keyboard shortcuts. An element with `data-keys="g h"` is followed, clicked or focused by these keys in sequence; `?` lists all.
 * Ignores keys while the user types, and keys with a modifier.
 *
 * @module
 */

import { element } from "./dom.ts";
import { isInputMethodKey } from "./input.ts";

// The list of a page's keyboard shortcuts, with a switch.

function makeShortcutsDialog(
  shortcuts: readonly HTMLElement[],
  { isOn, onSwitch }: { isOn: boolean; onSwitch: (on: boolean) => void },
): HTMLDialogElement {
  if (
    document.querySelector(".list tbody a") !== null &&
    document.getElementById(LIST_KEYS) === null
  )
    document.body.append(makeListKeys());
  const lists = [...document.querySelectorAll<HTMLElement>("[data-keys-of]")].map((list) => {
    const keys = list.cloneNode(true) as HTMLElement;
    keys.hidden = false;
    return [element("h3", {}, list.dataset["keysOf"] ?? ""), keys];
  });
  return element(
    "dialog",
    { class: "dialog", "aria-labelledby": "shortcuts" },
    element("h2", { id: "shortcuts" }, "Keyboard shortcuts"),
    element("dl", { class: "keys" }, ...shortcuts.flatMap(toEntry)),
    ...lists.flat(),
    makeSwitch(isOn, onSwitch),
    element(
      "form",
      { method: "dialog" },
      element("button", { class: "button button-quiet", autofocus: "" }, "Close"),
    ),
  );
}

const LIST_KEYS = "list-keys";

function makeListKeys(): HTMLElement {
  const key = (name: string) => element("kbd", {}, name);
  const attributes = { id: LIST_KEYS, class: "keys", hidden: "", "data-keys-of": "In a list" };
  return element(
    "dl",
    attributes,
    element("dt", {}, key("j"), " ", key("k")),
    element("dd", {}, "Next and previous entry"),
    element("dt", {}, key("Enter")),
    element("dd", {}, "Open the entry"),
  );
}

function toEntry(shortcut: HTMLElement): HTMLElement[] {
  const keys = (shortcut.dataset["keys"] ?? "").split(" ");
  const name = shortcut.dataset["keysFor"] ?? shortcut.ariaLabel ?? shortcut.textContent ?? "";
  return [
    element("dt", {}, ...keys.flatMap((key) => [element("kbd", {}, key), " "])),
    element("dd", {}, name.trim()),
  ];
}

function makeSwitch(isOn: boolean, onSwitch: (on: boolean) => void): HTMLElement {
  const box = element("input", { type: "checkbox" });
  box.checked = isOn;
  box.addEventListener("change", () => onSwitch(box.checked));
  return element(
    "label",
    { class: "check" },
    box,
    element("span", {}, "Enable keyboard shortcuts"),
  );
}

/** Max time between the two keys of a sequence. */
const PREFIX_MS = 1200;
const SETTING = "shortcuts";

export function startShortcuts(): void {
  const help = document.querySelector<HTMLButtonElement>("button[data-keys='?']");
  if (help !== null) {
    help.hidden = false;
    help.addEventListener("click", openDialog);
  }
  let typed = "";
  let typedAt = 0;
  document.addEventListener("keydown", (event) => {
    if (isIgnored(event) || !isOn()) return;
    const isSecond = typed !== "" && event.timeStamp - typedAt < PREFIX_MS;
    const keys = isSecond ? `${typed} ${event.key}` : event.key;
    const { done, isPrefix } = moveTo(keys) ? { done: true, isPrefix: false } : press(keys);
    if (done) event.preventDefault();
    typed = isPrefix ? keys : "";
    typedAt = event.timeStamp;
  });
}

const STEPS: Readonly<Record<string, number>> = { j: 1, k: -1 };

/** Focuses the link of the next or previous row of a list, so that Enter opens it. Returns whether there is one. */
function moveTo(keys: string): boolean {
  const step = STEPS[keys];
  if (step === undefined) return false;
  const links = [...document.querySelectorAll(".list tbody tr, .referring tbody tr")].flatMap(
    (entry) =>
      entry.querySelector<HTMLElement>("[data-row-link]") ??
      entry.querySelector<HTMLElement>("a[href]") ??
      [],
  );
  const row = document.activeElement?.closest("tr");
  const at = links.findIndex((link) => row?.contains(link));
  const link = links[at < 0 ? 0 : Math.min(Math.max(at + step, 0), links.length - 1)];
  link?.focus();
  return link !== undefined;
}

function press(keys: string): { done: boolean; isPrefix: boolean } {
  const elements = findShortcuts();
  const found = elements.find((element) => element.dataset["keys"] === keys);
  if (found instanceof HTMLInputElement) found.select();
  else found?.click();
  const isPrefix = elements.some(({ dataset }) => dataset["keys"]?.startsWith(`${keys} `));
  return { done: found !== undefined, isPrefix };
}

function findShortcuts(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("[data-keys]")];
}

/** Cells of a grid handle their own keys. */
const TYPED_INTO =
  "input:not([type=checkbox],[type=radio]), textarea, select, [contenteditable], [role=gridcell]";

function isIgnored(event: KeyboardEvent): boolean {
  const { target } = event;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return true;
  if (isInputMethodKey(event) || document.querySelector("dialog[open]") !== null) return true;
  return target instanceof Element && target.closest(TYPED_INTO) !== null;
}

function openDialog(): void {
  const dialog = makeShortcutsDialog(findShortcuts(), { isOn: isOn(), onSwitch: setOn });
  document.querySelector("main")?.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
  // The dialog scrolls to its focused button, which can be below the end of the window.
  dialog.scrollTop = 0;
}

/** Keys without a modifier can be switched off: speech input types them by accident. */
function isOn(): boolean {
  return localStorage.getItem(SETTING) !== "off";
}

function setOn(on: boolean): void {
  if (on) localStorage.removeItem(SETTING);
  else localStorage.setItem(SETTING, "off");
}
