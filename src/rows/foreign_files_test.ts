/**
 * Files of other programs, in test/fixtures/rows/. LibreOffice 7.4, Go 1.24 and Python 3.11 wrote theirs. The others have the bytes
 * that their program writes: Excel, Numbers, Google Sheets, PowerShell, CsvHelper of .NET and commons-csv of Java.
 */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { column, listIssues, tableOf } from "../../test/support/row_files.ts";
import {
  type FileFormat,
  type MappingOptions,
  makeMapping,
  makeRowsReader,
  makeSource,
  type RowsRead,
  readChunks,
  type SourceOptions,
} from "./mod.ts";

const TABLE = tableOf(
  column("title", "string"),
  column("size", "number"),
  column("price", "decimal"),
  column("done", "boolean"),
  column("due", "timestamp"),
  column("tags", "json"),
);

type FileOptions = MappingOptions & SourceOptions & { encoding?: string; format?: FileFormat };

async function readBytes(bytes: Uint8Array, options: FileOptions = {}): Promise<RowsRead> {
  const { encoding, format = "csv" } = options;
  const reader = makeRowsReader(makeSource(format, options), {
    table: TABLE,
    mapping: makeMapping(TABLE, options),
  });
  const read: RowsRead = { rows: [], issues: [] };
  for await (const part of readChunks(split(bytes), reader, encoding)) {
    read.rows.push(...part.rows);
    read.issues.push(...part.issues);
  }
  return read;
}

/** Chunks of all small sizes, so that characters and line breaks are divided. */
async function* split(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let [at, size] = [0, 1]; at < bytes.length; at += size, size = (size % 7) + 1)
    yield bytes.subarray(at, at + size);
}

const readFixture = (name: string, options?: FileOptions) =>
  readBytes(readFileSync(join(import.meta.dir, "../../test/fixtures/rows", name)), options);

const values = ({ rows }: RowsRead) => rows.map(({ values }) => values);

const TAGS = { a: [1, "x"] };
const DUE = "2026-03-01T07:00:00+00:00";
const EXACT = "2026-03-01T07:00:00.123457+00:00";
const TWO = "two\nlines";

type Fixture = { file: string; options?: FileOptions; rows: readonly (readonly unknown[])[] };

const FIXTURES: readonly Fixture[] = [
  ...["excel_utf8.csv", "excel_unicode.txt", "google_sheets.csv", "numbers_german.csv"].map(
    (file) => ({ file, rows: [["Größe, 東京"], [TWO]] }),
  ),
  ...["dotnet.csv", "java.csv", "powershell_5.csv", "powershell_7.csv"].map((file) => ({
    file,
    rows: [["Größe, 東京"], [TWO]],
  })),
  {
    file: "excel_german.csv",
    options: { encoding: "windows-1252" },
    rows: [["Größe, 5 €"], [TWO]],
  },
  { file: "sep.csv", rows: [["Größe, 5 €"], [TWO]] },
  {
    file: "excel_japanese.csv",
    options: { encoding: "shift_jis" },
    rows: [["大きさ, 東京"], [TWO]],
  },
  {
    file: "excel_macintosh.csv",
    options: { encoding: "macintosh" },
    rows: [["Größe, café"], ["two\rlines"]],
  },
  ...["libreoffice.csv", "libreoffice_utf16.csv"].map((file) => ({
    file,
    rows: [["Größe, 東京"], [TWO], ["it's", 3, "3", null, null, null]],
  })),
  ...[
    { file: "libreoffice_german.csv", options: { encoding: "windows-1252" } },
    { file: "libreoffice_quoted_german.csv" },
  ].map((file) => ({ ...file, rows: [["Größe, 5 €"], [TWO], ["it's", 3, "3", null, null, null]] })),
  ...[
    { file: "python.csv" },
    { file: "python_tabs.csv" },
    { file: "python_unix.csv" },
    { file: "python_index.csv", options: { skip: ["#1"] } },
  ].map((file) => ({
    ...file,
    rows: [
      ["Größe, 東京", 1.5, "12.50", true, "2026-03-01T07:00:00.123456+00:00", TAGS],
      [TWO, 1e21, "-0.5", false, "2026-03-01T07:00:00.123456+00:00", null],
      ["=1+1", -2e-7, "3", null, "2026-03-01T07:00:00.123456+00:00", null],
    ],
  })),
  {
    file: "go.csv",
    rows: [
      ["Größe, 東京", 1.5, "12.50", true, EXACT, TAGS],
      [TWO, 1e21, "-0.5", false, EXACT, null],
      ["=1+1", -2e-7, "3", null, DUE, null],
    ],
  },
];

/** The values of the first two rows, if the file has no others. */
const USUAL = [
  [undefined, 1.5, "12.50", true, DUE, TAGS],
  [undefined, -1234.25, "-0.5", false, EXACT, null],
];

test.each(FIXTURES)("$file is read", async ({ file, options, rows }) => {
  const read = await readFixture(file, options);
  expect(listIssues(read)).toEqual([]);
  const wanted = rows.map((row, at) =>
    row.length > 1 ? row : Object.assign([...(USUAL[at] ?? [])], row),
  );
  expect(values(read).map((row) => TABLE.columns.map(({ name }) => row[name]))).toEqual(
    wanted as never,
  );
});

describe("a file in another encoding is an error that names", () => {
  test.each([
    { file: "excel_german.csv", message: "perhaps windows-1252" },
    { file: "excel_japanese.csv", message: "perhaps shift_jis" },
  ])("$message for $file", async ({ file, message }) => {
    const { rows, issues } = await readFixture(file);
    expect(rows).toEqual([]);
    expect(issues.map((issue) => issue.message).join()).toContain(message);
  });

  test.each([
    { name: "a document of Excel, LibreOffice or Numbers", bytes: [0x50, 0x4b, 3, 4, 20, 0] },
    { name: "an old document of Excel", bytes: [0xd0, 0xcf, 0x11, 0xe0, 0xa1] },
  ])("CSV for $name", async ({ bytes }) => {
    const { issues } = await readBytes(new Uint8Array(bytes));
    expect(issues[0]?.message).toBe("Is a document, not text: save the sheet as CSV in UTF-8");
  });
});

const toBytes = (text: string, encoding: "utf8" | "utf16le" = "utf8") =>
  Buffer.from(text, encoding);

test.each([
  { name: "UTF-16 LE with a mark", bytes: toBytes("\uFEFFtitle\na\n", "utf16le") },
  { name: "UTF-16 LE without a mark", bytes: toBytes("title\na\n", "utf16le") },
  { name: "UTF-16 BE with a mark", bytes: toBytes("\uFEFFtitle\na\n", "utf16le").swap16() },
  { name: "UTF-16 BE without a mark", bytes: toBytes("title\na\n", "utf16le").swap16() },
  { name: "UTF-8 with a mark, against --encoding", bytes: toBytes("\uFEFFtitle\na\n") },
])("$name is recognized", async ({ bytes }) => {
  expect(values(await readBytes(bytes, { encoding: "windows-1252" }))).toEqual([{ title: "a" }]);
});

test("JSON in UTF-16 is read, as PowerShell writes it", async () => {
  const bytes = toBytes('\uFEFF[{"title":"東京"}]\r\n', "utf16le");
  expect(values(await readBytes(bytes, { format: "ndjson" }))).toEqual([{ title: "東京" }]);
});
