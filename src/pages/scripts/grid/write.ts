/**
 * Writes several rows: each only if it has not changed since it was read. Creates rows in their order, each once, also if a request
 * is repeated. One request for many rows; one each if that fails.
 *
 * @module
 */
import { mapBounded } from "../../../std/map_bounded.ts";
import { type ListedRow, textOf } from "../../rows/row.ts";
import { callPatiently, type Rejected, startAct, toMessages } from "../data.ts";
import { deleteRow, keepWritten, patchRow, readRows, tagOf, toRows, toUrl } from "./store.ts";

type Values = ReadonlyMap<string, string>;
/** New values of a stored row, as JSON text by column. */
type Update = { readonly row: ListedRow; readonly values: Values };
/** Without a row, the values of a new one. */
export type Change = Update | { readonly row: undefined; readonly values: Values };

/** The result for a row: without a reason, it was written. */
export type Result = {
  readonly change: Change;
  readonly row?: ListedRow;
  readonly reason?: string;
  /** The error code of a rejection. */
  readonly code?: string;
};

type Act = ReturnType<typeof startAct>;

/** Max rows of one change. */
export const MAX_CHANGED = 500;
const MAX_CALLS = 8;
const MAX_CALL_ROWS = 100;
/** A body has at most 100 KB. */
const MAX_CHARS = 40_000;

export async function writeChanges(
  changes: readonly Change[],
  onProgress: (done: number) => void,
  act: Act = startAct(),
): Promise<Result[]> {
  const results: Result[] = [];
  for (const group of toGroups(changes.filter(isUpdate))) {
    results.push(...((await writeTogether(group, act)) ?? (await writeEach(group, act))));
    onProgress(results.length);
  }
  for (const group of toNewGroups(changes.filter((change) => !isUpdate(change)))) {
    results.push(...(await createRows(group, act)));
    onProgress(results.length);
  }
  return results;
}

function isUpdate(change: Change): change is Update {
  return change.row !== undefined;
}

function toGroups<Each extends Change>(changes: readonly Each[]): Each[][] {
  const groups: Each[][] = [];
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

/** Rows that one request creates, with its idempotency key. */
type NewGroup = { readonly changes: readonly Change[]; readonly key: string };

/** The groups of requests without a response: they are sent again as they were, so that no row is created twice. */
const unanswered = new Map<Change, NewGroup>();

function toNewGroups(changes: readonly Change[]): NewGroup[] {
  const again = new Set(changes.flatMap((change) => unanswered.get(change) ?? []));
  const others = changes.filter((change) => !unanswered.has(change));
  return [...again, ...toGroups(others).map(toNewGroup)];
}

function toNewGroup(changes: readonly Change[]): NewGroup {
  return { changes, key: crypto.randomUUID() };
}

/** All rows in their order. A rejected row is left out, and the others are sent again. */
async function createRows(group: NewGroup, act: Act): Promise<Result[]> {
  const { changes, key } = group;
  const body = `[${changes.map(({ values }) => toObject(values))}]`;
  const headers = { ...act, "idempotency-key": key };
  const answer = await callPatiently(toUrl(), { method: "POST", body, headers });
  for (const change of changes) {
    if (answer.kind === "lost") unanswered.set(change, group);
    else unanswered.delete(change);
  }
  if (answer.kind === "done") {
    const created = toRows(answer.text).map(({ text }) => keepWritten(text));
    const ids = created.map(({ row }) => row.id);
    // A stored response can have only the ids.
    const rows = answer.isReplay ? await readRows(ids, true) : created;
    return changes.map((change, index) => ({ change, ...toRow(rows, ids[index]) }));
  }
  if (answer.kind === "lost" || changes.length === 1)
    return changes.map((change) => ({ change, ...explain(answer) }));
  const failed = answer.details.map(({ path }) => changes[Number(path.split("/")[1])]);
  const isNamed = failed.length > 0 && !failed.includes(undefined);
  const results: Result[] = [];
  for (const part of isNamed
    ? [changes.filter((change) => !failed.includes(change))]
    : changes.map((change) => [change]))
    if (part.length > 0) results.push(...(await createRows(toNewGroup(part), act)));
  if (!isNamed) return results;
  const rejected = changes.filter((change) => failed.includes(change));
  return [
    ...results,
    ...rejected.map((change) => ({ change, ...explain(pick(answer, failed, change)) })),
  ];
}

function toRow(rows: readonly ListedRow[], id: string | undefined): Pick<Result, "row"> {
  const row = rows.find((listed) => listed.row.id === id);
  return row === undefined ? {} : { row };
}

/** The rejection of one row of a list. */
function pick(answer: Rejected, failed: readonly (Change | undefined)[], change: Change): Rejected {
  return { ...answer, details: answer.details.filter((_, index) => failed[index] === change) };
}

/** All rows or none; `undefined` if none was written. */
async function writeTogether(
  changes: readonly Update[],
  headers: Act,
): Promise<Result[] | undefined> {
  if (changes.length === 1) return undefined;
  const rows = await Promise.all(
    changes.map(async ({ row, values }) => {
      const head = [
        ["id", JSON.stringify(row.row.id)],
        ["ifMatch", JSON.stringify(await tagOf(row))],
      ] as const;
      return toObject([...head, ...values]);
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

async function writeEach(changes: readonly Update[], act: Act): Promise<Result[]> {
  const [first, ...rest] = changes;
  if (first === undefined) return [];
  // An error of a value can be the same for every row.
  const tried = await writeOne(first, act);
  if (tried.code === "validation_failed" && haveOneValue(changes))
    return changes.map((change) => ({ ...tried, change }));
  return [tried, ...(await mapBounded(rest, MAX_CALLS, (change) => writeOne(change, act)))];
}

function haveOneValue(changes: readonly Update[]): boolean {
  return new Set(changes.map(({ values }) => [...values].join("\n"))).size === 1;
}

async function writeOne(change: Update, act: Act): Promise<Result> {
  const answer = await patchRow(change.row, toObject(change.values), act);
  if (answer.kind === "done") return { change, row: keepWritten(answer.text) };
  return { change, ...explain(answer) };
}

function toObject(values: Iterable<readonly [name: string, json: string]>): string {
  return `{${Array.from(values, ([name, json]) => `${JSON.stringify(name)}:${json}`)}}`;
}

/** Deletes rows. A row that another user has deleted is deleted as intended. */
export function deleteRows(rows: readonly ListedRow[], act: Act = startAct()): Promise<Result[]> {
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

/** Restores the values from before, and deletes the created rows. */
export async function undoChanges(
  results: readonly Result[],
  onProgress: (done: number) => void,
): Promise<Result[]> {
  const act = startAct();
  const written = results.flatMap(({ change, row }) =>
    row === undefined ? [] : [{ change, row }],
  );
  const before = written.flatMap(({ change, row }): Update[] => {
    if (change.row === undefined) return [];
    const { row: old } = change.row;
    const names = [...change.values.keys()];
    return [{ row, values: new Map(names.map((name) => [name, textOf(old, name)])) }];
  });
  const created = written.filter(({ change }) => change.row === undefined);
  const deleted = await deleteRows(
    created.map(({ row }) => row),
    act,
  );
  return [
    ...(await writeChanges(before, onProgress, act)),
    ...deleted.flatMap((result, index) => ({ ...result, ...created[index] })),
  ];
}
