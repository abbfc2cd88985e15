/** Reads a file as rows: converts CSV, NDJSON or a JSON array to cells by name, as a stream. @module */
import type { Json } from "../dsl/mod.ts";
import { makeCsvReader } from "../std/csv_reader.ts";
import { parseExactJson } from "../std/exact_json.ts";
import { isObject } from "../std/is_object.ts";
import { jsonDepth, MAX_BODY_DEPTH } from "../std/json_depth.ts";
import { type JsonText, makeJsonTextReader } from "../std/json_reader.ts";

/** A value of a file: text, which its column interprets, or JSON. `undefined` text is an empty field. */
export type Cell = { readonly text: string | undefined } | { readonly json: unknown };

/** A row of a file, by the file's names. With issues, it has no cells. */
export type SourceRow = {
  readonly line: number;
  readonly cells: readonly (readonly [name: string, cell: Cell])[];
  readonly issues: readonly string[];
};

/** A valid row. */
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
  /** The names in the first line of a CSV, once read. */
  readonly header: () => SourceHeader | undefined;
};
export type SourceHeader = { readonly line: number; readonly names: readonly string[] };

/** The list of rows is one level of a request. */
const MAX_ROW_DEPTH = MAX_BODY_DEPTH - 1;

export function makeSource(format: FileFormat): Source {
  return format === "csv" ? makeCsvSource() : makeJsonSource();
}

/** The format of a file, from its name. */
export function findFormat(name: string): FileFormat | undefined {
  const ending = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  if (["csv", "tsv", "txt"].includes(ending)) return "csv";
  return ["ndjson", "jsonl", "json"].includes(ending) ? "ndjson" : undefined;
}

const NO_HEADER = "Is empty: the first line must have the names of the columns";

function makeCsvSource(): Source {
  const reader = makeCsvReader();
  let header: SourceHeader | undefined;
  const toRows = (records: ReturnType<typeof reader.push>): SourceRow[] =>
    records.flatMap(({ line, fields, issues }) => {
      if (header !== undefined) return toRow({ line, fields, issues }, header.names);
      header = { line, names: fields.map(({ text }) => text.trim()) };
      return issues.length === 0 ? [] : [{ line, cells: [], issues }];
    });
  return {
    push: (text) => toRows(reader.push(text)),
    end: () => {
      const rows = toRows(reader.end());
      return header === undefined ? [{ line: 1, cells: [], issues: [NO_HEADER] }] : rows;
    },
    header: () => header,
  };
}

type Fields = ReturnType<ReturnType<typeof makeCsvReader>["push"]>[number];

function toRow({ line, fields, issues }: Fields, names: readonly string[]): SourceRow {
  if (issues.length > 0) return { line, cells: [], issues };
  if (fields.length !== names.length) {
    const issue = `Must have as many fields as the first line: ${names.length}, not ${fields.length}`;
    return { line, cells: [], issues: [issue] };
  }
  const cells = fields.map(({ text, isQuoted }, index) => {
    const isEmpty = text === "" && !isQuoted;
    return [names[index] ?? "", { text: isEmpty ? undefined : text }] as const;
  });
  return { line, cells, issues };
}

function makeJsonSource(): Source {
  const reader = makeJsonTextReader();
  return {
    push: (text) => reader.push(text).map(toJsonRow),
    end: () => reader.end().map(toJsonRow),
    header: () => undefined,
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
