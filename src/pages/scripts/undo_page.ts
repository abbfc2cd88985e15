/**
 * The script of the page of an import: its undo, step by step, with its progress. Stopped or interrupted, it continues where it was:
 * what is undone is not undone again.
 *
 * @module
 */
import { type Kept, nameWritten, type UndoAnswer } from "../../rows/mod.ts";
import { inDigits, showCount } from "../../std/count.ts";
import { toRowPath } from "../rows/cells.tsx";
import { callPatiently } from "./data.ts";
import { element } from "./dom.ts";
import { addButton, count, makeProgress, toNotice } from "./import/parts.ts";

type Task = {
  /** The address of the table's data. */
  readonly url: string;
  /** The address of the table's pages. */
  readonly path: string;
  readonly of: string;
  /** The changed rows of the import. */
  readonly rows: number;
};

for (const place of document.querySelectorAll<HTMLElement>("[data-undo]")) start(place);

function start(place: HTMLElement): void {
  const task = JSON.parse(place.dataset["undo"] ?? "") as Task;
  const form = place.querySelector("form");
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const { act, before } = Object.fromEntries(new FormData(form)) as Record<string, string>;
    // The notice of an earlier part.
    for (const notice of document.querySelectorAll("main .notice")) notice.remove();
    const done = { act, before: before === undefined ? undefined : Number(before), kept: [] };
    void run(place, task, { ...done, total: { created: 0, changed: 0, deleted: 0 } });
  });
}

type Done = {
  readonly act: string | undefined;
  readonly before: number | undefined;
  readonly total: UndoAnswer["total"];
  readonly kept: readonly Kept[];
};

async function run(place: HTMLElement, task: Task, begun: Done): Promise<void> {
  let done = begun;
  let isStopped = false;
  const toText = () => `${inDigits(countDone(done))} of ${count(task.rows, "row")}`;
  const progress = makeProgress(task.rows, `Undoing: ${toText()}`, "Rows undone");
  place.replaceChildren(progress.line);
  addButton(
    place,
    "Stop",
    async () => {
      isStopped = true;
      progress.show(countDone(done), "Stopping…");
    },
    "quiet",
  ).focus();
  for (;;) {
    const { act, before } = done;
    const about = {
      of: task.of,
      ...(act === undefined ? {} : { act }),
      ...(before === undefined ? {} : { before }),
    };
    const body = JSON.stringify({ step: "undo", about });
    const answer = await callPatiently(`${task.url}/imports`, { method: "POST", body });
    if (answer.kind !== "done") {
      const why = answer.kind === "lost" ? answer.reason : answer.message;
      return showRest(place, task, { done, why });
    }
    const step = JSON.parse(answer.text) as UndoAnswer;
    const { total, kept, rest } = step;
    done = { act: step.act, before: rest?.before, total, kept: [...done.kept, ...kept] };
    if (rest === undefined) return showDone(place, task, done);
    if (rest.why !== undefined || isStopped)
      return showRest(place, task, { done, why: rest.why ?? "" });
    progress.show(countDone(done), `Undoing: ${toText()}`);
  }
}

function countDone({ total, kept }: Done): number {
  return total.created + total.changed + total.deleted + kept.length;
}

function showDone(place: HTMLElement, task: Task, { total, kept }: Done): void {
  const text = `Undone: ${nameWritten(total)}.`;
  place.replaceChildren(toNotice("info", text), ...renderKept(task, kept));
}

function showRest(place: HTMLElement, task: Task, { done, why }: { done: Done; why: string }) {
  const text = `Undone in part: ${nameWritten(done.total)}.`;
  place.replaceChildren(toNotice("info", text), ...renderKept(task, done.kept));
  if (why !== "") place.append(toNotice("error", `The undo stopped: ${why}`));
  addButton(place, "Continue", () => run(place, task, done), "danger").focus();
}

/** Max named rows. */
const MAX_NAMED = 200;

function renderKept({ path }: Task, kept: readonly Kept[]): HTMLElement[] {
  if (kept.length === 0) return [];
  const lines = kept.slice(0, MAX_NAMED).map(({ id, label, why }) => {
    const link = element("a", { href: `${toRowPath(path, id)}/history` });
    link.append(element("bdi", {}, label));
    return element("li", {}, link, `: ${why}`);
  });
  const rest = kept.length - MAX_NAMED;
  if (rest > 0) lines.push(element("li", {}, `and ${inDigits(rest)} more`));
  const title = showCount(inDigits(kept.length), "row stays as it is", "rows stay as they are");
  const notice = toNotice("error", `${title}:`);
  notice.append(element("ul", {}, ...lines));
  return [notice];
}
