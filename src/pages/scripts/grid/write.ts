/** Writes several rows: each only if it has not changed since it was read. One request for many rows; one each if that fails. @module */
import { mapBounded } from "../../../std/map_bounded.ts";
import { type ListedRow, textOf } from "../../rows/row.ts";
import { callPatiently, type Rejected, startAct, toMessages } from "../data.ts";
import { deleteRow, keepWritten, patchRow, tagOf, toRows, toUrl } from "./store.ts";

/** New values of a row, as JSON text by column. */
export type Change = { readonly row: ListedRow; readonly values: ReadonlyMap<string, string> };

/** The result for a row: without a reason, it was written. */
export type Result = {
  readonly change: Change;
  readonly row?: ListedRow;
  readonly reason?: string;
  /** The error code of a rejection. */
  readonly code?: string;
};

type Act = ReturnType<typeof startAct>;

const MAX_CALLS = 8;
const MAX_CALL_ROWS = 100;
/** A body has at most 100 KB. */
const MAX_CHARS = 40_000;

export async function writeChanges(
  changes: readonly Change[],
  onProgress: (done: number) => void,
): Promise<Result[]> {
  const results: Result[] = [];
  const act = startAct();
  for (const group of toGroups(changes)) {
    results.push(...((await writeTogether(group, act)) ?? (await writeEach(group, act))));
    onProgress(results.length);
  }
  return results;
}

function toGroups(changes: readonly Change[]): Change[][] {
  const groups: Change[][] = [];
  let chars = 0;
  for (const change of changes) {
    const size = [...change.values].join().length + 200;
    const last = groups.at(-1);
    if (last === undefined || last.length === MAX_CALL_ROWS || chars + size > MAX_CHARS) {
      groups.push([change]);
      chars = size;
    } else {
      last.push(change);
      chars += size;
    }
  }
  return groups;
}

/** All rows or none; `undefined` if none was written. */
async function writeTogether(
  changes: readonly Change[],
  headers: Act,
): Promise<Result[] | undefined> {
  if (changes.length === 1) return undefined;
  const rows = await Promise.all(
    changes.map(async ({ row, values }) => {
      const head = [
        ["id", JSON.stringify(row.row.id)],
        ["ifMatch", JSON.stringify(await tagOf(row))],
      ];
      return `{${[...head, ...values].map(([name, json]) => `${JSON.stringify(name)}:${json}`)}}`;
    }),
  );
  const answer = await callPatiently(toUrl(), { method: "PATCH", body: `[${rows}]`, headers });
  if (answer.kind !== "done") return undefined;
  const stored = toRows(answer.text).map(({ text }) => keepWritten(text));
  return changes.map((change, index) => {
    const row = stored[index];
    return row === undefined ? { change } : { change, row };
  });
}

async function writeEach(changes: readonly Change[], act: Act): Promise<Result[]> {
  const [first, ...rest] = changes;
  if (first === undefined) return [];
  // An error of a value can be the same for every row.
  const tried = await writeOne(first, act);
  if (tried.code === "validation_failed" && haveOneValue(changes))
    return changes.map((change) => ({ ...tried, change }));
  return [tried, ...(await mapBounded(rest, MAX_CALLS, (change) => writeOne(change, act)))];
}

function haveOneValue(changes: readonly Change[]): boolean {
  return new Set(changes.map(({ values }) => [...values].join("\n"))).size === 1;
}

async function writeOne(change: Change, act: Act): Promise<Result> {
  const members = [...change.values].map(([name, json]) => `${JSON.stringify(name)}:${json}`);
  const answer = await patchRow(change.row, `{${members}}`, act);
  if (answer.kind === "done") return { change, row: keepWritten(answer.text) };
  return { change, ...explain(answer) };
}

/** Deletes rows. A row that another user has deleted is deleted as intended. */
export function deleteRows(rows: readonly ListedRow[]): Promise<Result[]> {
  const act = startAct();
  return mapBounded(rows, MAX_CALLS, async (row) => {
    const change = { row, values: new Map() };
    const answer = await deleteRow(row, act);
    if (answer.kind === "done" || (answer.kind === "rejected" && answer.status === 404))
      return { change };
    return { change, ...explain(answer) };
  });
}

function explain(answer: Rejected | { kind: "lost"; reason: string }) {
  if (answer.kind === "lost") return { reason: answer.reason };
  const { code } = answer;
  return code === "precondition_failed"
    ? { reason: "the row has changed since", code }
    : { reason: toMessages(answer).join("; "), code };
}

/** The changes that restore the values from before. */
export function toUndo(results: readonly Result[]): Change[] {
  return results.flatMap(({ change, row }) => {
    if (row === undefined) return [];
    const names = [...change.values.keys()];
    return [{ row, values: new Map(names.map((name) => [name, textOf(change.row.row, name)])) }];
  });
}
