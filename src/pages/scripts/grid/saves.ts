/**
 * Saves edited cells one after another, so that the user can continue to type. A rejected edit keeps its text, and the edits
 * after it are saved. Without a response, all edits wait for Retry.
 *
 * @module
 */
import { type ListedRow, textOf } from "../../rows/row.ts";
import { type Rejected, toMessages } from "../data.ts";
import { hideSaveState, showNotSaved, showSaved } from "../save_state.ts";
import { readKnown, showRow } from "./rows.ts";
import { fetchRow, patchRow, readLabels, toListed } from "./store.ts";
import { findColumn, type Input, toValue } from "./values.ts";

export type CellName = { readonly rowId: string; readonly column: string };

export type Edit = CellName & {
  /** The text in the cell until the value is stored. */
  readonly text: string;
  readonly input: Input;
  /** The row when the edit began: a newer value of another user is not overwritten. */
  readonly from: Promise<ListedRow | undefined>;
  issues?: readonly string[];
  /** Whether another user has changed the value since. */
  isOutdated?: boolean;
  /** Whether the edit was sent before. */
  readonly isAgain?: boolean;
};

type SaveEvents = {
  /** Displays the edit in its cell: waiting, or not stored. */
  readonly show: (edit: Edit, state: "waiting" | "failed") => void;
  /** Opens an edit that was not stored. Returns how to send it again; `undefined` if the user is busy elsewhere. */
  readonly open: (edit: Edit) => (() => void) | undefined;
};

type Saves = {
  readonly add: (edit: Edit) => void;
  /** Resolves when no edit of the row is being saved, or all wait for Retry. */
  readonly settle: (rowId: string) => Promise<void>;
  /** Removes an edit that was not stored and returns it. */
  readonly removeFailed: (cell: CellName) => Edit | undefined;
};

type Sent =
  | { readonly kind: "stored"; readonly row: ListedRow; readonly before: ListedRow }
  | { readonly kind: "same"; readonly row: ListedRow }
  | { readonly kind: "rejected"; readonly issues: readonly string[]; readonly isOutdated?: boolean }
  | { readonly kind: "lost"; readonly reason: string };

const OUTDATED =
  "Another user changed this row while you had it open. Save again to overwrite the stored value, or cancel.";
const GONE = { kind: "rejected", issues: ["The row does not exist any more."] } as const;

export function makeSaves({ show, open }: SaveEvents): Saves {
  const waiting: Edit[] = [];
  const failed: Edit[] = [];
  let isRunning = false;
  let isPaused = false;
  let listeners: (() => void)[] = [];

  const isSame = (cell: CellName) => (edit: Edit) =>
    edit.rowId === cell.rowId && edit.column === cell.column;
  const notify = () => {
    const called = listeners;
    listeners = [];
    for (const listener of called) listener();
  };

  addEventListener("beforeunload", (event) => {
    if (waiting.length + failed.length > 0) event.preventDefault();
  });

  async function run(): Promise<void> {
    if (isRunning || isPaused) return;
    isRunning = true;
    for (let edit = waiting[0]; edit !== undefined && !isPaused; edit = waiting[0]) {
      hideSaveState();
      const sent = await sendEdit(edit);
      if (sent.kind === "lost") pause(edit, sent.reason);
      else {
        waiting.shift();
        if (sent.kind === "stored") finish(edit, sent.row, sent.before);
        else if (sent.kind === "same") showRow(sent.row);
        else fail(edit, sent);
      }
      notify();
    }
    isRunning = false;
    const last = failed.at(-1);
    if (last !== undefined && !isPaused) openFailed(last);
  }

  function finish(edit: Edit, row: ListedRow, before: ListedRow): void {
    showRow(row);
    for (const other of [...waiting, ...failed])
      if (other.rowId === edit.rowId) show(other, failed.includes(other) ? "failed" : "waiting");
    showSaved("Saved", { name: "Undo", run: () => void undo(edit, row, before) });
  }

  function fail(edit: Edit, { issues, isOutdated = false }: Sent & { kind: "rejected" }): void {
    edit.issues = issues;
    edit.isOutdated = isOutdated;
    failed.push(edit);
    show(edit, "failed");
  }

  function openFailed(edit: Edit): void {
    showNotSaved(edit.issues?.join(" ") ?? "");
    if (failed.includes(edit) && open(edit) !== undefined) failed.splice(failed.indexOf(edit), 1);
  }

  function pause(edit: Edit, reason: string): void {
    isPaused = true;
    show(edit, "failed");
    const resume = () => {
      isPaused = false;
      void run();
    };
    // Typed text stays in its cell, and the texts after it wait.
    const again = "state" in edit.input ? open(edit) : undefined;
    if (again !== undefined) waiting.shift();
    showNotSaved(reason, { name: "Retry", run: again ?? resume });
  }

  /** Restores the value from before a saved edit, if the row has not changed since. */
  async function undo(edit: Edit, row: ListedRow, before: ListedRow): Promise<void> {
    const { rowId, column } = edit;
    await settle(rowId);
    const answer = await patchRow(row, toBody(column, textOf(before.row, column)));
    if (answer.kind === "lost")
      return showNotSaved(answer.reason, {
        ...{ name: "Retry", run: () => void undo(edit, row, before) },
      });
    if (answer.kind === "rejected") {
      const isChanged = answer.code === "precondition_failed";
      return showNotSaved(isChanged ? "the row has changed since." : toMessages(answer).join(" "));
    }
    showRow(toListed(answer.text));
    showSaved("Undone");
  }

  function settle(rowId: string): Promise<void> {
    const before = waiting.filter((edit) => edit.rowId === rowId);
    return new Promise((resolve) => {
      const check = (): void => {
        if (isPaused || !before.some((edit) => waiting.includes(edit))) resolve();
        else listeners.push(check);
      };
      check();
    });
  }

  return {
    add: (edit) => {
      show(edit, "waiting");
      // An edit that was sent before is older than the others.
      if (edit.isAgain === true) waiting.splice(isRunning ? 1 : 0, 0, edit);
      else waiting.push(edit);
      isPaused = false;
      void run();
    },
    settle,
    removeFailed: (cell) => {
      const position = failed.findIndex(isSame(cell));
      return position === -1 ? undefined : failed.splice(position, 1)[0];
    },
  };
}

export function toBody(column: string, json: string): string {
  return `{${JSON.stringify(column)}:${json}}`;
}

/** Writes the value, also over changes of other columns, but not over another value of the same column. */
async function sendEdit({ rowId, column: name, from, input }: Edit): Promise<Sent> {
  const before = await from;
  const column = findColumn(name);
  let current = await readKnown(rowId);
  if (current === undefined || before === undefined || column === undefined) return GONE;
  const value = await toValue(column, input, before.row);
  if ("issue" in value) return { kind: "rejected", issues: [value.issue] };
  for (let isFresh = false; ; isFresh = true) {
    const text = textOf(current.row, name);
    if (text !== textOf(before.row, name))
      return { kind: "rejected", issues: [OUTDATED], isOutdated: true };
    if (text === value.json && isFresh) return { kind: "same", row: current };
    if (text !== value.json) {
      const answer = await patchRow(current, toBody(name, value.json));
      if (answer.kind === "lost") return answer;
      if (answer.kind === "done") {
        const row = toListed(answer.text);
        await readLabels([row]);
        return { kind: "stored", row, before: current };
      }
      if (answer.code !== "precondition_failed")
        return { kind: "rejected", issues: toIssues(answer, name) };
    }
    const fresh = await fetchRow(rowId);
    if (fresh === undefined) return GONE;
    if ("kind" in fresh) {
      if (fresh.kind === "lost") return fresh;
      return { kind: "rejected", issues: fresh.kind === "rejected" ? toMessages(fresh) : [] };
    }
    current = fresh;
  }
}

/** The issues of the column; those of the whole row if there are none. */
function toIssues(rejected: Rejected, column: string): string[] {
  const own = rejected.details.filter(({ path }) => path.split("/")[1] === column);
  return own.length > 0 ? own.map(({ message }) => message) : toMessages(rejected);
}
