/** Reads a file as rows: converts CSV, NDJSON or a JSON array to cells by name, as a stream. @module */

import type { Json } from "../schema/mod.ts";
import { type CsvRecord, makeCsvReader, needsQuotes, unprotectText } from "../std/csv.ts";
import { isObject, jsonDepth, MAX_BODY_DEPTH } from "../std/json.ts";
import { type JsonText, makeJsonTextReader } from "../std/json_reader.ts";
import { parseExactJson } from "../std/json_text.ts";
import { isUuid } from "../std/patterns.ts";

/** A value of a file: text, which its column interprets, or JSON. `undefined` text is an empty field. */
export type Cell =
  | { readonly text: string | undefined; readonly isQuoted?: boolean }
  | { readonly json: unknown };

/** A row of a file, by the file's names. With issues, it has no cells. */
export type SourceRow = {
  readonly line: number;
  readonly cells: readonly (readonly [name: string, cell: Cell])[];
  readonly issues: readonly string[];
};

export type FileRow = { readonly line: number; readonly values: Readonly<Record<string, Json>> };
export type LineIssue = {
  readonly line: number;
  readonly column?: string;
  readonly message: string;
};

export const FILE_FORMATS = ["csv", "ndjson"] as const;
/** `ndjson` includes JSON arrays: the first character decides. */
export type FileFormat = (typeof FILE_FORMATS)[number];

export type Source = {
  readonly push: (text: string) => SourceRow[];
  readonly end: () => SourceRow[];
  /** The first line of a CSV, once read. */
  readonly header: () => SourceHeader | undefined;
  /** Whether the first rows have the mark of an export for spreadsheets. */
  readonly isMarked: () => boolean;
};
export type SourceHeader = {
  readonly line: number;
  /** A column without a name is called `#3` by its position. */
  readonly names: readonly string[];
  /** The columns without a name. Their empty fields are not cells. */
  readonly unnamed: ReadonlySet<string>;
  readonly delimiter: string;
};

export type SourceOptions = {
  /** Whether to remove the apostrophes that an export for spreadsheets added; default: if the file has its mark. */
  readonly isProtected?: boolean | undefined;
};

/** The list of rows is one level of a request. */
const MAX_ROW_DEPTH = MAX_BODY_DEPTH - 1;

export function makeSource(format: FileFormat, options: SourceOptions = {}): Source {
  return format === "csv" ? makeCsvSource(options) : makeJsonSource();
}

export function findFormat(name: string): FileFormat | undefined {
  const ending = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  if (["csv", "tsv", "txt"].includes(ending)) return "csv";
  return ["ndjson", "jsonl", "json"].includes(ending) ? "ndjson" : undefined;
}

const NO_HEADER = "Is empty: the first line must have the names of the columns";

function makeCsvSource({ isProtected }: SourceOptions): Source {
  const reader = makeCsvReader();
  let header: SourceHeader | undefined;
  let names: CsvRecord["fields"] = [];
  let isMarked: boolean | undefined;
  const toRows = (records: readonly CsvRecord[]): SourceRow[] =>
    records.flatMap((record) => {
      if (header !== undefined) {
        isMarked ??= hasMark(names, record.fields);
        return toRow(record, header, { isProtected: isProtected ?? isMarked });
      }
      names = record.fields;
      header = toHeader(record, reader.delimiter() ?? ",");
      const { line, issues } = record;
      return issues.length === 0 ? [] : [{ line, cells: [], issues }];
    });
  return {
    push: (text) => toRows(reader.push(text)),
    end: () => {
      const rows = toRows(reader.end());
      return header === undefined ? [{ line: 1, cells: [], issues: [NO_HEADER] }] : rows;
    },
    header: () => header,
    isMarked: () => isMarked === true,
  };
}

function toHeader({ line, fields }: CsvRecord, delimiter: string): SourceHeader {
  const trimmed = fields.map(({ text }) => text.trim());
  const names = trimmed.map((name, index) => (name === "" ? `#${index + 1}` : name));
  const unnamed = new Set(names.filter((_, index) => trimmed[index] === ""));
  return { line, names, unnamed, delimiter };
}

/** An export for spreadsheets quotes the id of its first row, and no other field without need. @see makeRowsWriter */
function hasMark(names: CsvRecord["fields"], [id, ...values]: CsvRecord["fields"]): boolean {
  const isMark = names[0]?.text === "id" && id?.isQuoted === true && isUuid(id.text);
  return (
    isMark && ![...names, ...values].some(({ text, isQuoted }) => isQuoted && !needsQuotes(text))
  );
}

function toRow(
  { line, fields, issues }: CsvRecord,
  { names, unnamed }: SourceHeader,
  { isProtected }: { isProtected: boolean },
): SourceRow {
  if (issues.length > 0) return { line, cells: [], issues };
  // Spreadsheets write separators after the last column in some rows and not in others.
  const least = names.findLastIndex((name) => !unnamed.has(name)) + 1;
  if (fields.length < least || fields.slice(names.length).some((field) => !isEmpty(field))) {
    const issue = `Must have as many fields as the first line: ${names.length}, not ${fields.length}`;
    return { line, cells: [], issues: [issue] };
  }
  const cells = names.flatMap((name, index): SourceRow["cells"][number][] => {
    const field = fields[index];
    if (unnamed.has(name) && (field === undefined || field.text === "")) return [];
    if (field === undefined || isEmpty(field)) return [[name, { text: undefined }]];
    const text = isProtected ? unprotectText(field.text) : field.text;
    return [[name, { text, isQuoted: field.isQuoted }]];
  });
  return { line, cells, issues };
}

function isEmpty({ text, isQuoted }: CsvRecord["fields"][number]): boolean {
  return text === "" && !isQuoted;
}

function makeJsonSource(): Source {
  const reader = makeJsonTextReader();
  return {
    push: (text) => reader.push(text).map(toJsonRow),
    end: () => reader.end().map(toJsonRow),
    header: () => undefined,
    isMarked: () => false,
  };
}

function toJsonRow({ line, text, issue }: JsonText): SourceRow {
  const value = issue === undefined ? parseRow(text) : { issue };
  return "issue" in value
    ? { line, cells: [], issues: [value.issue] }
    : { line, cells: value.cells, issues: [] };
}

function parseRow(text: string): Pick<SourceRow, "cells"> | { issue: string } {
  if (jsonDepth(text) > MAX_ROW_DEPTH)
    return { issue: `Is nested deeper than ${MAX_ROW_DEPTH} levels` };
  try {
    const value = parseExactJson(text);
    if (!isObject(value)) return { issue: "Must be a JSON object with columns as its properties" };
    return { cells: Object.entries(value).map(([name, json]) => [name, { json }] as const) };
  } catch {
    return { issue: "Is not JSON" }; // the parser's own message quotes the text
  }
}

// Decodes the bytes of a file: UTF-8, UTF-16 by its mark, or an encoding that the user names.

/** Encodings of spreadsheets and older programs, by their names on the web, and where they are used. */
export const ENCODINGS: readonly { readonly name: string; readonly label: string }[] = [
  { name: "utf-8", label: "UTF-8" },
  { name: "windows-1252", label: "Windows-1252 (Western Europe)" },
  { name: "windows-1250", label: "Windows-1250 (Central Europe)" },
  { name: "windows-1251", label: "Windows-1251 (Cyrillic)" },
  { name: "windows-1253", label: "Windows-1253 (Greek)" },
  { name: "windows-1254", label: "Windows-1254 (Turkish)" },
  { name: "windows-1255", label: "Windows-1255 (Hebrew)" },
  { name: "windows-1256", label: "Windows-1256 (Arabic)" },
  { name: "windows-874", label: "Windows-874 (Thai)" },
  { name: "shift_jis", label: "Shift_JIS (Japanese)" },
  { name: "euc-jp", label: "EUC-JP (Japanese)" },
  { name: "gb18030", label: "GB18030 (Simplified Chinese)" },
  { name: "big5", label: "Big5 (Traditional Chinese)" },
  { name: "euc-kr", label: "EUC-KR (Korean)" },
  { name: "macintosh", label: "Macintosh" },
  { name: "utf-16le", label: "UTF-16 LE" },
  { name: "utf-16be", label: "UTF-16 BE" },
];

/** Text, or the reason why the rest of the file cannot be read. */
type Decoded = { readonly text: string } | { readonly issue: string };

const HEAD_BYTES = 4;

/** The text of a file in pieces. A byte order mark has precedence over the named encoding. */
export async function* decodeChunks(
  chunks: AsyncIterable<Uint8Array>,
  encoding = "utf-8",
): AsyncGenerator<Decoded, void> {
  let head: Uint8Array = new Uint8Array();
  let decoder: TextDecoder | undefined;
  const decode = (bytes: Uint8Array, isEnd: boolean): Decoded => {
    decoder ??= new TextDecoder(findEncoding(bytes) ?? encoding, { fatal: true, ignoreBOM: true });
    try {
      return { text: decoder.decode(bytes, { stream: !isEnd }) };
    } catch {
      return { issue: explainInvalid(decoder.encoding, bytes) }; // the decoder's message has no details
    }
  };
  for await (const bytes of chunks) {
    const joined = decoder === undefined ? concatenate(head, bytes) : bytes;
    head = joined;
    if (joined.length < HEAD_BYTES && decoder === undefined) continue;
    const issue = decoder === undefined ? findDocument(joined) : undefined;
    const decoded = issue === undefined ? decode(joined, false) : { issue };
    yield decoded;
    if ("issue" in decoded) return;
  }
  yield decode(decoder === undefined ? head : new Uint8Array(), true);
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}

/** UTF-16 by its mark, or because every second byte of its first characters, such as names, is zero. */
function findEncoding([first, second, third, fourth]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first !== 0 && second === 0 && third !== 0 && fourth === 0) return "utf-16le";
  if (first === 0 && second !== 0 && third === 0 && fourth !== 0) return "utf-16be";
  return undefined;
}

/** The first bytes of files that are no text: zip archives such as .xlsx, .ods and .numbers, and .xls. */
function findDocument(bytes: Uint8Array): string | undefined {
  const start = [...bytes.subarray(0, HEAD_BYTES)].map((byte) =>
    byte.toString(16).padStart(2, "0"),
  );
  return ["504b0304", "d0cf11e0"].includes(start.join(""))
    ? "Is a document, not text: save the sheet as CSV in UTF-8"
    : undefined;
}

function explainInvalid(encoding: string, bytes: Uint8Array): string {
  if (encoding !== "utf-8") return `Is not ${encoding} from here on: choose its encoding`;
  return `Is not UTF-8 from here on: save the file as UTF-8, or choose its encoding, perhaps ${guessEncoding(bytes)}`;
}

/** Only a hint: in Japanese most characters begin with a byte that Western text has for a few signs, such as quotes. */
function guessEncoding(bytes: Uint8Array): string {
  const count = (from: number, to: number) =>
    bytes.reduce((sum, byte) => sum + (byte >= from && byte <= to ? 1 : 0), 0);
  return count(0x81, 0x9f) > count(0xc0, 0xff) ? "shift_jis" : "windows-1252";
}
