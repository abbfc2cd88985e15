/** `rowhouse data export`: writes the rows of a table to standard output, page by page. @module */
import { FILE_FORMATS, type FileFormat, makeRowsWriter } from "../../rows/mod.ts";
import { type Arguments, EXIT, type ExitCode, type Setting, UsageError } from "../cli/command.ts";
import { listAll, openApp } from "./app.ts";

export async function runExport(setting: Setting): Promise<ExitCode> {
  const { args, terminal } = setting;
  const [name = ""] = args.positionals;
  const format = readFormat(args) ?? "csv";
  const isInert = args.has("spreadsheet");
  if (isInert && format !== "csv") throw new UsageError("Flag --spreadsheet requires --format csv");
  const app = await openApp(setting, "data:read");
  const table = app.findTable(name);
  const writer = makeRowsWriter(table, format, { isInert });
  terminal.printData(writer.start);
  for await (const rows of listAll(app, table.name)) {
    terminal.printData(rows.map(writer.toText).join(""));
    // Wait for slow readers, so that rows do not accumulate in memory. The process reports a failed write.
    if ((await terminal.flush()) !== undefined) break;
  }
  return EXIT.done;
}

/** The value of `--format`; `undefined` without the flag. */
export function readFormat(args: Arguments): FileFormat | undefined {
  const text = args.text("format");
  const format = FILE_FORMATS.find((format) => format === text);
  if (text === undefined || format !== undefined) return format;
  throw new UsageError(`Cannot read --format: must be one of ${FILE_FORMATS.join(", ")}`);
}
