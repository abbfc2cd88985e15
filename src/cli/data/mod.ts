/** `rowhouse data …`: imports and exports rows of an app's table, with the app's key. @module */
import { FILE_FORMATS } from "../../rows/mod.ts";
import { IDEMPOTENCY_HOURS } from "../../std/limits.ts";
import { type Command, JSON_FLAG } from "../command.ts";
import { ENVIRONMENT_FLAGS } from "../db/flags.ts";
import { DEV_FILE } from "../dev_file.ts";
import { DEV_ENVIRONMENT, PROJECT_FILE } from "../project_file.ts";
import { runExport } from "./export.ts";
import { runImport } from "./import.ts";
import { SYNC_FLAGS } from "./sync.ts";

const { url, to } = ENVIRONMENT_FLAGS;

const FORMATS = FILE_FORMATS.join(" or ");

const ABOUT = `The key is read from ROWHOUSE_API_KEY, or for an environment from its own variable, such as ROWHOUSE_API_KEY_STAGING. There is no
flag for a key. The command first says where it goes. --to ${DEV_ENVIRONMENT} is the running rowhouse dev of this folder (${DEV_FILE}). Without --to and --url, it goes to
ROWHOUSE_URL, else to that rowhouse dev. If ${PROJECT_FILE} has environments, it asks first which is meant, unless ROWHOUSE_URL is
rowhouse dev; without a terminal it requires --to, or ROWHOUSE_URL and ROWHOUSE_API_KEY.`;

export const dataCommands: readonly Command[] = [
  {
    name: "data import",
    example: `rowhouse data import todos todos.csv --dry-run
rowhouse data import todos todos.csv --map "Due date=due" --skip Comments
rowhouse data import todos todos.ndjson --match project=projects.name
rowhouse data import airports airports.csv --update-by iata --delete-missing --dry-run`,
    about: `${ABOUT} The key requires the scope data:write, and data:read for --match and --update-by.

Reads CSV (commas, semicolons or tabs; the first line contains the column names), NDJSON, or a JSON array. First checks the
whole file and lists all errors by line; if there are errors, nothing is sent. An empty field is null, or the default of a
required column. A column without a name is called by its position, such as #3, and left out if it has no values. The service
creates the ids. You can repeat the command for ${IDEMPOTENCY_HOURS} hours: stored rows are not stored again. If the
database rejects a row, such as a duplicate of a stored row, the import stops and prints the line to continue from.
Prints { table, rows, batches, replayed, dryRun } with --json.

With --update-by the table gets the values of the file. Rows are found by a unique column, or by the columns of a unique
constraint, separated by commas. The command reads the table, says how many rows it creates, changes, leaves and deletes, and
writes only these. Columns that the file does not have stay as they are. With --delete-missing it then deletes the rows that the
file does not have, unless they have changed since the table was read, which it lists. It asks before that; a file that is
empty, or would delete more than a fifth of the rows, needs --accept-deletes. Repeat a stopped command: it writes what still
differs. Requires that PREVIEW of the service contains filters. Prints { table, rows, created, updated, unchanged, deleted, left,
dryRun } with --json.`,
    positionals: ["table", "file"],
    flags: {
      url,
      to,
      format: { value: "format", about: `${FORMATS}; default: from the file name` },
      map: {
        value: "name=column",
        many: true,
        about: "stores the field with this name in this column",
      },
      skip: { value: "name", many: true, about: "skips the field with this name" },
      encoding: {
        value: "name",
        about:
          "encoding of the file, such as windows-1252 or shift_jis; default: UTF-8, or UTF-16 by its mark",
      },
      spreadsheet: {
        about:
          "remove the apostrophes that an export for spreadsheets added; default: if the file is one",
      },
      dates: {
        value: "order",
        about: "order of dates such as 01/10/2026: dmy or mdy; default: if a day above 12 shows it",
      },
      match: {
        value: "column=table.column",
        many: true,
        about: "the file identifies referenced rows by this unique column",
      },
      "from-line": { value: "line", about: "skip the rows before this line" },
      "skip-duplicates": {
        about: "skip a line with the same values as an earlier line, by a unique column",
      },
      again: {
        about: `store rows again that a run in the last ${IDEMPOTENCY_HOURS} hours has stored`,
      },
      ...SYNC_FLAGS,
      "dry-run": { about: "check the file; send nothing" },
      json: JSON_FLAG,
    },
    run: runImport,
  },
  {
    name: "data export",
    example: `rowhouse data export todos > todos.csv
rowhouse data export todos --format ndjson --output todos.ndjson
rowhouse data export todos --spreadsheet --output todos.csv`,
    about: `${ABOUT} The key requires the scope data:read.

Prints all rows with their ids, in the order of creation. Importing the file gives the same values. A CSV contains the exact
values: for a spreadsheet add --spreadsheet, which begins the file with a byte order mark, and puts an apostrophe before text that
a spreadsheet would treat as a formula. In PowerShell use --output, because its > can write UTF-16.`,
    positionals: ["table"],
    flags: {
      url,
      to,
      format: { value: "format", about: FORMATS, default: "csv" },
      spreadsheet: {
        about: "for spreadsheets: mark the encoding, and escape text that looks like a formula",
      },
      output: { value: "file", about: "write to this file, which is replaced once it is complete" },
    },
    run: runExport,
  },
];
