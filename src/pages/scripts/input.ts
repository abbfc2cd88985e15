/**
 * The input of a grid: a text field over the selected cell, invisible until it has text. It always has the focus while a cell is
 * selected, so the browser itself collects typed text, compositions, dead keys and pasted text, in every state of the cell.
 * Knows neither rows nor forms.
 *
 * @module
 */

import { element } from "./dom.ts";

type GridInput = {
  /** The selected cell; `undefined` if its row is not on the page. */
  readonly cell: () => HTMLTableCellElement | undefined;
  /** Selects a cell. The text stays: store it first. */
  readonly attach: (cell: HTMLTableCellElement) => void;
  readonly focus: () => void;
  /** Whether an element is the input. */
  readonly is: (target: EventTarget | null) => boolean;
  /** Whether the input has text, or a composition has begun. */
  readonly isTyping: () => boolean;
  /** Shows a text, as if it was typed. */
  readonly put: (text: string) => void;
  /** Empties the input and returns its text; `undefined` if nothing was typed. */
  readonly empty: () => string | undefined;
  /** Resolves when no composition is in progress. */
  readonly settle: () => Promise<void>;
};

type InputEvents = {
  /** The first character was typed or pasted. */
  readonly onStart: (cell: HTMLTableCellElement) => void;
  /** The focus moved to another element. */
  readonly onLeave: (to: Element) => void;
};

export function makeGridInput({ onStart, onLeave }: InputEvents): GridInput {
  const field = element("textarea", {
    class: "grid-input",
    rows: "1",
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    // A press on a cell opens no keyboard on a touch screen.
    ...(matchMedia("(pointer: coarse)").matches ? { inputmode: "none" } : {}),
  });
  let isTyping = false;
  let isComposing = false;
  const settled: (() => void)[] = [];
  const findCell = () => field.closest("td") ?? undefined;
  const start = () => {
    if (isTyping) return;
    isTyping = true;
    field.classList.add("is-typing");
    const cell = findCell();
    if (cell !== undefined) onStart(cell);
  };

  field.addEventListener("compositionstart", () => {
    isComposing = true;
    start();
  });
  field.addEventListener("compositionend", () => {
    isComposing = false;
    // Later: Korean input methods begin the next composition in the same task.
    setTimeout(() => {
      if (!isComposing) for (const resolve of settled.splice(0)) resolve();
    });
  });
  field.addEventListener("input", () => {
    if (field.value !== "") start();
  });
  field.addEventListener("focusout", ({ relatedTarget }) => {
    // Without a target, the user switched to another window.
    if (relatedTarget instanceof Element && relatedTarget !== findCell()) onLeave(relatedTarget);
  });

  return {
    cell: findCell,
    attach: (cell) => {
      if (findCell() === cell) return;
      for (const old of document.querySelectorAll<HTMLElement>("td[data-current]"))
        delete old.dataset["current"];
      cell.dataset["current"] = "";
      field.ariaLabel = describe(cell);
      cell.append(field);
    },
    focus: () => field.focus(),
    is: (target) => target === field,
    isTyping: () => isTyping,
    put: (text) => {
      field.value = text;
      isTyping = true;
      field.classList.add("is-typing");
      field.setSelectionRange(text.length, text.length);
    },
    empty: () => {
      const text = isTyping ? field.value : undefined;
      isTyping = false;
      field.value = "";
      field.classList.remove("is-typing");
      return text;
    },
    settle: () =>
      isComposing ? new Promise((resolve) => settled.push(resolve)) : Promise.resolve(),
  };
}

/** The column and the value of a cell, for screen readers. */
function describe(cell: HTMLTableCellElement): string {
  const head = cell.closest("table")?.tHead?.rows[0]?.cells[cell.cellIndex];
  const name = head?.dataset["column"] ?? head?.textContent ?? "";
  return `${name.trim()}: ${cell.textContent.trim()}`;
}

// Keys that belong to an input method: it uses Enter, Tab, Escape and arrows to choose among its
// candidates. Every listener of keys ignores them.

const owned = new WeakSet<Event>();
/** The `keyCode` of a key that an input method handles. */
const HANDLED = 229;
/** WebKit reports the key that ends a composition after the end, at most this much later. */
const DELAY_MS = 500;
const isWebKit =
  /AppleWebKit\//.test(navigator.userAgent) && !/Chrom(e|ium)\//.test(navigator.userAgent);

let endedAt = Number.NEGATIVE_INFINITY;
/** Whether the script that ended a composition is still running. */
let isEnding = false;

document.addEventListener(
  "compositionend",
  ({ timeStamp }) => {
    endedAt = timeStamp;
    isEnding = true;
    queueMicrotask(() => {
      isEnding = false;
    });
  },
  { capture: true },
);
document.addEventListener(
  "keydown",
  (event) => {
    const isDelayed = isEnding || (isWebKit && event.timeStamp - endedAt < DELAY_MS);
    endedAt = Number.NEGATIVE_INFINITY;
    if (event.isComposing || event.keyCode === HANDLED || isDelayed) owned.add(event);
  },
  { capture: true },
);

export function isInputMethodKey(event: Event): boolean {
  return owned.has(event);
}
