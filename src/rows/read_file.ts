/** Reads a file as rows: converts CSV, NDJSON or a JSON array to cells by name, as a stream. @module */

import type { Json } from "../schema/mod.ts";
import { type CsvRecord, makeCsvReader, needsQuotes, unprotectText } from "../std/csv.ts";
import { isObject } from "../std/json.ts";
import { jsonDepth, MAX_BODY_DEPTH } from "../std/json_depth.ts";
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
