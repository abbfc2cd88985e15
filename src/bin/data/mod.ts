/** `rowhouse data …`: rows of an app's table from a file and to a file, with the app's key. @module */
import { FILE_FORMATS } from "../../rows/mod.ts";
import { type Command, type Flags, JSON_FLAG } from "../cli/command.ts";
import { PLACES_FILE } from "../db/places.ts";
import { DEV_FILE } from "../dev/file.ts";
import { runExport } from "./export.ts";
import { runImport } from "./import.ts";

const PLACE_FLAGS: Flags = {
  url: { value: "url", about: "the service's URL; default: ROWHOUSE_URL" },
  to: { value: "place", about: `a place that ${PLACES_FILE} names, such as staging` },
};

const FORMATS = FILE_FORMATS.join(" or ");

const ABOUT = `The key is read from ROWHOUSE_API_KEY, never from a flag; the key of a place from a variable of its own, such as
ROWHOUSE_API_KEY_STAGING. Without --to, --url and ROWHOUSE_URL, the service of a running rowhouse dev in this folder is
used (${DEV_FILE}).`;

export const dataCommands: readonly Command[] = [
  {
    name: "data import",
    example: `rowhouse data import todos todos.csv --dry-run
rowhouse data import todos todos.csv --map "Due date=due" --skip Remarks
rowhouse data import todos todos.ndjson --match project=projects.name`,
    about: `${ABOUT} The key needs the scope data:write, and data:read for --match.

Reads CSV (commas, semicolons or tabs; the first line has the names of the columns), NDJSON, or a JSON array. First checks the
whole file, lists all errors by line, and sends nothing if there is one. An empty field is null, or the default of a
required column; the service makes the ids. The command can be repeated for 24 hours: rows that are stored are not stored
again. What only the database finds, such as a duplicate of a stored row, stops the import: then the output names the line at which to go on.
Prints { table, rows, batches, replayed, dryRun } with --json.`,
    positionals: ["table", "file"],
    flags: {
      ...PLACE_FLAGS,
      format: { value: "format", about: `${FORMATS}; default: by the name of the file` },
      map: {
        value: "name=column",
        many: true,
        about: "a name of the file, and the column that it is for",
      },
      skip: { value: "name", many: true, about: "a name of the file that is left out" },
      match: {
        value: "column=table.column",
        many: true,
        about: "a reference whose values in the file are those of a unique column",
      },
      "from-line": { value: "line", about: "leave out the rows before this line" },
      again: { about: "store rows that an earlier run of the last 24 hours has stored once more" },
      "dry-run": { about: "check the file, and send nothing" },
      json: JSON_FLAG,
    },
    run: runImport,
  },
  {
    name: "data export",
    example: `rowhouse data export todos > todos.csv
rowhouse data export todos --format ndjson > todos.ndjson`,
    about: `${ABOUT} The key needs the scope data:read.

Prints all rows in the order of their creation, with their ids. An import of the file makes the same values. A CSV has the values
exactly as they are: for a spreadsheet use --spreadsheet, which puts an apostrophe before a text that a spreadsheet would
calculate.`,
    positionals: ["table"],
    flags: {
      ...PLACE_FLAGS,
      format: { value: "format", about: `${FORMATS}; default: csv` },
      spreadsheet: { about: "for a spreadsheet: no text of the CSV is a formula" },
    },
    run: runExport,
  },
];
