/** The list of a page's keyboard shortcuts, with a switch. @module */
import { element } from "./element.ts";

export function makeShortcutsDialog(
  shortcuts: readonly HTMLElement[],
  { isOn, onSwitch }: { isOn: boolean; onSwitch: (on: boolean) => void },
): HTMLDialogElement {
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
