/** The parts of the steps of an import: notices, buttons, numbers, and how the texts of a file are read. @module */

import { ENCODINGS } from "../../../rows/mod.ts";
import { inDigits, showCount } from "../../../std/count.ts";
import { element } from "../dom.ts";
import type { ChosenFile } from "./file.ts";

/** Adds a button that is removed when it is pressed. */
export function addButton(
  parent: HTMLElement,
  name: string,
  run: () => Promise<void>,
  style = "primary",
): HTMLElement {
  const attributes = { type: "button", class: `button button-${style}` };
  const button = element("button", attributes, name);
  const buttons = element("div", { class: "action-buttons" }, button);
  parent.append(buttons);
  button.addEventListener("click", () => {
    buttons.remove();
    void run();
  });
  return button;
}

/** An empty place for a new task. A slower task that began before it still writes into its own, which is no longer in the page. */
export function openPlace(parent: HTMLElement): HTMLElement {
  const place = element("div", {});
  parent.replaceChildren(place);
  return place;
}

/** Runs a task whose progress is in `steps`. The fields before it are disabled meanwhile: a change of them replaces the steps. */
export async function runLocked<Result>(
  steps: HTMLElement,
  run: () => Promise<Result>,
): Promise<Result> {
  const controls = steps
    .closest("[data-import]")
    ?.querySelectorAll<HTMLInputElement>("input, select, textarea, button");
  const locked = [...(controls ?? [])].filter(
    (control) => !control.disabled && !steps.contains(control),
  );
  for (const control of locked) control.disabled = true;
  try {
    return await run();
  } finally {
    for (const control of locked) control.disabled = false;
  }
}

export function toNotice(
  kind: "error" | "info",
  text: string,
  lines: readonly string[] = [],
): HTMLElement {
  const role = kind === "error" ? "alert" : "status";
  const notice = element("div", { class: `notice notice-${kind}`, role }, element("p", {}, text));
  if (lines.length > 0) notice.append(element("ul", {}, ...toItems(lines)));
  return notice;
}

export function toItems(lines: readonly string[]): HTMLElement[] {
  return lines.map((line) => element("li", {}, line));
}

export function count(number: number, singular: string, plural = `${singular}s`): string {
  return showCount(inDigits(number), singular, plural);
}

type Progress = {
  readonly line: HTMLElement;
  readonly show: (value: number, text: string) => void;
};

export function makeProgress(max: number, text: string, name = "Rows stored"): Progress {
  const attributes = { max: String(max), value: "0", "aria-label": name };
  const progress = element("progress", attributes);
  const status = element("p", { role: "status" }, text);
  return {
    line: element("div", { class: "import-progress" }, progress, status),
    show: (value, now) => {
      progress.value = value;
      status.textContent = now;
    },
  };
}

/** The zone of times that have none. */
export function renderZone() {
  const select = element(
    "select",
    { id: "zone", "aria-describedby": "zone-hint" },
    new Option("UTC", ""),
    new Option(`This browser's time zone, ${Intl.DateTimeFormat().resolvedOptions().timeZone}`),
  );
  const text = "For times such as 2026-11-27 14:30. A day alone is 00:00.";
  const hint = element("p", { class: "hint", id: "zone-hint" }, text);
  const label = element("label", { for: "zone" }, "Times without a time zone are in");
  return {
    field: element("div", { class: "field" }, label, hint, select),
    read: () => (select.value === "" ? () => "Z" : toLocalOffset),
  };
}

export function toLocalOffset(local: string): string {
  const second = local.slice(0, "2026-11-27T14:30:00".length);
  // Of a time that the zone skips, this is the offset before it: so a day that has no 00:00 begins on that day.
  const minutes = (Date.parse(`${second}Z`) - Date.parse(second)) / 60_000;
  // The check of the value reports a time that does not exist.
  if (Number.isNaN(minutes)) return "Z";
  const parts = [Math.trunc(Math.abs(minutes) / 60), Math.round(Math.abs(minutes)) % 60];
  const text = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return `${minutes < 0 ? "-" : "+"}${text}`;
}

export function renderEncoding({ encoding }: ChosenFile): HTMLSelectElement {
  const select = element("select", { id: "encoding" });
  for (const { name, label } of ENCODINGS)
    select.append(new Option(label, name, false, name === encoding));
  return select;
}

type FormatFields = {
  encoding: HTMLSelectElement;
  protection: HTMLInputElement;
  isCsv: boolean;
};

export function renderFormat({ encoding, protection, isCsv }: FormatFields): HTMLElement[] {
  const label = element("label", { for: "encoding" }, "Encoding");
  const field = element("div", { class: "field" }, label, encoding);
  if (!isCsv) return [field];
  const text = "Remove the apostrophes that an export for spreadsheets added";
  return [field, element("label", { class: "check" }, protection, element("span", {}, text))];
}
