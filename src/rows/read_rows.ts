/**
 * Converts rows of a file to rows of a table: reads each value by the rules of its column, and reports errors by line. Pure.
 *
 * @module
 */

import { type FileNotation, type OffsetOf, type Read, VALUES } from "../kinds/mod.ts";
import type { Json, NamedColumn, TableDefinition } from "../schema/mod.ts";
import { isCutShort, isShortened } from "../std/csv.ts";
import { quote } from "../std/quote.ts";
import { type DayOrder, type DaysFound, makeDayReader } from "./days.ts";
import { makeDuplicateFinder } from "./duplicates.ts";
import { findHeaderIssues, findUnmapped, isNeeded, type Mapping } from "./mapping.ts";
import type { Cell, FileRow, LineIssue, Source, SourceRow } from "./read_file.ts";

// Reads values of requests and files by the rules of their columns. Finds all errors: PostgreSQL
// would report only the first.

/** The error for null in a required column, found here or by the database. */
export const REQUIRED = "Must not be null: the column is required";

/** Reads one value of a column; `null` clears an optional column. */
export function readValue(
  value: unknown,
  column: Pick<NamedColumn, "kind" | "required" | "values">,
): Read {
  if (value !== null) return VALUES[column.kind].read(value, column);
  return column.required ? { issue: REQUIRED } : { value };
}

// Numbers as spreadsheets write them: with a decimal comma and separated thousands, as the
// computer's language has them.

type DecimalMark = "," | ".";

type NumberText = { readonly text: string; readonly mark?: DecimalMark } | { issue: string };

type NumberReader = (
  written: string,
  position: { line: number; column: string; delimiter: string },
) => { readonly value: string } | { readonly issue: string };

/**
 * A reader of the numbers in one file. A number that can mean two numbers, such as 1.500 next to 2,50, is an error, and so are two
 * decimal marks in one column.
 */
export function makeNumberReader(): NumberReader {
  /** The first line with a decimal mark, by mark and column. */
  const marks = new Map<string, number>();
  /** The first lines with a decimal comma, and with a point that can separate thousands. */
  let [comma, unclear]: (number | undefined)[] = [];
  return (written, { line, column, delimiter }) => {
    const read = readNumberText(written, delimiter);
    if ("issue" in read) return read;
    const { text, mark } = read;
    if (mark === undefined) return { value: text };
    const isUnclear = mark === "." && EITHER.test(text.replace(".", ","));
    if (isUnclear && comma !== undefined) return { issue: explainEither(text) };
    const other = marks.get(`${mark === "," ? "." : ","} ${column}`);
    const conflict = other ?? (mark === "," ? unclear : undefined);
    if (conflict !== undefined)
      return { issue: `Has the decimal mark "${mark}", and line ${conflict} has another one` };
    if (mark === ",") comma ??= line;
    if (isUnclear) unclear ??= line;
    marks.set(`${mark} ${column}`, line);
    return { value: text };
  };
}

const SPACED = /^-?\d{1,3}(?=[ \u00A0\u202F'’])(?:[ \u00A0\u202F'’]\d{3})+(?=[.,]\d+$|$)/;
const POINTS = /^-?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})$/;
const COMMAS = /^-?\d{1,3}(?:(?:,\d{3})+\.\d+|(?:,\d{3}){2,})$/;
const POINT = /^-?\d+\.\d+(?:[eE][+-]?\d+)?$/;
const COMMA = /^-?\d+,\d+(?:[eE][+-]?\d+)?$/;
/** 1,234 is more than a thousand in one language, and less than two in another. */
const EITHER = /^-?[1-9]\d{0,2},\d{3}$/;

/**
 * The number in the notation of JSON. Excel separates fields by semicolons exactly where the comma is the decimal mark, so a
 * comma has this meaning there.
 */
function readNumberText(written: string, delimiter: string): NumberText {
  if (isShortened(written)) return { issue: CUT_SHORT };
  const text = written
    .trim()
    .replace(/^−/, "-")
    .replace(SPACED, (digits) => digits.replaceAll(/[^-\d]/g, ""));
  if (POINTS.test(text)) return { text: text.replaceAll(".", "").replace(",", "."), mark: "," };
  if (COMMAS.test(text)) return { text: text.replaceAll(",", ""), mark: "." };
  if (POINT.test(text)) return { text, mark: "." };
  if (!COMMA.test(text)) return { text };
  const point = text.replace(",", ".");
  return delimiter === ";" || !EITHER.test(text)
    ? { text: point, mark: "," }
    : { issue: explainEither(point) };
}

export const CUT_SHORT =
  "Has only the digits that the spreadsheet had room to show: widen its column, show numbers in full, and save the file again";

function explainEither(point: string): string {
  return `Can mean two numbers: write ${point.replace(".", "")} or ${point}0`;
}

export type RowsRead = { readonly rows: FileRow[]; readonly issues: LineIssue[] };

/** Resolves a reference if the file has values of another column of the target: that column, and the row id for a value; `null` if several rows have it. */
export type Match = {
  readonly column: NamedColumn;
  readonly find: (key: string) => string | null | undefined;
};

export type RowsReader = {
  readonly push: (text: string) => RowsRead;
  readonly end: () => RowsRead;
  /** What the days show that were read without an order. */
  readonly days: () => DaysFound;
  /** The number of skipped lines. */
  readonly skipped: () => number;
};

type ReaderOptions = {
  readonly table: TableDefinition;
  readonly mapping: Mapping;
  /** Keyed by the name of the reference. */
  readonly matches?: ReadonlyMap<string, Match>;
  /** Without it, a time without an offset is an error. */
  readonly offsetOf?: OffsetOf | undefined;
  /** Without it, a day such as 29.09.2025 is an error. */
  readonly dayOrder?: DayOrder | undefined;
  /** Whether a line that repeats the values of an earlier one is skipped, if they must be unique. */
  readonly skipsDuplicates?: boolean;
  /** Whether rows can exist: only a new row needs the required columns. */
  readonly isUpdate?: boolean;
};

/** Reads the rows of a source. If the first line is invalid, reads no rows: each would repeat the errors. */
export function makeRowsReader(source: Source, options: ReaderOptions): RowsReader {
  let isHeaderChecked = false;
  let isHeaderWrong = false;
  const unknown = new Set<string>();
  const { skipsDuplicates = false, isUpdate = false, mapping } = options;
  const duplicates = makeDuplicateFinder(options.table);
  let skipped = 0;
  const readNumber = makeNumberReader();
  const days = makeDayReader(options.dayOrder);
  const checkHeader = (): LineIssue[] => {
    const header = source.header();
    if (header === undefined || isHeaderChecked) return [];
    isHeaderChecked = true;
    const needed = isUpdate ? () => false : isNeeded;
    const issues = findHeaderIssues(options.table, header, { mapping, needed });
    isHeaderWrong = issues.length > 0;
    return issues.map((message) => ({ line: header.line, message }));
  };
  const readAll = (sourceRows: readonly SourceRow[]): RowsRead => {
    const rows: FileRow[] = [];
    const issues = checkHeader();
    for (const sourceRow of isHeaderWrong ? [] : sourceRows) {
      const delimiter = source.header()?.delimiter ?? "";
      const read = readSourceRow(sourceRow, options, { delimiter, readNumber, readDay: days.read });
      const fresh = read.unknown.filter(({ name }) => !unknown.has(name));
      for (const { name } of fresh) if (unknown.size < MAX_UNKNOWN) unknown.add(name);
      const { line } = sourceRow;
      issues.push(...read.issues, ...fresh.map(({ message }) => ({ line, message })));
      if (read.issues.length + read.unknown.length > 0) continue;
      const row = { line, values: read.values };
      if (skipsDuplicates && duplicates.isRepeated(row)) {
        skipped++;
        continue;
      }
      const repeated = duplicates.find(row);
      if (repeated.length === 0) rows.push(row);
      else issues.push(...repeated);
    }
    return { rows, issues };
  };
  /** The names of objects: a name that no object has is an error of the last line. */
  const names = new Set<string>();
  const findMissing = (line: number): LineIssue[] =>
    names.size === 0 || source.header() !== undefined
      ? []
      : findUnmapped(mapping, [...names]).map((message) => ({ line, message }));
  let last = 1;
  const readNames = (sourceRows: readonly SourceRow[]): RowsRead => {
    for (const { line, cells } of sourceRows) {
      last = line;
      if (mapping.mapped.length > 0 && source.header() === undefined)
        for (const [name] of cells)
          if (names.size < MAX_UNKNOWN || mapping.mapped.includes(name)) names.add(name);
    }
    return readAll(sourceRows);
  };
  return {
    push: (text) => readNames(source.push(text)),
    end: () => {
      const { rows, issues } = readNames(source.end());
      return { rows, issues: [...issues, ...findMissing(last)] };
    },
    days: days.found,
    skipped: () => skipped,
  };
}

/** Max remembered unknown names: each is reported once, not for every row. */
const MAX_UNKNOWN = 1000;

type SourceRowRead = {
  values: Record<string, Json>;
  issues: LineIssue[];
  unknown: { name: string; message: string }[];
};

function readSourceRow(
  { line, cells, issues }: SourceRow,
  { table, mapping, matches = new Map(), offsetOf, isUpdate = false }: ReaderOptions,
  file: {
    readonly delimiter: string;
    readonly readNumber: NumberReader;
    readonly readDay: FileNotation["readDay"];
  },
): SourceRowRead {
  if (issues.length > 0)
    return { values: {}, issues: issues.map((message) => ({ line, message })), unknown: [] };
  const read: SourceRowRead = { values: {}, issues: [], unknown: [] };
  const seen = new Map<string, string>();
  for (const [name, cell] of cells) {
    const target = mapping.targetOf(name);
    if ("issue" in target) read.unknown.push({ name, message: target.issue });
    else if (target.column !== undefined) {
      const { column } = target;
      const other = seen.get(column.name);
      seen.set(column.name, name);
      const value =
        other === undefined
          ? readCell(cell, column, {
              match: matches.get(column.name),
              notation: {
                ...{ offsetOf, readDay: file.readDay },
                readNumber: (written) =>
                  file.readNumber(written, { ...file, line, column: column.name }),
              },
            })
          : { issue: `${quote(other)} and ${quote(name)} both map to this column` };
      if (value === undefined) continue;
      if ("issue" in value) read.issues.push({ line, column: column.name, message: value.issue });
      else read.values[column.name] = value.value;
    }
  }
  for (const column of isUpdate ? [] : table.columns)
    if (isNeeded(column) && !seen.has(column.name))
      read.issues.push({ line, column: column.name, message: "Is required and has no default" });
  return read;
}

type CellOptions = {
  readonly match: Match | undefined;
  readonly notation: FileNotation;
};

/** The value of a cell; `undefined` if the column gets its default. */
function readCell(
  cell: Cell,
  column: NamedColumn,
  { match, notation }: CellOptions,
): Read | undefined {
  if ("json" in cell) {
    if (cell.json === null) return readValue(null, column);
    if (match !== undefined) return findMatch(cell.json, match);
    const read = VALUES[column.kind].fromJsonFile?.(cell.json, notation) ?? { value: cell.json };
    return "issue" in read ? read : readValue(read.value, column);
  }
  const kind = VALUES[match?.column.kind ?? column.kind];
  const { text } = cell;
  if (text === undefined || (text === "" && kind.hasEmpty?.(column) !== true))
    return column.required && column.default !== undefined ? undefined : readValue(null, column);
  // A choice can be such a text, and a text in quotes is meant as written.
  if (column.values === undefined && cell.isQuoted !== true && isCutShort(text))
    return { issue: CUT_SHORT };
  const read = kind.fromCsv?.(text, notation) ?? { value: text };
  if ("issue" in read) return read;
  return match === undefined ? readValue(read.value, column) : findMatch(read.value, match);
}

function findMatch(value: unknown, { column, find }: Match): Read {
  const read = readValue(value, column);
  if ("issue" in read) return read;
  const key = toMatchKey(read.value);
  const id = find(key);
  const rows = id === null ? "More than one row" : "No row";
  return id == null ? { issue: `${rows} has ${quote(key)} in ${column.name}` } : { value: id };
}

function toMatchKey(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

type Values = { readonly [column: string]: unknown };

/** References of a file by the values of a column: reads all rows of the referenced table. Their ids are accepted as well. */
export async function readMatch(
  column: NamedColumn,
  pages: AsyncIterable<readonly Values[]>,
): Promise<Match> {
  const ids = new Map<string, string | null>();
  const known = new Set<string>();
  for await (const rows of pages)
    for (const values of rows) {
      const id = String(values["id"]);
      known.add(id);
      const read = readValue(values[column.name] ?? null, { ...column, required: false });
      if (!("value" in read) || read.value === null) continue;
      const key = toMatchKey(read.value);
      ids.set(key, ids.has(key) ? null : id);
    }
  return { column, find: (key) => (ids.has(key) || !known.has(key) ? ids.get(key) : key) };
}
