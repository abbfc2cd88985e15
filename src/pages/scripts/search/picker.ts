/**
 * A combobox for a reference: typing searches the rows that the field can reference.
 *
 * @see https://www.w3.org/WAI/ARIA/apg/patterns/combobox/
 * @module
 */

import { toLabelText } from "../../rows/row.ts";
import { announce, element, findChosen, moveChoice } from "../dom.ts";
import { isInputMethodKey } from "../input.ts";
import { readQuery, SearchError } from "./pages.ts";
import { NO_SEARCH, type SearchColumn, toParameters } from "./state.ts";

const MAX_OPTIONS = 20;
const TYPING_MS = 200;
const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

let count = 0;

export function addReferencePicker(field: HTMLInputElement): void {
  count += 1;
  const list = element("ul", {
    class: "options",
    role: "listbox",
    id: `options-${count}`,
    "aria-label": "Rows",
    hidden: "",
  });
  for (const [name, value] of [
    ["role", "combobox"],
    ["aria-autocomplete", "list"],
    ["aria-expanded", "false"],
    ["aria-controls", list.id],
  ] as const)
    field.setAttribute(name, value);
  const picked = element("p", { class: "quiet picked" });
  field.after(list, picked);
  /** The results of an earlier search are discarded. */
  let searches = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isPicking = false;

  function close(): void {
    clearTimeout(timer);
    searches += 1;
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }
  function pick(option: Element): void {
    field.value = option.getAttribute("data-id") ?? "";
    picked.textContent = option.querySelector("bdi")?.textContent ?? "";
    isPicking = true;
    for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
    isPicking = false;
    close();
  }
  async function search(): Promise<void> {
    const text = field.value.trim();
    searches += 1;
    const asked = searches;
    const found = await findRows(field, text).catch((error: unknown) => {
      if (error instanceof SearchError) return error.message;
      throw error;
    });
    if (asked !== searches || !field.isConnected) return;
    const options = typeof found === "string" ? [] : found;
    list.replaceChildren(
      ...options.map(({ id, label, more }, position) => {
        // Without another text, rows with equal labels differ in their ids.
        const other =
          more[0] === undefined
            ? element("span", { class: "mono quiet" }, `${id.slice(0, 4)}…${id.slice(-4)}`)
            : element("bdi", { class: "quiet" }, more[0]);
        const attributes = { role: "option", id: `${list.id}-${position}`, "data-id": id };
        const item = element("li", attributes, element("bdi", {}, label), " ", other);
        item.ariaSelected = "false";
        return item;
      }),
    );
    list.hidden = options.length === 0;
    field.setAttribute("aria-expanded", String(options.length > 0));
    if (typeof found === "string") announce(found);
    else announce(options.length > 0 ? `${options.length} rows` : "No rows found");
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
    // The only row that was found needs no choice.
    const chosen =
      findChosen(list) ?? (list.childElementCount === 1 ? list.firstElementChild : null);
    if (event.key === "ArrowDown" && list.hidden) void search();
    else if (event.key === "ArrowDown" && !list.hidden) moveChoice(field, list, 1);
    else if (event.key === "ArrowUp" && !list.hidden) moveChoice(field, list, -1);
    else if (event.key === "Enter" && !list.hidden && chosen !== null) pick(chosen);
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

/** @throws {SearchError} a request failed */
async function findRows(field: HTMLInputElement, text: string) {
  const finders = (field.dataset["pickBy"] ?? "").split(" ").filter((name) => name !== "");
  const columns: SearchColumn[] = [
    { name: "id", kind: "uuid", required: true },
    ...finders.map((name) => ({ name, kind: "string", required: false }) as const),
  ];
  const parameters = [
    ...toParameters({ ...NO_SEARCH, text: ID.test(text) ? "" : text }, columns),
    ["select", columns.map(({ name }) => name).join(",")] as const,
  ];
  const pages = await readQuery(field.dataset["pick"] ?? "", { parameters, max: MAX_OPTIONS });
  return pages
    .flatMap(({ rows }) => rows)
    .map((row) => {
      const [label = row.id, ...more] = finders.flatMap((name) => toLabelText(row[name]) ?? []);
      return { id: row.id, label, more };
    });
}
