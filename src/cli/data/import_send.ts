/**
 * Sends a checked file in batches. The idempotency key of a batch is derived from the file, so a repeated command does not store
 * rows twice.
 *
 * @module
 */

import { type Detail, Problem } from "../../problem.ts";
import {
  type Batch,
  type DayOrder,
  describeStored,
  type FaultList,
  type FileFormat,
  findLostColumns,
  type LineIssue,
  type Mapping,
  type Match,
  makeBatcher,
  makeFaultList,
  makeRowsReader,
  makeSource,
  type RowsRead,
  type RowsReader,
  readChunks,
  showFaultLines,
} from "../../rows/mod.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import { MAX_BATCH } from "../../std/limits.ts";
import { EXIT, RejectedError, type Setting } from "../command.ts";
import type { App } from "./app.ts";

// The task of an import. Its file is read in chunks, once per pass.

type RowsFile = {
  path: string;
  format: FileFormat;
  table: TableDefinition;
  mapping: Mapping;
  matches: ReadonlyMap<string, Match>;
  /** The name of the encoding; `undefined` for UTF-8. */
  encoding: string | undefined;
  /** Whether the texts have apostrophes of an export for spreadsheets; `undefined` if its mark decides. */
  isProtected: boolean | undefined;
  /** The order of days such as 01/10/2026; `undefined` if the file has to show it. */
  dayOrder: DayOrder | undefined;
  /** Whether lines that repeat an earlier one are skipped. */
  skipsDuplicates: boolean;
  /** Whether rows can exist, so that they need no required column. */
  isUpdate: boolean;
};

export type ImportTask = {
  app: App;
  table: string;
  /** The file path as typed. */
  name: string;
  fromLine: number;
  /** Empty, or a random text that makes the keys of this run unique. */
  run: string;
  file: RowsFile;
  setting: Setting;
};

/** The limits of a request, as the service has them. */
export function limitsOf({ app }: ImportTask): { rows: number; bytes: number } {
  return { rows: MAX_BATCH, bytes: app.maxBatchBytes };
}

export function makeFileReader({ format, isProtected, ...options }: RowsFile): RowsReader {
  return makeRowsReader(makeSource(format, { isProtected }), options);
}

/** The rows and errors of a file; `onBytes` receives the bytes. */
export function readRowsFile(
  file: RowsFile,
  reader = makeFileReader(file),
  onBytes: (bytes: Uint8Array) => void = () => undefined,
): AsyncGenerator<RowsRead, void> {
  const pass = async function* () {
    for await (const bytes of Bun.file(file.path).stream()) {
      onBytes(bytes);
      yield bytes;
    }
  };
  return readChunks(pass(), reader, file.encoding);
}

/** The result of checking a file. */
export type Checked = { digest: string; rows: number; batches: number; skipped: number };

/** Sends a checked file; returns how many rows an earlier run had stored. */
export async function sendFile(task: ImportTask, { digest, rows }: Checked): Promise<number> {
  const batcher = makeBatcher(limitsOf(task));
  const progress = { number: 0, stored: 0, replayed: 0 };
  const stop = task.setting.terminal.spin(
    () => `Storing: ${progress.stored} of ${showCount(rows, "row")}`,
  );
  const send = async (batches: readonly Batch[]) => {
    for (const batch of batches) {
      const key = toKey([digest, task.table, task.fromLine, task.run, progress.number++]);
      const isReplay = await sendBatch(task, { batch, key, stored: progress.stored });
      progress.stored += batch.lines.length;
      if (isReplay) progress.replayed += batch.lines.length;
    }
  };
  try {
    for await (const read of readRowsFile(task.file)) {
      if (read.issues.length > 0) throw hasChanged(task);
      for (const row of read.rows) if (row.line >= task.fromLine) await send(batcher.add(row).full);
    }
    await send(batcher.end());
  } finally {
    stop();
  }
  if (progress.stored !== rows) throw hasChanged(task);
  return progress.replayed;
}

/** The file is not the one that was checked. */
export function hasChanged({ name }: ImportTask): RejectedError {
  return new RejectedError(`${name} has changed since it was checked: run the command again`);
}

function toKey(parts: readonly (string | number)[]): string {
  return `import-${Bun.CryptoHasher.hash("sha256", parts.join("\n"), "hex")}`;
}

type SentBatch = { batch: Batch; key: string; stored: number };

/** Whether an earlier run had stored the batch. */
async function sendBatch(task: ImportTask, { batch, key, stored }: SentBatch): Promise<boolean> {
  const request = {
    path: task.table,
    body: batch.body,
    headers: { "idempotency-key": key },
  };
  try {
    const { headers, body } = await task.app.call(request);
    const lost = findLostColumns(batch.body, body);
    if (lost.length > 0) throw explainLost(lost, task, { batch, stored });
    return headers.get("idempotency-replayed") === "true";
  } catch (error) {
    if (error instanceof LostColumnsError) throw error;
    throw explainStop(error, task, { batch, stored });
  }
}

/** A column of the file was renamed or dropped during the import. */
export class LostColumnsError extends RejectedError {
  constructor(lost: readonly string[], { table }: Pick<ImportTask, "table">, advice: string) {
    const message = `The import stopped: ${table} no longer has ${lost.join(", ")}. ${advice}`;
    super(message, EXIT.rejected, { code: "unknown_column" });
  }
}

function explainLost(
  lost: readonly string[],
  task: ImportTask,
  { batch: { lines }, stored }: Pick<SentBatch, "batch" | "stored">,
): LostColumnsError {
  const [first = 1, last = first] = [lines[0], lines.at(-1)];
  return new LostColumnsError(
    lost,
    task,
    `${showCount(stored + lines.length, "row")} stored, from line ${first} to line ${last} without these values, which you can add with an update. Continue with --from-line ${last + 1}, and name the new column with --map`,
  );
}

/** Adds to the error which rows are stored and how to resume. */
function explainStop(
  error: unknown,
  { name }: ImportTask,
  { batch, stored }: Pick<SentBatch, "batch" | "stored">,
): unknown {
  const [line = 1] = batch.lines;
  if (!(error instanceof RejectedError || error instanceof Problem)) return error;
  const isUnknown =
    error instanceof Problem ? error.status >= 500 : error.exitCode === EXIT.unreachable;
  const rows = isUnknown ? "unknown" : "not stored";
  const state = describeStored({ stored, lines: batch.lines, rows });
  const again = `${error.message}\n${state} Repeat the command to continue: no row is stored twice`;
  if (error instanceof RejectedError) return Object.assign(error, { message: again });
  if (isUnknown) return new RejectedError(again, EXIT.rejected, { code: error.code });
  if (error.code === "idempotency_mismatch")
    return new RejectedError(
      `An earlier import of this file sent other values: its mapping, the referenced rows or the limit of the service have changed. ${state} To send them with the current values, add --from-line ${line}`,
      EXIT.rejected,
      { code: error.code },
    );
  return rejectBatch(error, {
    ...{ name, batch },
    advice: `${state} Correct the file and continue with --from-line ${line}`,
  });
}

/** The service's error about a batch, with the lines of the file. */
export function rejectBatch(
  error: Problem,
  { name, batch, advice }: { name: string; batch: Batch; advice: string },
): RejectedError {
  const details = (error.details ?? []).map((detail) => toLineDetail(detail, batch));
  const lines = details.map(
    ({ path, message }) => `  ${name}:${path.slice(1).replace("/", ": ")}: ${message}`,
  );
  return new RejectedError([error.message, ...lines, advice].join("\n"), EXIT.rejected, {
    code: error.code,
    details,
  });
}

/** Translates the path of a detail, such as `/3/title`, to the line of the file. */
function toLineDetail({ path, message }: Detail, { lines }: Batch): Detail {
  const [, index = "", ...rest] = path.split("/");
  const line = lines[Number(index)];
  return line === undefined ? { path, message } : { path: ["", line, ...rest].join("/"), message };
}

type IssueReport = {
  add: (issue: LineIssue) => void;
  /** @throws {RejectedError} an error was added; its message ends with the advice */
  throwAny: (advice?: string) => void;
};

/** Prints errors in groups; with `--json` collects all for one document. */
export function makeIssueReport({ name, setting: { args, terminal } }: ImportTask): IssueReport {
  const details: Detail[] = [];
  const list = makeFaultList();
  return {
    add: (issue) => {
      const { line, column, message } = issue;
      list.add(issue);
      const path = column === undefined ? `/${line}` : `/${line}/${column}`;
      if (args.has("json")) details.push({ path, message });
    },
    throwAny: (advice = "") => {
      const count = list.count();
      if (count === 0) return;
      if (!args.has("json")) for (const line of showFaults(name, list)) terminal.warn(line);
      const message = `Nothing was stored: ${name} has ${showCount(count, "error")}${advice}`;
      throw new RejectedError(message, EXIT.rejected, { code: "validation_failed", details });
    },
  };
}

function showFaults(name: string, list: FaultList): string[] {
  const faults = list.faults();
  const shown = faults.map((fault) => {
    const { lines, column, message, count } = fault;
    const of = column === undefined ? "" : `${column}: `;
    return `${name}:${lines[0]}: ${of}${message}${count > 1 ? ` (${showFaultLines(fault)})` : ""}`;
  });
  const more = list.count() - faults.reduce((sum, { count }) => sum + count, 0);
  return more === 0 ? shown : [...shown, `${name}: and ${showCount(more, "more error")}`];
}
