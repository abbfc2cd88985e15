/** The parts of the steps of an import: notices, buttons and numbers. @module */
import { element } from "../dom.ts";

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
  return `${toText(number)} ${number === 1 ? singular : plural}`;
}

export function toText(number: number): string {
  return number.toLocaleString("en-US");
}

type Progress = {
  readonly line: HTMLElement;
  readonly show: (value: number, text: string) => void;
};

export function makeProgress(max: number, text: string): Progress {
  const attributes = { max: String(max), value: "0", "aria-label": "Rows stored" };
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
