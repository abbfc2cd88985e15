/**
 * `rowhouse data import`: reads a file twice, first to check all of it, then to send it in batches. Each batch has a key that
 * follows from the file, so that a command which is repeated stores no row twice.
 *
 * @module
 */
import { resolve } from "node:path";
import { MAX_BATCH, MAX_BODY } from "../../data/pure.ts";
import type { TableDefinition } from "../../dsl/mod.ts";
import { type Detail, Problem } from "../../problem.ts";
import {
  type Batch,
  type FileFormat,
  findFormat,
  type LineFault,
  type Mapping,
  type Match,
  makeBatcher,
  makeMapping,
  makeRowsReader,
  makeSource,
  type RowsRead,
  readChunks,
} from "../../rows/mod.ts";
import {
  type Arguments,
  EXIT,
  type ExitCode,
  RefusedError,
  type Setting,
  UsageError,
} from "../cli/command.ts";
import { readWhole } from "../cli/settings.ts";
import { toDocument } from "../cli/terminal.ts";
import { type App, openApp } from "./app.ts";
import { readFormat } from "./export.ts";
import { readMatches } from "./matches.ts";

const MAX_LINE = 999_999_999;

export async function runImport(setting: Setting): Promise<ExitCode> {
  const { args, folder, terminal } = setting;
  const [name = "", path = ""] = args.positionals;
  const format = readFormat(args) ?? findFormat(path);
  if (format === undefined)
    throw new UsageError(`Cannot tell the format of ${path} by its name: give --format`);
  const file = resolve(folder, path);
  if (!(await Bun.file(file).exists())) throw new RefusedError(`There is no file ${path}`);
  const fromLine = args.text("from-line");
  const app = await openApp(setting, "data:write");
  const table = app.findTable(name);
  const task: ImportTask = {
    app,
    table: table.name,
    name: path,
    fromLine: fromLine === undefined ? 1 : readWhole("--from-line", fromLine, [1, MAX_LINE]),
    run: args.has("again") ? crypto.randomUUID() : "",
    file: {
      path: file,
      format,
      table,
      mapping: readMapping(table, args),
      matches: await readMatches(app, table, args.texts("match")),
    },
    setting,
  };
  const checked = await checkFile(task);
  const dryRun = args.has("dry-run");
  const replayed = dryRun ? 0 : await sendFile(task, checked);
  const { rows, batches } = checked;
  if (args.has("json"))
    terminal.say(toDocument({ table: table.name, rows, batches, replayed, dryRun }));
  else terminal.say(describe(table.name, { rows, replayed, dryRun }));
  return EXIT.done;
}

type RowsFile = {
  path: string;
  format: FileFormat;
  table: TableDefinition;
  mapping: Mapping;
  matches: ReadonlyMap<string, Match>;
};

type ImportTask = {
  app: App;
  table: string;
  /** The file as it was typed. */
  name: string;
  fromLine: number;
  /** Empty, or what makes the keys of this run its own. */
  run: string;
  file: RowsFile;
  setting: Setting;
};

type Imported = { rows: number; replayed: number; dryRun: boolean };

function describe(table: string, { rows, replayed, dryRun }: Imported): string {
  const count = `${rows} ${rows === 1 ? "row" : "rows"}`;
  if (dryRun) return `Checked ${count} for ${table}: no errors, nothing was sent`;
  const before =
    replayed === 0 ? "" : `, ${replayed} of them by an earlier run; --again stores them once more`;
  return `Stored ${count} in ${table}${before}`;
}

function readMapping(table: TableDefinition, args: Arguments): Mapping {
  const map = new Map<string, string>();
  for (const text of args.texts("map")) {
    // A name of the file may contain the sign, a column cannot.
    const at = text.lastIndexOf("=");
    if (at <= 0) throw new UsageError(`Cannot read --map ${text}: must be name=column`);
    map.set(text.slice(0, at), text.slice(at + 1));
  }
  try {
    return makeMapping(table, { map, skip: args.texts("skip") });
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`Cannot use --map: ${error.message}`);
    throw error;
  }
}

/** The rows and errors of a file; `onBytes` receives all that is read. */
function readRowsFile(
  { path, format, ...options }: RowsFile,
  onBytes: (bytes: Uint8Array) => void = () => undefined,
): AsyncGenerator<RowsRead, void> {
  const pass = async function* () {
    for await (const bytes of Bun.file(path).stream()) {
      onBytes(bytes);
      yield bytes;
    }
  };
  return readChunks(pass(), makeRowsReader(makeSource(format), options));
}

type Checked = { digest: string; rows: number; batches: number };

/** @throws {RefusedError} the file has errors, which are all printed */
async function checkFile(task: ImportTask): Promise<Checked> {
  const { setting } = task;
  const faults = makeFaultReport(task);
  const hasher = new Bun.CryptoHasher("sha256");
  const batcher = makeBatcher(LIMITS);
  let [rows, batches] = [0, 0];
  const stop = setting.terminal.spin(() => `Checking: ${rows} rows`);
  try {
    for await (const read of readRowsFile(task.file, (bytes) => void hasher.update(bytes))) {
      for (const fault of read.faults) faults.add(fault);
      for (const row of read.rows) {
        if (row.line < task.fromLine) continue;
        rows++;
        const { full, fault } = batcher.add(row);
        batches += full.length;
        if (fault !== undefined) faults.add(fault);
      }
    }
  } finally {
    stop();
  }
  if (faults.count() > 0)
    throw new RefusedError(
      `Nothing was stored: ${task.name} has ${faults.count()} ${faults.count() === 1 ? "error" : "errors"}`,
      EXIT.refused,
      { code: "validation_failed", details: faults.details() },
    );
  return { digest: hasher.digest("hex"), rows, batches: batches + batcher.end().length };
}

const LIMITS = { rows: MAX_BATCH, bytes: MAX_BODY };

type FaultReport = {
  add: (fault: LineFault) => void;
  count: () => number;
  details: () => Detail[];
};

/** Prints each error when it is found; with `--json` they are returned together. */
function makeFaultReport({ name, setting: { args, terminal } }: ImportTask): FaultReport {
  const details: Detail[] = [];
  let count = 0;
  return {
    add: ({ line, column, message }) => {
      count++;
      const path = column === undefined ? `/${line}` : `/${line}/${column}`;
      if (args.has("json")) details.push({ path, message });
      else terminal.warn(`${name}:${line}: ${column === undefined ? "" : `${column}: `}${message}`);
    },
    count: () => count,
    details: () => details,
  };
}

/** Sends a checked file; returns how many rows an earlier run had stored. */
async function sendFile(task: ImportTask, { digest, rows }: Checked): Promise<number> {
  const batcher = makeBatcher(LIMITS);
  const progress = { number: 0, stored: 0, replayed: 0 };
  const stop = task.setting.terminal.spin(() => `Storing: ${progress.stored} of ${rows} rows`);
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
      if (read.faults.length > 0) throw hasChanged(task);
      for (const row of read.rows) if (row.line >= task.fromLine) await send(batcher.add(row).full);
    }
    await send(batcher.end());
  } finally {
    stop();
  }
  if (progress.stored !== rows) throw hasChanged(task);
  return progress.replayed;
}

function hasChanged({ name }: ImportTask): RefusedError {
  return new RefusedError(`${name} has changed since it was checked: run the command again`);
}

function toKey(parts: readonly (string | number)[]): string {
  return `import-${Bun.CryptoHasher.hash("sha256", parts.join("\n"), "hex")}`;
}

type SentBatch = { batch: Batch; key: string; stored: number };

/** Whether an earlier run had stored the batch. */
async function sendBatch(task: ImportTask, { batch, key, stored }: SentBatch): Promise<boolean> {
  try {
    const { headers } = await task.app.call({
      path: task.table,
      body: batch.body,
      headers: { "idempotency-key": key },
    });
    return headers.get("idempotency-replayed") === "true";
  } catch (error) {
    throw explainStop(error, task, { batch, stored });
  }
}

/** What was stored when a batch was not, and how to go on. */
function explainStop(
  error: unknown,
  { name }: ImportTask,
  { batch, stored }: Pick<SentBatch, "batch" | "stored">,
): unknown {
  const [line = 1] = batch.lines;
  const state = `${stored} rows are stored, the rows from line ${line} on are not`;
  if (error instanceof RefusedError)
    return new RefusedError(
      `${error.message}\n${state}: the same command goes on from there`,
      error.exitCode,
      error.told,
    );
  if (!(error instanceof Problem)) return error;
  if (error.code === "idempotency_mismatch")
    return new RefusedError(
      `An import of the same file has sent other values: its mapping or the rows that it refers to were different. ${state}; with --from-line ${line} they are sent as they are now`,
      EXIT.refused,
      { code: error.code },
    );
  const details = (error.details ?? []).map((detail) => toLineDetail(detail, batch));
  const lines = details.map(
    ({ path, message }) => `  ${name}:${path.slice(1).replace("/", ": ")}: ${message}`,
  );
  return new RefusedError(
    [error.message, ...lines, `${state}: correct the file and go on with --from-line ${line}`].join(
      "\n",
    ),
    EXIT.refused,
    { code: error.code, details },
  );
}

/** A detail of a batch, such as `/3/title`, by the line of the file. */
function toLineDetail({ path, message }: Detail, { lines }: Batch): Detail {
  const [, index = "", ...rest] = path.split("/");
  const line = lines[Number(index)];
  return line === undefined ? { path, message } : { path: ["", line, ...rest].join("/"), message };
}
