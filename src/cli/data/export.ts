/** `rowhouse data export`: writes the rows of a table to standard output or a file, page by page. @module */

import { open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { FILE_FORMATS, type FileFormat, makeRowsWriter, type RowsWriter } from "../../rows/mod.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import { errorCode } from "../../std/network.ts";
import {
  type Arguments,
  type CommandResult,
  EXIT,
  type ExitCode,
  RejectedError,
  type Setting,
  UsageError,
} from "../command.ts";
import { type App, listAll, openApp } from "./app.ts";

export async function runExport(setting: Setting): Promise<CommandResult | ExitCode> {
  const { args, folder, terminal } = setting;
  const [name = ""] = args.positionals;
  const format = readFormat(args) ?? "csv";
  const isInert = args.has("spreadsheet");
  if (isInert && format !== "csv") throw new UsageError("Flag --spreadsheet requires --format csv");
  const output = args.text("output");
  const app = await openApp(setting, "data:read");
  const table = app.findTable(name);
  const task = { app, table, writer: makeRowsWriter(table, format, { isInert }) };
  if (output === undefined) {
    // Wait for slow readers, so that rows do not accumulate in memory. The process reports a failed write.
    await writeRows(task, async (text) => {
      terminal.printData(text);
      return (await terminal.flush()) === undefined;
    });
    return EXIT.done;
  }
  const rows = await writeFile(resolve(folder, output), output, (write) => writeRows(task, write));
  return { lines: [`Wrote ${showCount(rows, "row")} of ${name} to ${output}`] };
}

type ExportTask = { app: App; table: TableDefinition; writer: RowsWriter };
/** Returns whether to continue. */
type Write = (text: string) => Promise<boolean>;

async function writeRows({ app, table, writer }: ExportTask, write: Write): Promise<number> {
  let written = 0;
  let { start } = writer;
  for await (const rows of listAll(app, table.name)) {
    written += rows.length;
    if (!(await write(start + rows.map(({ texts }) => writer.toText(texts)).join("")))) break;
    start = "";
  }
  return written;
}

/** Replaces the file once it is complete. @throws {RejectedError} it cannot be written */
async function writeFile(
  path: string,
  name: string,
  writeAll: (write: Write) => Promise<number>,
): Promise<number> {
  const existing = await stat(path).catch(() => undefined);
  // A pipe or a device, such as /dev/stdout, cannot be replaced.
  if (existing?.isFile() === false) return await writeTo(path, name, writeAll);
  const target = existing === undefined ? path : await realpath(path);
  const temporary = join(dirname(target), `.${basename(target)}.${process.pid}.tmp`);
  try {
    const rows = await writeTo(temporary, name, writeAll, existing?.mode);
    await rename(temporary, target).catch(toRejection(name));
    return rows;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeTo(
  path: string,
  name: string,
  writeAll: (write: Write) => Promise<number>,
  mode?: number,
): Promise<number> {
  const file = await open(path, "w", mode).catch(toRejection(name));
  try {
    return await writeAll(async (text) => {
      await file.writeFile(text).catch(toRejection(name));
      return true;
    });
  } finally {
    await file.close();
  }
}

function toRejection(name: string): (error: unknown) => never {
  return (error) => {
    throw new RejectedError(`Cannot write ${name} (${errorCode(error) ?? "unknown error"})`);
  };
}

/** The value of `--format`; `undefined` without the flag. */
export function readFormat(args: Arguments): FileFormat | undefined {
  const text = args.text("format");
  const format = FILE_FORMATS.find((format) => format === text);
  if (text === undefined || format !== undefined) return format;
  throw new UsageError(`Cannot read --format: must be one of ${FILE_FORMATS.join(", ")}`);
}
