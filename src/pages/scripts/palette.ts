/**
 * The command palette: Ctrl+K or ⌘K opens the search of the Console or of the docs. The search page, which checks access,
 * provides the results.
 *
 * @module
 */
import { announce, chooseOption, element, findChosen, moveChoice, requestPage } from "./dom.ts";
import { isInputMethodKey } from "./input.ts";
import { listVisited } from "./navigation.ts";

const PAUSE_MS = 120;

export function startPalette(): void {
  const button = document.querySelector<HTMLButtonElement>(".palette-button");
  const form = button?.form;
  if (button === null || form === null || form === undefined) return;
  const open = () => openPalette(toPaletteSearch(form));
  const isApple = /Mac|iP(hone|ad)/.test(navigator.userAgent);
  if (isApple) button.querySelector("kbd")?.replaceChildren("⌘K");
  button.hidden = false;
  button.addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    if (isInputMethodKey(event)) return;
    const isModified = isApple ? event.metaKey : event.ctrlKey;
    if (!isModified || event.shiftKey || event.altKey || event.key.toLowerCase() !== "k") return;
    if (document.querySelector("dialog[open]") !== null) return;
    event.preventDefault();
    open();
  });
}

type PaletteSearch = { path: string; label: string; placeholder: string };

function toPaletteSearch(form: HTMLFormElement): PaletteSearch {
  const input = form.querySelector("input");
  return {
    path: form.getAttribute("action") ?? "",
    label: input?.ariaLabel ?? "",
    placeholder: input?.dataset["placeholder"] ?? input?.placeholder ?? "",
  };
}

function openPalette({ path, label, placeholder }: PaletteSearch): void {
  const input = element("input", {
    class: "palette-input",
    type: "text",
    role: "combobox",
    "aria-label": label,
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    "aria-autocomplete": "list",
    placeholder,
    maxlength: "254",
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "none",
  });
  const list = element("div", { id: "palette-list", role: "listbox", "aria-label": "Results" });
  const dialog = element("dialog", { class: "palette", "aria-label": label }, input, list);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog) dialog.close();
    if (target instanceof Element) follow(target.closest<HTMLElement>("[role=option]"));
  });
  /** The text whose results are shown. */
  let shown: string | undefined;
  let isEntered = false;
  /** Follows the chosen result of what is typed, also if it is still to come. */
  const enter = (): void => {
    isEntered = shown !== input.value;
    if (!isEntered) follow(findChosen(list));
  };
  input.addEventListener("input", () => {
    isEntered = false;
  });
  input.addEventListener("keydown", (event) => {
    if (isInputMethodKey(event)) return;
    if (event.key === "Enter") enter();
    else if (event.key === "ArrowDown") moveChoice(input, list, 1);
    else if (event.key === "ArrowUp") moveChoice(input, list, -1);
    else return;
    event.preventDefault();
  });
  const detail = element("p", { class: "quiet", hidden: "" });
  list.after(detail);
  startSearch(path, input, ({ groups, text, typed }) => {
    list.replaceChildren(...groups);
    // A listbox without options is invalid: hide it.
    list.hidden = groups.length === 0;
    detail.hidden = groups.length > 0;
    detail.textContent = text;
    input.ariaExpanded = String(groups.length > 0);
    chooseOption(input, list, list.querySelector("[role=option]") ?? undefined);
    announce(text);
    shown = typed;
    if (isEntered) enter();
  });
  document.body.append(dialog);
  dialog.showModal();
}

function follow(option: HTMLElement | null | undefined): void {
  const theme = option?.dataset["theme"];
  if (theme !== undefined) {
    const choice = findThemes();
    if (choice !== null) choice.value = theme;
    choice?.dispatchEvent(new Event("change"));
    option?.closest("dialog")?.close();
    return;
  }
  const href = option?.dataset["href"];
  if (href !== undefined) location.assign(href);
}

/** Sends a request when typing pauses. Discards responses out of order. */
function startSearch(
  path: string,
  input: HTMLInputElement,
  show: (results: Results & { typed: string }) => void,
): void {
  let asked = 0;
  const ask = async () => {
    asked += 1;
    const own = asked;
    const typed = input.value;
    const url = `${path}?${new URLSearchParams({ q: typed })}`;
    const response = await requestPage(url).catch(() => undefined);
    if (own !== asked) return;
    // The session has ended: the page redirects to the sign-in.
    if (response !== undefined && response.url.pathname !== path) location.assign(url);
    else
      show({ typed, ...(response === undefined ? NO_RESPONSE : toResults(response.page, typed)) });
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => void ask(), PAUSE_MS);
  });
  void ask();
}

type Results = { groups: HTMLElement[]; text: string };
const NO_RESPONSE: Results = { groups: [], text: "The server did not respond." };

function toResults(page: Document, typed: string): Results {
  const sections = [...page.querySelectorAll<HTMLElement>("section[data-found]")];
  const groups = [...toVisitedGroup(typed), ...sections.map(toGroup), ...toThemeGroup(typed)];
  const count = groups.reduce(
    (sum, group) => sum + group.querySelectorAll("[role=option]").length,
    0,
  );
  const text = count === 0 ? "No results" : `${count} ${count === 1 ? "result" : "results"}`;
  return { groups, text };
}

/** Only this tab knows them. */
function toVisitedGroup(typed: string): HTMLElement[] {
  const visited = typed.trim() === "" ? listVisited() : [];
  if (visited.length === 0) return [];
  const options = visited.map(({ name, href }, index) =>
    makeOption(`palette-visited-${index}`, { "data-href": href }, element("span", {}, name)),
  );
  return [makeGroup("palette-group-visited", "Recent", options)];
}

function findThemes(): HTMLSelectElement | null {
  return document.querySelector<HTMLSelectElement>("select[data-theme-choice]");
}

/** The themes, which only this browser stores: the search page does not list them. */
function toThemeGroup(typed: string): HTMLElement[] {
  const word = typed.trim().toLowerCase();
  const all = word === "" ? [] : [...(findThemes()?.options ?? [])];
  const found = all.filter(({ text }) => `theme: ${text.toLowerCase()}`.includes(word));
  if (word.length < 3 || found.length === 0) return [];
  const options = found.map(({ text, value }) =>
    makeOption(`palette-theme-${value}`, { "data-theme": value }, `Theme: ${text}`),
  );
  return [makeGroup("palette-group-theme", "Theme", options)];
}

function toGroup(section: HTMLElement, position: number): HTMLElement {
  const id = `palette-group-${position}`;
  const options = [...section.querySelectorAll("li")].map((item, index) => {
    const link = item.querySelector("a");
    const detail = item.querySelector(".quiet")?.textContent ?? "";
    return makeOption(
      `${id}-${index}`,
      { "data-href": link?.getAttribute("href") ?? "" },
      element("span", {}, link?.textContent ?? ""),
      element("span", { class: "quiet" }, detail),
    );
  });
  return makeGroup(id, section.dataset["found"] ?? "", options);
}

function makeGroup(id: string, name: string, options: readonly HTMLElement[]): HTMLElement {
  const title = element("p", { class: "palette-group", id, role: "presentation" }, name);
  return element("div", { role: "group", "aria-labelledby": id }, title, ...options);
}

function makeOption(
  id: string,
  data: Readonly<Record<string, string>>,
  ...parts: (Node | string)[]
): HTMLElement {
  return element("div", { role: "option", id, "aria-selected": "false", ...data }, ...parts);
}
