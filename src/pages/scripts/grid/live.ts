/**
 * Marks the rows on the page that another user changes or deletes, and warns in a form before it is saved. Nothing on the page is
 * replaced until the user reloads it. Runs only on pages of live apps, which contain the address of an event stream.
 *
 * @module
 */

import { isObject, tryParseJson } from "../../../std/json.ts";
import { splitList, splitObject } from "../../../std/json_text.ts";
import { announce, element, makeButton } from "../dom.ts";
import { countRequests, isRequesting, onRequested } from "../pending.ts";
import { findCurrent, findGrid, findRow } from "./cells.ts";
import { renewRow } from "./rows.ts";
import { findStored, isOwn, tagOf, toListed } from "./store.ts";

// The event stream of a table's changes. It is open while the page is visible. After it ends, it
// opens again only when the user is active, so that an unattended page does not keep the session
// alive.

/** A changed row, or the id of a deleted row. */
type RowChange = { id: string; text: string | undefined };

type ChangeReader = {
  onChanges: (changes: readonly RowChange[]) => void;
  /** An unknown set of rows has changed. */
  onReset: () => void;
};

const ACTIVITY = ["pointerdown", "pointermove", "keydown", "wheel", "focus"] as const;
const MIN_RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;
/** Servers limit the length of addresses. */
const MAX_CURSOR_CHARACTERS = 2000;
/** This cursor causes a reset. */
const UNKNOWN_CURSOR = "unknown";

/** Reads the changes after a cursor, as long as the page exists. */
function followChanges(address: string, cursor: string, reader: ChangeReader): void {
  let since = cursor;
  let events: EventSource | undefined;
  let retryMs = MIN_RETRY_MS;
  let retryAt = 0;
  const close = () => {
    events?.close();
    events = undefined;
  };
  const open = () => {
    if (events !== undefined || document.hidden || performance.now() < retryAt) return;
    const known = since.length > MAX_CURSOR_CHARACTERS ? UNKNOWN_CURSOR : since;
    events = new EventSource(`${address}?${new URLSearchParams({ since: known })}`);
    events.addEventListener("changes", (event) => {
      keepCursor(event);
      reader.onChanges(readChanges(event.data));
    });
    events.addEventListener("reset", (event) => {
      keepCursor(event);
      reader.onReset();
    });
    // The browser itself would reconnect without an active user.
    events.addEventListener("error", () => {
      close();
      retryAt = performance.now() + retryMs;
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
    });
  };
  const keepCursor = ({ lastEventId }: MessageEvent) => {
    since = lastEventId;
    retryMs = MIN_RETRY_MS;
  };
  for (const name of ACTIVITY) addEventListener(name, open, { passive: true });
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  open();
}

/** The text of a row stays as it was sent: it is compared with the text of a response. */
function readChanges(data: string): RowChange[] {
  return splitList(data).flatMap((text): RowChange[] => {
    const change = tryParseJson(text);
    const put = splitObject(text).get("put");
    if (put !== undefined) return [{ id: toListed(put).row.id, text: put }];
    return isObject(change) && typeof change["delete"] === "string"
      ? [{ id: change["delete"], text: undefined }]
      : [];
  });
}

const NOTICE_ID = "live-notice";

const MARKS = { changed: "Changed by another user", deleted: "Deleted by another user" } as const;
const WARNINGS = {
  changed: "Another user changed this row. Saving shows both versions first.",
  deleted: "Another user deleted this row. Your input cannot be saved.",
} as const;

type Renew = (focus?: ReturnType<typeof findCurrent>) => void;

type RowEvent = {
  /** The current row; `undefined` if it was deleted. */
  text: string | undefined;
  /** The number of requests before the event: a page that was requested later includes the change. */
  after: number;
};

/** Events by row id, which wait for the end of the page's own requests. */
const waiting = new Map<string, RowEvent>();
let isReset = false;

export function startLive(renew: Renew): void {
  const rows = findRows();
  const { changes, cursor } = rows?.dataset ?? {};
  if (changes === undefined || cursor === undefined) return;
  const settle = () => settleChanges(renew);
  onRequested(settle);
  // Runs after the dialog's own listener, which can request the rows.
  document.addEventListener("close", () => setTimeout(settle), { capture: true });
  followChanges(changes, cursor, {
    onChanges: (list) => {
      for (const { id, text } of list) waiting.set(id, { text, after: countRequests() });
      settle();
    },
    onReset: () => {
      isReset = true;
      settle();
    },
  });
}

function findRows(): HTMLElement | null {
  return document.querySelector("[data-rows]");
}

/** Shows the changes. Waits while the page stores its own change, because the page does not know the new tag yet. */
function settleChanges(renew: Renew): void {
  if (isRequesting()) return;
  for (const [id, { text }] of waiting) void warn(id, text);
  if (document.querySelector("dialog[open]") !== null) return;
  for (const [id, event] of waiting) markRow(id, event);
  waiting.clear();
  if (isReset) findRows()?.setAttribute("data-stale", "");
  isReset = false;
  showNotice(renew);
}

function markRow(id: string, { text, after }: RowEvent): void {
  const row = findRow(id);
  if (row === null || Number(row.dataset["requested"] ?? "0") > after) return;
  const isCurrent = text !== undefined && findStored(id)?.text === text;
  if (!isCurrent && text !== undefined && isOwn(id, text)) return;
  delete row.dataset["mark"];
  row.querySelector(".row-mark")?.remove();
  if (isCurrent) return;
  const mark = text === undefined ? "deleted" : "changed";
  row.dataset["mark"] = mark;
  // No tab stop in the grid: keyboard users press the button of the notice above the rows.
  const button = makeButton("Reload", () => void renewRow(id), { tabindex: "-1" });
  row.cells[0]?.append(element("span", { class: "row-mark" }, `${MARKS[mark]} `, button));
}

/** Warns in open forms of the row, except about versions that the form already has or that this page stored. */
async function warn(id: string, text: string | undefined): Promise<void> {
  if (text !== undefined && isOwn(id, text)) return;
  const tag = text === undefined ? undefined : await tagOf(toListed(text));
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-row-form]")) {
    const { pathname } = new URL(form.getAttribute("action") ?? "", location.href);
    if (!pathname.endsWith(`/rows/${id}`)) continue;
    const opened = form.querySelector<HTMLInputElement>('input[type="hidden"][name="etag"]')?.value;
    const warning = WARNINGS[tag === undefined ? "deleted" : "changed"];
    const present = form.querySelector(".row-warning");
    if (tag !== opened && present?.textContent === warning) continue;
    present?.remove();
    if (tag === opened) continue;
    const line = element("p", { class: "row-warning", role: "status" });
    const buttons = form.querySelector(".action-buttons:not([hidden])");
    if (buttons === null) form.append(line);
    else buttons.prepend(line);
    // Screen readers announce text that is added to an existing live region.
    setTimeout(() => line.append(warning));
  }
}

/** One line above the rows, with the button that reloads them. */
function showNotice(renew: Renew): void {
  const text = describe();
  const present = document.getElementById(NOTICE_ID);
  if ((present?.querySelector("span")?.textContent ?? "") === text) return;
  present?.remove();
  if (text === "") return;
  const button = makeButton("Reload", () => void reload(renew));
  const style = "notice notice-warn live-notice";
  findRows()?.before(
    element("div", { id: NOTICE_ID, class: style }, element("span", {}, text), button),
  );
  announce(text);
}

function describe(): string {
  if (findRows()?.dataset["stale"] !== undefined) return "This list may have changed.";
  return (["changed", "deleted"] as const)
    .map((mark) => ({ mark, count: document.querySelectorAll(`tr[data-mark=${mark}]`).length }))
    .filter(({ count }) => count > 0)
    .map(
      ({ mark, count }) =>
        `${count === 1 ? "1 row was" : `${count} rows were`} ${mark} by another user.`,
    )
    .join(" ");
}

/** Reloads the rows, except rows with an open editor. */
async function reload(renew: Renew): Promise<void> {
  const grid = findGrid();
  if (document.querySelector("[data-rows] form[data-row-form]") === null)
    return renew(grid === null ? undefined : findCurrent(grid));
  for (const row of document.querySelectorAll<HTMLTableRowElement>("tr[data-mark]"))
    if (row.querySelector("form") === null) await renewRow(row.dataset["rowId"] ?? "");
}
