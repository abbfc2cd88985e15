/**
 * The stored layout of a table's columns in this browser: visible columns, their order and widths. A hidden column is not in the
 * grid, so keys never reach it.
 *
 * @module
 */

import { isObject, tryParseJson } from "../../../std/json.ts";
import { announce, element, makeButton } from "../dom.ts";

// The stored layout of a table's columns, which stays valid after columns are added or removed.

type ColumnLayout = {
  /** The first columns in order; other columns follow. */
  readonly order: readonly string[];
  readonly hidden: readonly string[];
  /** Widths in pixels of the columns with a fixed width. */
  readonly widths: ReadonlyMap<string, number>;
};

const NO_LAYOUT: ColumnLayout = { order: [], hidden: [], widths: new Map() };
const MIN_WIDTH = 60;
const MAX_WIDTH = 1200;

/** The layout in a stored text. Omits unreadable parts. */
function readLayout(text: string | null): ColumnLayout {
  const stored = tryParseJson(text ?? "");
  if (!isObject(stored)) return NO_LAYOUT;
  const { order, hidden, widths } = stored;
  const entries = Object.entries(isObject(widths) ? widths : {});
  return {
    order: readNames(order),
    hidden: readNames(hidden),
    widths: new Map(
      entries.flatMap(([name, width]) =>
        typeof width === "number" ? [[name, toWidth(width)] as const] : [],
      ),
    ),
  };
}

function toText({ order, hidden, widths }: ColumnLayout): string {
  return JSON.stringify({ order, hidden, widths: Object.fromEntries(widths) });
}

function toWidth(pixels: number): number {
  return Math.round(Math.min(Math.max(pixels, MIN_WIDTH), MAX_WIDTH));
}

function sortNames(names: readonly string[], { order }: ColumnLayout): string[] {
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return names.toSorted((a, b) => rank(a) - rank(b));
}

function readNames(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

const MENU = "details.columns:has(.column)";

function toKey(): string {
  return `columns ${location.pathname}`;
}

function currentLayout(): ColumnLayout {
  return readLayout(localStorage.getItem(toKey()));
}

/** Applies the layout to a table from the server. */
export function arrangeColumns(root: ParentNode): void {
  const table = root.querySelector<HTMLTableElement>("table[data-grid]");
  const heads = [...(table?.tHead?.rows[0]?.cells ?? [])];
  const layout = currentLayout();
  if (table === null || layout === NO_LAYOUT) return;
  const positions = new Map(
    heads.map((head, position) => [head.dataset["column"] ?? "", position]),
  );
  const names = heads.flatMap(({ dataset }) => dataset["column"] ?? []);
  const stored = sortNames(names, layout)
    .filter((name) => !layout.hidden.includes(name))
    .map((name) => positions.get(name) ?? 0);
  // The id comes first, and the links of the row last.
  const order = [0, ...stored, heads.length - 1];
  for (const row of table.rows) {
    const cells = [...row.cells];
    row.replaceChildren(...order.flatMap((position) => cells[position] ?? []));
  }
  for (const [name, width] of layout.widths) setWidth(table, name, width);
}

function setWidth(table: HTMLTableElement, name: string, width: number | undefined): void {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  const position = heads.findIndex(({ dataset }) => dataset["column"] === name);
  if (position === -1) return;
  const size = width === undefined ? "" : `${width}px`;
  for (const row of table.rows) {
    const cell = row.cells[position];
    if (cell !== undefined)
      Object.assign(cell.style, { width: size, minWidth: size, maxWidth: size });
  }
}

function store(layout: ColumnLayout): void {
  const isPlain = layout.order.length + layout.hidden.length + layout.widths.size === 0;
  if (isPlain) localStorage.removeItem(toKey());
  else localStorage.setItem(toKey(), toText(layout));
}

/** The menu of the columns; `renew` shows the rows again. */
export function makeColumnsMenu(names: readonly string[], renew: () => void): HTMLElement {
  const parts = element("fieldset", {}, element("legend", {}, "Show"));
  const form = element(
    "form",
    { class: "sheet" },
    parts,
    element(
      "div",
      { class: "action-buttons" },
      makeButton("Show all", () => change(NO_LAYOUT)),
    ),
  );
  const count = element("span", { "data-hidden-columns": "" });
  const summary = element("summary", { class: "button button-quiet" }, "Columns", count);
  const menu = element("details", { class: "columns" }, summary, form);
  const change = (layout: ColumnLayout) => {
    store(layout);
    showMenu(menu);
    renew();
  };
  for (const name of names) parts.append(makePart(name, change));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", ({ target }) => {
    if (target instanceof HTMLInputElement && target.type === "checkbox")
      change({ ...currentLayout(), hidden: readHidden(form) });
  });
  document.addEventListener("pointerdown", (event) => startResize(event));
  showMenu(menu);
  return menu;
}

function nameOf(part: Element): string {
  return part.querySelector("bdi")?.textContent ?? "";
}

function readHidden(form: HTMLFormElement): string[] {
  return [...form.querySelectorAll(".column")]
    .filter(
      (part) => part.querySelector<HTMLInputElement>("input[type=checkbox]")?.checked === false,
    )
    .map(nameOf);
}

function makePart(name: string, change: (layout: ColumnLayout) => void): HTMLElement {
  const box = element("input", { type: "checkbox" });
  const label = element("span", {}, element("bdi", {}, name));
  const width = element("input", {
    type: "number",
    min: String(MIN_WIDTH),
    max: String(MAX_WIDTH),
    step: "10",
    placeholder: "auto",
    "aria-label": `Width of ${name} in pixels`,
  });
  width.addEventListener("change", () => {
    const widths = new Map(currentLayout().widths);
    if (width.value === "") widths.delete(name);
    else widths.set(name, toWidth(Number(width.value)));
    change({ ...currentLayout(), widths });
  });
  const part = element(
    "div",
    { class: "column" },
    element("label", { class: "check" }, box, label),
    width,
  );
  const move = (title: string, text: string, step: number) => {
    const reorder = () => {
      const names = [...(part.parentElement?.querySelectorAll(".column") ?? [])].map(nameOf);
      const position = names.indexOf(name);
      const next = position + step;
      if (next < 0 || next >= names.length) return;
      names.splice(position, 1);
      names.splice(next, 0, name);
      change({ ...currentLayout(), order: names });
      button.focus();
      announce(`${name} is column ${next + 1} of ${names.length}`);
    };
    const button = makeButton(text, reorder, { "aria-label": title });
    return button;
  };
  part.append(move(`Move ${name} up`, "↑", -1), move(`Move ${name} down`, "↓", 1));
  return part;
}

function showMenu(menu: HTMLElement): void {
  const layout = currentLayout();
  const parts = new Map(
    [...menu.querySelectorAll<HTMLElement>(".column")].map((part) => [nameOf(part), part]),
  );
  for (const name of sortNames([...parts.keys()], layout)) {
    const part = parts.get(name);
    if (part === undefined) continue;
    part.parentElement?.append(part);
    const [isVisible, width] = part.querySelectorAll("input");
    if (isVisible !== undefined) isVisible.checked = !layout.hidden.includes(name);
    if (width !== undefined) width.value = String(layout.widths.get(name) ?? "");
  }
  const hidden = [...parts.keys()].filter((name) => layout.hidden.includes(name)).length;
  const count = menu.querySelector("[data-hidden-columns]");
  if (count !== null) count.textContent = hidden === 0 ? "" : ` (${hidden} hidden)`;
}

/** Makes the right edge of each head draggable. */
export function addResizers(table: HTMLTableElement): void {
  for (const head of table.tHead?.rows[0]?.cells ?? [])
    if (head.dataset["column"] !== undefined && head.querySelector(".resizer") === null)
      head.append(element("span", { class: "resizer", "aria-hidden": "true" }));
}

function startResize({ target, clientX, pointerId }: PointerEvent): void {
  if (!(target instanceof HTMLElement) || !target.matches(".resizer")) return;
  const head = target.closest("th");
  const table = target.closest("table");
  const name = head?.dataset["column"];
  if (head === null || table === null || name === undefined) return;
  const start = head.getBoundingClientRect().width;
  let width = toWidth(start);
  const move = (event: PointerEvent) => {
    width = toWidth(start + event.clientX - clientX);
    setWidth(table, name, width);
  };
  target.setPointerCapture(pointerId);
  target.addEventListener("pointermove", move);
  target.addEventListener(
    "lostpointercapture",
    () => {
      target.removeEventListener("pointermove", move);
      store({ ...currentLayout(), widths: new Map([...currentLayout().widths, [name, width]]) });
      const menu = document.querySelector<HTMLElement>(MENU);
      if (menu !== null) showMenu(menu);
    },
    { once: true },
  );
}
