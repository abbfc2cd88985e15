/** `rowhouse data import`: reads a file twice, first to check it, then to send it. @module */

import { resolve } from "node:path";
import {
  DAY_ORDERS,
  type DayOrder,
  type DaysFound,
  decideDayOrder,
  ENCODINGS,
  findFormat,
  hasUniques,
  type Mapping,
  type Match,
  makeBatcher,
  makeMapping,
  readMatch,
} from "../../rows/mod.ts";
import type { NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import {
  type Arguments,
  type CommandResult,
  RejectedError,
  type Setting,
  UsageError,
} from "../command.ts";
import { readWhole } from "../settings.ts";
import { type App, listAll, openApp } from "./app.ts";
import { readFormat } from "./export.ts";
import {
  type Checked,
  type ImportTask,
  limitsOf,
  makeFileReader,
  makeIssueReport,
  readRowsFile,
  sendFile,
} from "./import_send.ts";
import { checkCanSync, readSyncOptions, syncFile } from "./sync.ts";

// References whose values in the file are those of a unique column: looks up their ids in the
// table.

const EXPECTED = "must be column=table.column, such as project=projects.name";

/** @throws {UsageError} a text is not column=table.column, or its columns cannot be matched */
async function readMatches(
  app: App,
  table: TableDefinition,
  texts: readonly string[],
): Promise<ReadonlyMap<string, Match>> {
  const planned = texts.map((text) => planMatch(app, table, text));
  const matches = new Map<string, Match>();
  for (const { reference, target, column } of planned) {
    if (matches.has(reference))
      throw new UsageError(`Flag --match is given twice for ${reference}: must be given once`);
    matches.set(reference, await readMatch(column, listValues(app, target)));
  }
  return matches;
}

type Plan = { reference: string; target: string; column: NamedColumn };

function planMatch(app: App, table: TableDefinition, text: string): Plan {
  const [, reference = "", target = "", name = ""] =
    /^([^=.]+)=([^=.]+)\.([^=.]+)$/.exec(text) ?? [];
  if (reference === "") throw new UsageError(`Cannot read --match ${text}: ${EXPECTED}`);
  const source = table.columns.find((column) => column.name === reference);
  if (source?.table === undefined)
    throw new UsageError(`Cannot match ${reference}: it is not a reference of ${table.name}`);
  if (source.table !== target)
    throw new UsageError(`Cannot match ${reference} by ${target}: it references ${source.table}`);
  const column = app.findTable(target).columns.find((column) => column.name === name);
  if (column?.unique !== true)
    throw new UsageError(`Cannot match by ${target}.${name}: it is not a unique column`);
  return { reference, target, column };
}

async function* listValues(app: App, table: string) {
  for await (const rows of listAll(app, table)) yield rows.map(({ values }) => values);
}

const MAX_LINE = 999_999_999;

export async function runImport(setting: Setting): Promise<CommandResult> {
  const { args, folder } = setting;
  const [name = "", path = ""] = args.positionals;
  const format = readFormat(args) ?? findFormat(path);
  if (format === undefined)
    throw new UsageError(
      `Cannot determine the format of ${path} from its name: add --format, or save a sheet of a spreadsheet as CSV`,
    );
  const encoding = readEncoding(args);
  const file = resolve(folder, path);
  if (!(await Bun.file(file).exists())) throw new RejectedError(`File not found: ${path}`);
  const fromLine = args.text("from-line");
  const app = await openApp(setting, "data:write");
  const table = app.findTable(name);
  const sync = readSyncOptions(args, table);
  if (sync !== undefined) checkCanSync({ app, table: name });
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
      encoding,
      isProtected: args.has("spreadsheet") || undefined,
      dayOrder: readDayOrder(args),
      skipsDuplicates: args.has("skip-duplicates"),
      isUpdate: sync !== undefined,
    },
    setting,
  };
  const checked = await checkFile(task);
  if (checked.skipped > 0)
    setting.terminal.warn(`Skipped ${showCount(checked.skipped, "duplicate line")}`);
  if (sync !== undefined) return await syncFile(task, checked, sync);
  const dryRun = args.has("dry-run");
  const replayed = dryRun ? 0 : await sendFile(task, checked);
  const { rows, batches } = checked;
  return {
    document: { table: table.name, rows, batches, replayed, dryRun },
    lines: [describe(table, { rows, replayed, dryRun })],
  };
}

/** @throws {UsageError} no encoding has the name in `--encoding` */
function readEncoding(args: Arguments): string | undefined {
  const name = args.text("encoding");
  try {
    return name === undefined ? undefined : new TextDecoder(name).encoding;
  } catch {
    const names = ENCODINGS.map(({ name }) => name).join(", ");
    throw new UsageError(`Cannot read --encoding ${name}: must be an encoding, such as ${names}`);
  }
}

/** @throws {UsageError} `--dates` is no order of days */
function readDayOrder(args: Arguments): DayOrder | undefined {
  const text = args.text("dates");
  if (text === undefined || text === "dmy" || text === "mdy") return text;
  throw new UsageError(`Cannot read --dates ${text}: must be ${CHOICES}`);
}

type Imported = { rows: number; replayed: number; dryRun: boolean };

function describe(table: TableDefinition, { rows, replayed, dryRun }: Imported): string {
  const count = showCount(rows, "row");
  const later = hasUniques(table) ? "; duplicates of stored rows are found while storing" : "";
  if (dryRun)
    return `Checked ${count} for ${table.name}: no errors in the file${later}. Nothing was sent`;
  const before =
    replayed === 0
      ? ""
      : `, ${replayed} of them in an earlier run; to store those again, add --again`;
  return `Stored ${count} in ${table.name}${before}`;
}

function readMapping(table: TableDefinition, args: Arguments): Mapping {
  const map = new Map<string, string>();
  for (const text of args.texts("map")) {
    // A name in the file can contain "=", a column cannot.
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

const CHOICES = "dmy (day.month.year) or mdy (month/day/year)";

/** Checks the file again if it shows the order of its days. @throws {RejectedError} the file has errors; all are printed */
async function checkFile(task: ImportTask): Promise<Checked> {
  const issues = makeIssueReport(task);
  const { days, ...checked } = await readOnce(task, issues);
  const order = decideDayOrder(days);
  if (order !== undefined) {
    const shown = `Reads dates as ${DAY_ORDERS[order]}, because of ${days[order]}; --dates chooses another order`;
    task.setting.terminal.warn(shown);
    task.file.dayOrder = order;
    return await checkFile(task);
  }
  issues.throwAny(Object.keys(days).length === 0 ? "" : `. Choose --dates ${CHOICES}`);
  return checked;
}

/** One pass of the file. */
async function readOnce(
  task: ImportTask,
  issues: ReturnType<typeof makeIssueReport>,
): Promise<Checked & { days: DaysFound }> {
  const { setting } = task;
  const reader = makeFileReader(task.file);
  const hasher = new Bun.CryptoHasher("sha256");
  const hash = (bytes: Uint8Array) => void hasher.update(bytes);
  const batcher = makeBatcher(limitsOf(task));
  let [rows, batches] = [0, 0];
  const stop = setting.terminal.spin(() => `Checking: ${showCount(rows, "row")}`);
  try {
    for await (const read of readRowsFile(task.file, reader, hash)) {
      for (const issue of read.issues) issues.add(issue);
      for (const row of read.rows) {
        if (row.line < task.fromLine) continue;
        rows++;
        const { full, issue } = batcher.add(row);
        batches += full.length;
        if (issue !== undefined) issues.add(issue);
      }
    }
  } finally {
    stop();
  }
  const digest = hasher.digest("hex");
  batches += batcher.end().length;
  return { digest, rows, batches, skipped: reader.skipped(), days: reader.days() };
}
