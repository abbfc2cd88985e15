/**
 * A combobox for a reference: typing searches the rows that the field can reference.
 *
 * @see https://www.w3.org/WAI/ARIA/apg/patterns/combobox/
 * @module
 */
import { announce, element, findChosen, moveChoice } from "../dom.ts";
import { isInputMethodKey } from "../input.ts";
import type { Search } from "../search/rows.ts";
import type { SearchColumn } from "../search/state.ts";
import { makeSearcher } from "../search_worker.ts";

const MAX_OPTIONS = 20;
const TYPING_MS = 200;
const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

let count = 0;

export function addReferencePicker(field: HTMLInputElement, form: HTMLFormElement): void {
  count += 1;
  const list = element("ul", {
    class: "options",
    role: "listbox",
    id: `options-${count}`,
    "aria-label": "Rows",
    hidden: "",
  });
  field.removeAttribute("list");
  for (const [name, value] of [
    ["role", "combobox"],
    ["aria-autocomplete", "list"],
    ["aria-expanded", "false"],
    ["aria-controls", list.id],
  ] as const)
    field.setAttribute(name, value);
  const picked = element("p", { class: "quiet picked" });
  field.after(list, picked);
  const searcher = makeSearcher();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isPicking = false;

  function close(): void {
    clearTimeout(timer);
    searcher.cancel();
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }
  function pick(option: HTMLElement): void {
    field.value = option.dataset["id"] ?? "";
    picked.textContent = option.querySelector("bdi")?.textContent ?? "";
    isPicking = true;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    isPicking = false;
    close();
  }
  async function search(): Promise<void> {
    const text = field.value.trim();
    const found = await searcher.run(form.dataset["worker"] ?? "", toSearch(field, form, text));
    if (found === undefined || !field.isConnected) return;
    const options = found.kind === "failed" ? [] : found.ids.slice(0, MAX_OPTIONS);
    list.replaceChildren(
      ...options.map((id, position) => {
        const label = (found.kind === "found" && found.labels[position]) || id;
        const end = element("span", { class: "mono quiet" }, ` ${id.slice(0, 4)}…${id.slice(-4)}`);
        const item = element("li", { role: "option", id: `${list.id}-${position}`, "data-id": id });
        item.append(element("bdi", {}, label), end);
        item.ariaSelected = "false";
        return item;
      }),
    );
    list.hidden = options.length === 0;
    field.setAttribute("aria-expanded", String(options.length > 0));
    if (found.kind === "failed") announce(found.reason);
    else if (options.length > 0) announce(`${options.length} rows`);
    else announce(found.isCut ? "No rows found so far: type the id" : "No rows found");
  }
  field.addEventListener("input", () => {
    if (isPicking) return;
    picked.textContent = "";
    clearTimeout(timer);
    if (ID.test(field.value.trim())) close();
    else timer = setTimeout(() => void search(), TYPING_MS);
  });
  field.addEventListener("keydown", (event) => {
    if (isInputMethodKey(event)) return;
    const chosen = findChosen(list);
    if (event.key === "ArrowDown" && list.hidden) void search();
    else if (event.key === "ArrowDown" && !list.hidden) moveChoice(field, list, 1);
    else if (event.key === "ArrowUp" && !list.hidden) moveChoice(field, list, -1);
    else if (event.key === "Enter" && !list.hidden && chosen !== undefined) pick(chosen);
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  // On `pointerdown`: on `click`, the field would have lost the focus and closed the list.
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    const { target } = event;
    const option = target instanceof Element ? target.closest<HTMLElement>("[role=option]") : null;
    if (option !== null) pick(option);
  });
  field.addEventListener("blur", close);
}

function toSearch(field: HTMLInputElement, form: HTMLFormElement, text: string): Search {
  const label = field.dataset["pickLabel"] ?? "id";
  const columns: SearchColumn[] = [{ name: "id", kind: "uuid", required: true }];
  if (label !== "id") columns.push({ name: label, kind: "string", required: false });
  return {
    url: new URL(field.dataset["pick"] ?? "", location.href).href,
    columns,
    state: { text: ID.test(text) ? "" : text, conditions: [], order: undefined },
    hasFilters: form.dataset["hasFilters"] !== undefined,
    isLarge: true,
    label,
    max: MAX_OPTIONS,
  };
}
