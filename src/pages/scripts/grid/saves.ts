/**
 * Saves edited cells one after another, so that the user can continue to type. A rejected edit keeps its text, and the edits
 * after it are saved. Without a response, all edits wait for Retry.
 *
 * @module
 */
import { announce } from "../dom.ts";
import {
  type ReadForm,
  readRowForm,
  renewToken,
  type SentForm,
  sendRowForm,
} from "../forms/row_form.ts";
import { hideSaveState, showNotSaved, showSaved } from "../save_state.ts";
import { type FieldState, readFieldState, restoreField } from "./fields.ts";
import { findRow, renewRow } from "./rows.ts";

/** The result of entering a value into a form. */
type Entered =
  | { readonly kind: "entered" }
  | { readonly kind: "invalid"; readonly issue: string }
  /** Nothing is saved. With `isChanged`, the user must see the stored value first. */
  | { readonly kind: "refused"; readonly reason: string; readonly isChanged: boolean };

export type CellName = { readonly rowId: string; readonly column: string };

export type Edit = CellName & {
  /** The address of the row's form. */
  readonly url: string;
  /** The text in the cell until the value is stored. */
  readonly text: string;
  /** The form that was read when the edit began: a newer value of another user is not overwritten. */
  form?: Promise<ReadForm> | undefined;
  /** Enters the value; unset if the form already has it. */
  enter?: ((form: HTMLFormElement) => Entered) | undefined;
  /** The content of the field before the edit. */
  before?: FieldState | undefined;
  /** Whether the edit was sent before. */
  isAgain?: boolean;
  issues?: readonly string[];
};

type SaveEvents = {
  /** Displays the edit in its cell: waiting, or not stored. */
  readonly show: (edit: Edit, state: "waiting" | "failed") => void;
  /** Opens an edit that was not stored, with its form. Returns how to send it again; `undefined` if the user is busy elsewhere. */
  readonly open: (edit: Edit, form: HTMLFormElement) => (() => void) | undefined;
};

type Saves = {
  readonly add: (edit: Edit) => void;
  /** Resolves when no edit of the row is being saved, or all wait for Retry. */
  readonly settle: (rowId: string) => Promise<void>;
  /** Removes an edit that was not stored and returns it. */
  readonly removeFailed: (cell: CellName) => Edit | undefined;
};

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
      const early = await edit.form;
      const read = early?.kind === "form" ? early : await readRowForm(edit.url);
      const sent = read.kind === "form" ? await send(edit, read.form) : read;
      if (sent?.kind === "lost") pause(edit, sent, read);
      else {
        waiting.shift();
        if (sent?.kind === "stored") await finish(edit, sent.page);
        else if (sent !== undefined) fail(edit, sent);
      }
      notify();
    }
    isRunning = false;
    const last = failed.at(-1);
    if (last !== undefined && !isPaused) openFailed(last);
  }

  /** `undefined` if there is nothing to save. */
  async function send(edit: Edit, form: HTMLFormElement): Promise<SentForm | undefined> {
    edit.before ??= readFieldState(form, edit.column);
    const entered = edit.enter?.(form);
    if (entered?.kind === "refused") {
      announce(entered.reason);
      if (entered.isChanged) open({ ...edit, enter: undefined, issues: [] }, form);
      await renewRow(edit.rowId);
      return undefined;
    }
    edit.form = Promise.resolve({ kind: "form", form });
    if (entered?.kind === "invalid") return { kind: "rejected", form, issues: [entered.issue] };
    edit.enter = undefined;
    return await sendRowForm(form);
  }

  async function finish(edit: Edit, page: Document): Promise<void> {
    await renewRow(edit.rowId, page);
    for (const other of [...waiting, ...failed])
      if (other.rowId === edit.rowId) show(other, failed.includes(other) ? "failed" : "waiting");
    showSaved("Saved", { name: "Undo", run: () => void undo(edit) });
  }

  function fail(edit: Edit, { form, issues }: SentForm & { kind: "rejected" }): void {
    edit.form = Promise.resolve({ kind: "form", form });
    edit.issues = issues;
    failed.push(edit);
    show(edit, "failed");
  }

  function openFailed(edit: Edit): void {
    showNotSaved(edit.issues?.join(" ") ?? "");
    void edit.form?.then((read) => {
      if (read.kind !== "form" || !failed.includes(edit)) return;
      if (open(edit, read.form) !== undefined) failed.splice(failed.indexOf(edit), 1);
    });
  }

  function pause(edit: Edit, { reason }: { reason: string }, read: ReadForm): void {
    isPaused = true;
    show(edit, "failed");
    const resume = () => {
      isPaused = false;
      void run();
    };
    const again = read.kind === "form" ? open(edit, read.form) : undefined;
    if (again !== undefined) waiting.shift();
    const renewed = async () => {
      if (read.kind === "form") await renewToken(read.form).catch(() => undefined);
      (again ?? resume)();
    };
    showNotSaved(reason, { name: "Retry", run: () => void renewed() });
  }

  /** Restores the value from before a saved edit, if the row has not changed since. */
  async function undo(edit: Edit): Promise<void> {
    const { rowId, column, url, before } = edit;
    await settle(rowId);
    const row = findRow(rowId);
    if (row === null) return showNotSaved("the row is not on this page.");
    const retry = { name: "Retry", run: () => void undo(edit) };
    const read = await readRowForm(url);
    if (read.kind === "lost") return showNotSaved(read.reason, retry);
    if (readTag(read.form) !== row.dataset["etag"])
      return showNotSaved("the row has changed since.");
    if (before !== undefined) restoreField(read.form, column, before);
    const sent = await sendRowForm(read.form);
    if (sent.kind === "lost") return showNotSaved(sent.reason, retry);
    if (sent.kind === "rejected") return showNotSaved(sent.issues.join(" "));
    await renewRow(rowId, sent.page);
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

/** The tag of the row when the form was read. */
export function readTag(form: HTMLFormElement): string | undefined {
  return form.querySelector<HTMLInputElement>('input[type="hidden"][name="etag"]')?.value;
}
