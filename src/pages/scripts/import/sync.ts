/**
 * An import that updates rows: finds them by a unique constraint, shows how many it would create, change, leave and delete, and
 * then writes only rows that differ. All rows of the table are listed before the first write.
 *
 * @module
 */

import {
  type Comparison,
  findUnique,
  isAsCreated,
  type ListedRow,
  listUniqueNames,
  makeComparison,
  nameByUnique,
  type SyncPlan,
  toDeletions,
  toWrites,
} from "../../../rows/mod.ts";
import type { NamedColumn, TableDefinition } from "../../../schema/mod.ts";
import { inDigits } from "../../../std/count.ts";
import { mapBounded } from "../../../std/map_bounded.ts";
import { type Answer, callPatiently, SIGNED_OUT as SIGNED_OUT_REASON, startAct } from "../data.ts";
import { announce, element } from "../dom.ts";
import type { Begun } from "./begun.ts";
import { digestBytes } from "./file.ts";
import { listTable } from "./match.ts";
import { addButton, count, makeProgress, runLocked, toItems, toNotice } from "./parts.ts";
import { linkToImport, recordBegin, recordEnd } from "./record.ts";
import {
  LOST,
  makeSender,
  type RowResult,
  type SendOptions,
  SIGNED_OUT,
  type Stop,
  sendRows,
  type TableRow,
  toLines,
} from "./send.ts";

export type SyncChoice = {
  readonly unique: readonly NamedColumn[];
  readonly deletesMissing: boolean;
};

type SyncFields = {
  readonly fields: readonly HTMLElement[];
  /** `undefined`: all rows are created. */
  readonly read: () => SyncChoice | undefined;
};

export function renderSync(table: TableDefinition): SyncFields {
  const select = element("select", { id: "update-by" }, new Option("Create all rows", ""));
  for (const names of listUniqueNames(table))
    select.append(new Option(`Update rows by ${names.replaceAll(",", ", ")}`, names));
  const hint =
    "An update finds the stored rows by these values, and creates the others. Columns that the file does not have stay as they are.";
  select.setAttribute("aria-describedby", "update-hint");
  const field = element(
    "div",
    { class: "field" },
    element("label", { for: "update-by" }, "Rows"),
    element("p", { class: "hint", id: "update-hint" }, hint),
    select,
  );
  const box = element("input", { type: "checkbox", id: "delete-missing" });
  const label = toCheck(box, "Delete the rows that the file does not have");
  label.hidden = true;
  select.addEventListener("change", () => {
    label.hidden = select.value === "";
  });
  return {
    fields: [field, label],
    read: () => {
      const unique = findUnique(table, select.value.split(","));
      return unique && { unique, deletesMissing: box.checked };
    },
  };
}

function toCheck(box: HTMLInputElement, text: string): HTMLLabelElement {
  return element("label", { class: "check" }, box, element("span", {}, text));
}

/** What the writes need: the rows to write, and those to delete. */
type Sync = Pick<SyncPlan, "created" | "changed" | "unchanged" | "excess"> & {
  readonly unique: readonly NamedColumn[];
  readonly deleted: readonly TableRow[];
  readonly table: TableDefinition;
  /** The number of rows in the table. */
  readonly listed: number;
};

type SyncComparison = Pick<Comparison, "add" | "findTaken"> & { readonly end: () => Sync };

/** Reads the whole table. */
export async function openComparison(
  table: TableDefinition,
  { unique, deletesMissing }: SyncChoice,
  { url, onRead }: { url: string; onRead: (rows: number) => void },
): Promise<SyncComparison> {
  const byId = new Map<string, TableRow>();
  const pages = listTable(url, ({ rows, texts }) => {
    const all = texts();
    return rows.map((row, index) => ({ id: row.id, values: row, text: all[index] ?? "" }));
  });
  for await (const rows of pages) {
    for (const row of rows) byId.set(row.id, row as TableRow);
    onRead(byId.size);
  }
  const { end, ...comparison } = makeComparison(table, unique, [...byId.values()]);
  return {
    ...comparison,
    end: () => {
      const { missing, excess, ...plan } = end();
      return {
        ...{ ...plan, table, unique, listed: byId.size },
        excess: deletesMissing ? excess : undefined,
        deleted: deletesMissing ? missing.flatMap(({ id }) => byId.get(id) ?? []) : [],
      };
    },
  };
}

type Steps = {
  readonly steps: HTMLElement;
  readonly path: string;
  /** The address of the table's data. */
  readonly url: string;
  /** Checks the file again. */
  readonly again: () => Promise<void>;
  readonly file: Pick<Begun, "name" | "digest">;
  readonly hasHistory: boolean;
};

/** Max rows to delete that are named. */
const MAX_NAMED = 200;

/** Shows the counts, and a button that writes. */
export function offerSync(page: Steps, sync: Sync): void {
  const { steps } = page;
  const { created, changed, unchanged, deleted, excess, listed } = sync;
  const numbers = [created, changed, deleted].map(({ length }) => length);
  const [creates = 0, changes = 0, deletes = 0] = numbers;
  const text = `Will create ${inDigits(creates)}, change ${inDigits(changes)}, leave ${inDigits(unchanged)} and delete ${inDigits(deletes)} rows.`;
  announce(text);
  steps.append(toNotice("info", numbers.every((n) => n === 0) ? `${text} ${NOTHING}` : text));
  if (numbers.every((number) => number === 0)) return;
  if (deletes > 0) steps.append(renderDeleted(sync));
  const form = element("form", {});
  if (excess !== undefined) {
    const box = element("input", { type: "checkbox", id: "accept-deletes", required: "" });
    const of = `${inDigits(deletes)} of ${count(listed, "row")}`;
    const why = excess === "file is empty" ? "the file has no rows" : `this is ${excess}`;
    form.append(toCheck(box, `Delete ${of}: ${why}`));
  }
  const style = deletes > 0 ? "danger" : "primary";
  const attributes = { type: "submit", class: `button button-${style}` };
  const button = element("button", attributes, nameWrites(creates, changes, deletes));
  form.append(element("div", { class: "action-buttons" }, button));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    form.remove();
    void write(page, sync);
  });
  steps.append(form);
}

const NOTHING = "The table already has the values of the file.";

function nameWrites(creates: number, changes: number, deletes: number): string {
  const parts = [
    ["Create", creates],
    ["Change", changes],
    ["Delete", deletes],
  ] as const;
  const names = parts
    .filter(([, number]) => number > 0)
    .map(([verb, number], index, { length }) => {
      const name = index === 0 ? verb : verb.toLowerCase();
      return `${name} ${index === length - 1 ? count(number, "row") : inDigits(number)}`;
    });
  const last = names.pop() ?? "";
  return names.length === 0 ? last : `${names.join(", ")} and ${last}`;
}

function renderDeleted({ deleted, unique }: Sync): HTMLElement {
  const names = deleted.slice(0, MAX_NAMED).map(({ values }) => nameByUnique(unique, values));
  const rest = deleted.length - names.length;
  if (rest > 0) names.push(`and ${inDigits(rest)} more`);
  return element(
    "details",
    {},
    element("summary", {}, `${count(deleted.length, "row")} to delete`),
    element("ul", { class: "plain" }, ...toItems(names)),
  );
}

async function write(page: Steps, sync: Sync): Promise<void> {
  const { steps, path, url, again, hasHistory } = page;
  const { created, changed, unchanged, deleted, unique, table } = sync;
  const total = created.length + changed.length + deleted.length;
  const act = crypto.randomUUID();
  const { name: file, digest } = page.file;
  const rejected = await recordBegin(page, { act, file, digest, rows: total });
  if (rejected !== undefined)
    return showStop({ steps, again }, { message: rejected, lines: [] }, "Nothing was written.");
  const { upserts, patches } = toWrites(table, sync);
  const progress = makeProgress(total, `Writing ${count(total, "row")}…`);
  steps.append(progress.line);
  const done = { created: 0, updated: 0, unchanged, deleted: 0 };
  const show = (written: number) =>
    progress.show(written, `${inDigits(written)} of ${count(total, "row")} written`);
  const key = `sync-${crypto.randomUUID()}`;
  const upsert: SendOptions = {
    ...{ splits: true, key: `${key}-upsert` },
    sender: makeSender(url, { act, unique: unique.map(({ name }) => name).join(",") }),
    onStored: ({ stored }, { results = [] }) => {
      for (const result of results) if (result in done) done[result satisfies RowResult]++;
      show(stored);
    },
  };
  const patch: SendOptions = {
    ...{ splits: true, key: `${key}-patch` },
    sender: makeSender(url, { act, method: "PATCH" }),
    onStored: ({ stored }, { created: written = [] }) => {
      done.updated += written.length;
      show(upserts.length + stored);
    },
  };
  const left: string[] = [];
  const onDeleted: OnDone = (row, reason) => {
    if (reason === undefined) done.deleted++;
    else left.push(`${nameByUnique(unique, row.values)}: ${reason}`);
    show(created.length + changed.length + done.deleted + left.length);
  };
  const { failed, message } = await runLocked(steps, async () => {
    const failed =
      (await sendRows([{ rows: upserts }], upsert)) ?? (await sendRows([{ rows: patches }], patch));
    const message = failed?.response.message ?? (await deleteRows(sync, { url, act }, onDeleted));
    return { failed, message };
  });
  progress.line.remove();
  const text = `Created ${inDigits(done.created)}, changed ${inDigits(done.updated)}, left ${inDigits(done.unchanged)} and deleted ${inDigits(done.deleted)} rows.`;
  const stop = message && { message, lines: failed ? toLines(failed) : [] };
  if (!stop) {
    const wrote = { created: done.created, changed: done.updated, deleted: done.deleted };
    await recordEnd(page, { act, file, wrote });
    const link = element("a", { href: path }, "Open the table");
    const notice = toNotice("info", `${text} `);
    notice.querySelector("p")?.append(link);
    steps.replaceChildren(notice);
  } else showStop({ steps, again }, stop, text);
  if (left.length > 0)
    steps.append(toNotice("error", `${count(left.length, "row")} not deleted.`, left));
  if (hasHistory) linkToImport(page, act);
}

function showStop({ steps, again }: Pick<Steps, "steps" | "again">, stop: Stop, text: string) {
  const advice = "Resume compares the file again, and writes what still differs.";
  steps.replaceChildren(toNotice("error", `${stop.message}. ${text} ${advice}`, stop.lines));
  addButton(steps, "Resume", again);
}

// Deletes rows that are still as they were listed.

const MAX_CALLS = 8;

type OnDone = (row: ListedRow, reason?: string) => void;

/** Returns why it stopped early. `onDone` receives each row, and why it stays. */
export async function deleteRows(
  { table, deleted }: Pick<Sync, "table" | "deleted">,
  { url, act }: { url: string; act: string },
  onDone: OnDone,
): Promise<string | undefined> {
  for (const rows of toDeletions(table, deleted)) {
    let stop: string | undefined;
    await mapBounded(rows, MAX_CALLS, async (row) => {
      if (stop !== undefined) return;
      const answer = await deleteRow(table, row, { url: `${url}/${row.id}`, act });
      if (answer === undefined) onDone(row, CHANGED);
      else if (answer.kind === "lost")
        stop = answer.reason === SIGNED_OUT_REASON ? SIGNED_OUT.message : LOST.message;
      else if (answer.kind === "done" || answer.status === 404) onDone(row);
      else onDone(row, answer.code === "precondition_failed" ? CHANGED : answer.message);
    });
    if (stop !== undefined) return stop;
  }
  return undefined;
}

const CHANGED = "has changed in the meantime";
const TAG_LENGTH = 32;

/** `undefined`: the row has changed. If its tag is not known, it must still have the values of its create. */
async function deleteRow(
  table: TableDefinition,
  { text, values }: TableRow,
  { url, act }: { url: string; act: string },
): Promise<Answer | undefined> {
  const now = text === "" ? await callPatiently(url) : undefined;
  if (now !== undefined && now.kind !== "done") return now;
  if (now !== undefined && !isAsCreated(table, values, JSON.parse(now.text))) return undefined;
  const headers = { ...startAct(act), "if-match": now?.etag ?? (await toTag(text)) };
  return await callPatiently(url, { method: "DELETE", headers });
}

/** The entity tag of a row. */
async function toTag(text: string): Promise<string> {
  const digest = await digestBytes(new TextEncoder().encode(text));
  return `"${digest.slice(0, TAG_LENGTH)}"`;
}
