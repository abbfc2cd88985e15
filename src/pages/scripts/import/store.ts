/** Stores the rows of a checked file, and shows the result: what is stored, how it continues, and how it is removed. @module */

import { type Batch, listUniques, nameByUnique } from "../../../rows/mod.ts";
import type { TableDefinition } from "../../../schema/mod.ts";
import { inDigits } from "../../../std/count.ts";
import { announce, element } from "../dom.ts";
import { type Begun, saveBegun } from "./begun.ts";
import type { ImportFile } from "./file.ts";
import type { MatchTargets } from "./match.ts";
import { addButton, count, makeProgress, runLocked, toNotice } from "./parts.ts";
import { linkToImport, recordBegin, recordEnd } from "./record.ts";
import { makeSender, type Stop, sendFile, type TableRow } from "./send.ts";
import { deleteRows } from "./sync.ts";

export type Page = {
  table: TableDefinition;
  targets: MatchTargets;
  path: string;
  steps: HTMLElement;
  /** The address of the app's data. */
  api: string;
  /** The address of the table's data. */
  url: string;
  /** The tables whose rows are deleted with a row that they reference. */
  cascades: readonly string[];
  /** Whether the history has what an import wrote, and can undo it at any time. */
  hasHistory: boolean;
};

export async function show(task: () => Promise<void>, steps: HTMLElement): Promise<void> {
  try {
    await task();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    steps.querySelector("[role=status]")?.remove();
    steps.append(toNotice("error", `The file cannot be read: ${reason}`));
  }
}

/** Continues an import: the batches that are stored are not stored again. */
export function offerRest(page: Page, file: ImportFile, begun: Begun): void {
  const { steps } = page;
  const { stored, rows } = begun;
  const text = `This tab has stored ${inDigits(stored)} of ${count(rows, "row")} of this file.`;
  steps.replaceChildren(toNotice("info", text));
  announce(text);
  const isDone = stored >= rows;
  const name = isDone
    ? `Import ${count(rows, "row")}`
    : `Continue with ${count(rows - stored, "row")}`;
  addButton(steps, name, () => show(() => store(page, { file, begun, isResumed: !isDone }), steps));
}

type Task = {
  file: ImportFile;
  begun: Begun;
  isResumed?: boolean;
};

/** Max rows that are kept to remove them. */
const MAX_REMOVED = 100_000;

export async function store(page: Page, task: Task): Promise<void> {
  const { steps, url } = page;
  const { begun, isResumed } = task;
  const { rows, key, leftOut, digest } = begun;
  const act = begun.act ?? crypto.randomUUID();
  if (begun.act === undefined) {
    const message = await recordBegin(page, { act, file: begun.name, digest, rows });
    if (message !== undefined) return showStop(page, task, { message, lines: [] });
  }
  const progress = makeProgress(rows, `Storing ${count(rows, "row")}…`);
  steps.append(progress.line);
  let [replayed, seen] = [0, 0];
  let last: Begun = { ...begun, act };
  const keep = (change: Partial<Begun>) => {
    last = { ...last, ...change };
    saveBegun(url, last);
  };
  keep({});
  const file = { ...task.file, leftOut: new Set(leftOut) };
  const written: TableRow[] = [];
  const sender = makeSender(url, { act });
  const foreign = new Set(begun.foreign);
  const send: Parameters<typeof sendFile>[1] = {
    key,
    sender: async (batch, batchKey) => {
      const response = await sender(batch, batchKey);
      // What another import of this file has stored is not removed with this one. The batch after the stored ones may have lost its response.
      const isOwn =
        response.isReplay !== true ||
        (seen < begun.stored && !foreign.has(seen)) ||
        (seen === begun.stored && isResumed === true);
      if (isOwn) foreign.delete(seen);
      else foreign.add(seen);
      const created = response.created ?? [];
      if (isOwn && written.length <= MAX_REMOVED) written.push(...withSent(created, batch));
      seen += created.length;
      return response;
    },
    onStored: (sent) => {
      replayed = sent.replayed;
      progress.show(sent.stored, `${inDigits(sent.stored)} of ${count(rows, "row")} stored`);
      keep({ stored: Math.max(last.stored, sent.stored), foreign: [...foreign] });
    },
  };
  const stop = await runLocked(steps, () => sendFile(file, send));
  progress.line.remove();
  if (stop !== undefined) showStop(page, { ...task, begun: last }, stop);
  else {
    const created = rows - (isResumed === true ? 0 : replayed);
    const wrote = { created, changed: 0, deleted: 0 };
    // Its end is recorded: this time it stored nothing.
    const isAgain = begun.act !== undefined && begun.stored >= rows && created === 0;
    if (!isAgain) await recordEnd(page, { act, file: begun.name, wrote });
    showStored(page, task, isResumed === true ? 0 : replayed);
  }
  if (page.hasHistory) return linkToImport(page, act);
  // A batch without a response may have rows that only Resume knows.
  if (written.length > MAX_REMOVED || stop?.isUnknown === true) return;
  const onRemoved = () => saveBegun(url, { ...begun, isRemoved: true });
  offerRemoval(steps, {
    table: page.table,
    url,
    rows: written,
    others: seen - written.length,
    cascades: page.cascades,
    onRemoved,
  });
}

/** The service repeats only the ids of a large batch: their values are those of the file. */
function withSent(created: readonly TableRow[], { body }: Batch): readonly TableRow[] {
  if (created.every(({ values }) => Object.keys(values).length > 1)) return created;
  const sent = JSON.parse(body) as TableRow["values"][];
  return created.map(({ id }, index) => ({ id, values: { ...sent[index] }, text: "" }));
}

/** Shows the result. Rows of an earlier import are stored again only on request. */
function showStored(page: Page, task: Task, replayed: number): void {
  const { steps, path } = page;
  const link = element("a", { href: path }, "Open the table");
  const before =
    replayed === 0
      ? ""
      : `An earlier import of this file had already stored ${count(replayed, "row")}. `;
  const text = `${count(task.begun.rows, "row")} stored. ${before}`;
  steps.replaceChildren(element("p", { class: "notice notice-info", role: "status" }, text, link));
  if (replayed === 0) return;
  const { act, ...begun } = task.begun;
  const again = { ...task, begun: { ...begun, key: `${begun.key}-${Date.now()}` } };
  addButton(steps, "Store again", () => show(() => store(page, again), steps));
}

function showStop(page: Page, task: Task, stop: Stop): void {
  const { steps } = page;
  const notice = toNotice("error", stop.message, stop.lines);
  steps.append(notice);
  addButton(steps, "Resume", () => {
    notice.remove();
    return show(() => store(page, { ...task, isResumed: true }), steps);
  });
}

type Removal = {
  readonly table: TableDefinition;
  readonly url: string;
  readonly rows: readonly TableRow[];
  /** The number of the file's rows that stay: another import has stored them. */
  readonly others: number;
  /** The tables whose rows are deleted with a row that they reference. */
  readonly cascades: readonly string[];
  readonly onRemoved: () => void;
};

/** Max rows that are named. */
const MAX_NAMED = 200;

/** A button, and a second one that confirms. */
export function offerRemoval(steps: HTMLElement, removal: Removal): void {
  const { rows, others, cascades } = removal;
  if (rows.length === 0) return;
  const ask = async () => {
    const also =
      cascades.length === 0 ? "" : ` Rows of ${cascades.join(", ")} that reference them go too.`;
    const stay = others === 0 ? "" : ` ${count(others, "other row")} of the file stay.`;
    const text = `Only the ${count(rows.length, "row")} that this import stored and no one has changed since.${stay}${also}`;
    const notice = toNotice("info", text);
    steps.append(notice);
    const name = `Remove ${count(rows.length, "row")}`;
    addButton(steps, name, () => remove(steps, removal), "danger")?.focus();
  };
  addButton(steps, "Remove the rows stored", ask, "quiet");
}

async function remove(steps: HTMLElement, removal: Removal): Promise<void> {
  const { table, url, rows } = removal;
  const progress = makeProgress(rows.length, `Removing ${count(rows.length, "row")}…`);
  steps.replaceChildren(progress.line);
  const left = new Set(rows);
  const kept: string[] = [];
  const unique = listUniques(table)[0] ?? [];
  let removed = 0;
  const onDone: Parameters<typeof deleteRows>[2] = (row, reason) => {
    left.delete(row as TableRow);
    if (reason === undefined) removed++;
    else kept.push(`${nameByUnique(unique, row.values) || row.id}: ${reason}`);
    progress.show(
      removed + kept.length,
      `${inDigits(removed)} of ${count(rows.length, "row")} removed`,
    );
  };
  const stop = await runLocked(steps, () =>
    deleteRows({ table, deleted: rows }, { url, act: crypto.randomUUID() }, onDone),
  );
  const text = `Removed ${inDigits(removed)} of ${count(rows.length, "row")}.`;
  announce(text);
  steps.replaceChildren(
    toNotice(
      stop === undefined ? "info" : "error",
      `${stop === undefined ? "" : `${stop}. `}${text}`,
    ),
  );
  if (kept.length > 0) {
    const more = kept.length - MAX_NAMED;
    const named = [
      ...kept.slice(0, MAX_NAMED),
      ...(more > 0 ? [`and ${inDigits(more)} more`] : []),
    ];
    steps.append(toNotice("error", `${count(kept.length, "row")} kept.`, named));
  }
  if (removed > 0) removal.onRemoved();
  if (stop !== undefined) offerRemoval(steps, { ...removal, rows: [...left] });
}
