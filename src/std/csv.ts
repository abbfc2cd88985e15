/** CSV: written as text that spreadsheets never read as a formula, and read as a stream of records. @module */

/** Begins a file: without it Excel reads a CSV in the encoding of the computer's language. */
export const BYTE_ORDER_MARK = "\uFEFF";

/**
 * A spreadsheet detects a formula at the start of a field. Some trim white space first. Some languages treat full-width signs
 * as narrow. Text that starts with an apostrophe gets another one, so that `unprotectText` restores every text.
 */
const FORMULA = /^(?=[=+\-@＝＋－＠'\0\t\r\n])/u;
/** After these characters, a spreadsheet that guesses the wrong format begins another field. */
const INNER_FORMULA = /(?<=[;\t\r\n])(?='*[=+\-@＝＋－＠])/gu;
const PROTECTED_INSIDE = /(?<=[;\t\r\n])'(?='*[=+\-@＝＋－＠])/gu;
const QUOTED = /[",;\t\r\n]/;
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/;

/**
 * One line with its line break: `null` is an empty field, an empty text a quoted field. Texts are protected by `protectText`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4180
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 * @example
 * ```ts
 * expect(toCsvLine(["a,b", 'an "x"', null, "", "-1.5"])).toBe('"a,b","an ""x""",,"",-1.5\r\n');
 * expect(toCsvLine(["=1+1", "@x", "a;=1+1"])).toBe(`'=1+1,'@x,"a;'=1+1"\r\n`);
 * ```
 */
export function toCsvLine(values: readonly (string | null)[]): string {
  return toExactCsvLine(values.map((value) => (value === null ? value : protectText(value))));
}

/**
 * Like `toCsvLine`, but for programs: values are unchanged, and a spreadsheet would evaluate formulas.
 *
 * @example
 * ```ts
 * expect(toExactCsvLine(["=1+1", null, ""])).toBe('=1+1,,""\r\n');
 * ```
 */
export function toExactCsvLine(values: readonly (string | null)[]): string {
  return `${values.map(toField).join(",")}\r\n`;
}

function toField(value: string | null): string {
  if (value === null) return "";
  return needsQuotes(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** Texts that look like a value of which a spreadsheet did not show all digits have quotes, so that an import stores them. */
export function needsQuotes(text: string): boolean {
  return text === "" || QUOTED.test(text) || isCutShort(text);
}

/** Whether a spreadsheet shows a value in this way for lack of room: as `1.23E+12` or `####`. A CSV has only what it shows. */
export function isCutShort(text: string): boolean {
  return /^ *#{3,} *$/.test(text) || isShortened(text);
}

const SHORTENED = /^-?\d+(?:([.,])\d+)?E([+-]?)\d+$/;
/** Spreadsheets store at most 15 digits. Programs also write a capital E, such as Java `1.5E12`. */
const SHOWN_DIGITS = 15;

/** Whether a number is written as a spreadsheet shortens it. */
export function isShortened(text: string): boolean {
  const [number = "", comma, sign] = SHORTENED.exec(text.trim()) ?? [];
  const digits = number.replace(/E.*/, "").replace(/\D/g, "").length;
  return number !== "" && digits < SHOWN_DIGITS && (sign !== "" || comma === ",");
}

/**
 * A text that a spreadsheet does not evaluate: every formula, and an apostrophe at the start, gets a leading apostrophe. Numbers
 * are unchanged.
 *
 * @example
 * ```ts
 * expect(["=1+1", "'quoted", "it's", "-1.5"].map(protectText)).toEqual(["'=1+1", "''quoted", "it's", "-1.5"]);
 * expect(unprotectText(protectText("'=1\n=2"))).toBe("'=1\n=2");
 * ```
 */
export function protectText(text: string): string {
  return NUMBER.test(text) ? text : text.replace(FORMULA, "'").replace(INNER_FORMULA, "'");
}

export function unprotectText(text: string): string {
  return text.replace(/^'/, "").replace(PROTECTED_INSIDE, "");
}

// Reads CSV as a stream. Reports line numbers, quotes and malformed records, which a lenient reader
// would lose.

/** A field. An empty field is a missing value without quotes, and an empty text with quotes. */
type CsvField = { readonly text: string; readonly isQuoted: boolean };

export type CsvRecord = {
  readonly line: number;
  readonly fields: readonly CsvField[];
  /** The syntax error, if any. */
  readonly issues: readonly string[];
};

type CsvReader = {
  /** The records completed by this chunk. */
  readonly push: (text: string) => CsvRecord[];
  /** The last record, if the text does not end with a line break. */
  readonly end: () => CsvRecord[];
  /** The character between fields, once known. */
  readonly delimiter: () => string | undefined;
};

const TAB = "\t";
const DELIMITERS = [",", ";", TAB];
/** Max length of a record: an unclosed quote must not fill the memory. */
const MAX_RECORD_CHARS = 1_048_576;
const TOO_LONG = `Is longer than ${MAX_RECORD_CHARS} characters: is a quote missing at the end of a field?`;
const NOT_CLOSED = "The quote at the start of a field is never closed";
const TEXT_AFTER_QUOTE =
  "A field has text after its closing quote: double the quotes inside a field";
const QUOTE_INSIDE =
  "A field contains a quote but is not quoted: quote the field, and double the quotes inside it";

/**
 * A reader for RFC 4180 that also accepts `;` and tabs, a first line `sep=;`, a byte order mark and any line break. Between tabs, a
 * field that is not quoted as a whole keeps its quotes, as spreadsheets copy it. Skips the line `#TYPE` of PowerShell, and records
 * without values.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4180
 * @example
 * ```ts
 * const reader = makeCsvReader();
 * const records = [...reader.push('a;b\r\n1;"two\n'), ...reader.push('lines"'), ...reader.end()];
 * expect(records.map(({ fields }) => fields.map(({ text }) => text))).toEqual([
 *   ["a", "b"],
 *   ["1", "two\nlines"],
 * ]);
 * expect(records.map(({ line }) => line)).toEqual([1, 2]);
 * ```
 */
export function makeCsvReader(): CsvReader {
  let text = "";
  let line = 1;
  let delimiter: string | undefined;
  let isStart = true;
  const findStart = (isEnd: boolean): void => {
    const found = findDelimiter(text, isEnd);
    if (found === undefined) return;
    delimiter = found.delimiter;
    line += countLines(text, 0, found.start);
    text = text.slice(found.start);
  };
  const read = (isEnd: boolean): CsvRecord[] => {
    if (delimiter === undefined) findStart(isEnd);
    if (delimiter === undefined) return [];
    const records: CsvRecord[] = [];
    let at = 0;
    while (at < text.length) {
      const scan = scanRecord(text, at, { delimiter, isEnd });
      if (scan === undefined) break;
      if (!isBlank(scan)) records.push({ line, fields: scan.fields, issues: scan.issues });
      line += countLines(text, at, scan.end);
      at = scan.end;
    }
    text = text.slice(at);
    if (text.length <= MAX_RECORD_CHARS) return records;
    records.push({ line, fields: [], issues: [TOO_LONG] });
    line += countLines(text, 0, text.length);
    text = "";
    return records;
  };
  return {
    push: (chunk) => {
      text += isStart ? chunk.replace(/^\uFEFF/, "") : chunk;
      isStart &&= chunk === "";
      return read(false);
    },
    end: () => read(true),
    delimiter: () => delimiter,
  };
}

/** The line that PowerShell writes before the names. */
const TYPE_LINE = /^#TYPE [^\r\n]*(?:\r\n?|\n)/;
/** The line that names a delimiter to Excel, with its line break. */
const SEPARATOR_LINE = /^(?:sep=([^"\r\n])|"sep=([^"\r\n])")(?:\r\n?|\n|$)/i;

/**
 * The delimiter, and where the first record begins; `undefined` while more text is needed. Without quoted text, it is the most
 * frequent delimiter of the first line. If the first line has several, one that divides the second line in as many fields is
 * preferred: a name can contain a comma.
 */
function findDelimiter(
  text: string,
  isEnd: boolean,
): { delimiter: string; start: number } | undefined {
  const isWhole = isEnd || text.length > MAX_RECORD_CHARS;
  const outside = text.replace(/"[^"]*("|$)/g, '""');
  const [, head = "", end = "", next = "", nextEnd = ""] =
    /^[\r\n]*([^\r\n]*)([\r\n]*)([^\r\n]*)([\r\n]?)/.exec(outside) ?? [];
  // The second half of a split line break can arrive later.
  if (!isWhole && (end === "" || (end === "\r" && next === "" && nextEnd === ""))) return undefined;
  const type = TYPE_LINE.exec(text)?.[0].length;
  if (type !== undefined) {
    const found = findDelimiter(text.slice(type), isEnd);
    return found && { ...found, start: found.start + type };
  }
  const separator = SEPARATOR_LINE.exec(text);
  const named = separator?.[1] ?? separator?.[2];
  if (separator !== null && named !== undefined)
    return { delimiter: named, start: separator[0].length };
  const used = DELIMITERS.filter((delimiter) => head.includes(delimiter));
  if (used.length > 1 && nextEnd === "" && !isWhole) return undefined;
  const count = (line: string, delimiter: string) => line.split(delimiter).length;
  const fitting = used.filter((candidate) => count(head, candidate) === count(next, candidate));
  const delimiter = (fitting.length === 0 ? DELIMITERS : fitting).reduce((best, other) =>
    count(head, other) > count(head, best) ? other : best,
  );
  return { delimiter, start: 0 };
}

type Scan = { fields: CsvField[]; issues: string[]; end: number };
type ScanOptions = { delimiter: string; isEnd: boolean };

/** The record at a position, or `undefined` while it is incomplete. */
function scanRecord(text: string, start: number, options: ScanOptions): Scan | undefined {
  const fields: CsvField[] = [];
  const issues = new Set<string>();
  for (let at = start; ; ) {
    const scan =
      text[at] === '"' ? scanQuoted(text, at, options) : scanPlain(text, at, options.delimiter);
    if (scan === undefined) return undefined;
    fields.push(scan.field);
    if (scan.issue !== undefined) issues.add(scan.issue);
    const next = text[scan.end];
    if (next === undefined && !options.isEnd) return undefined;
    // The second half of a split line break has not arrived.
    if (next === "\r" && scan.end + 1 === text.length && !options.isEnd) return undefined;
    at = scan.end + 1;
    if (next === options.delimiter) continue;
    const end = next === "\r" && text[at] === "\n" ? at + 1 : Math.min(at, text.length);
    return { fields, issues: [...issues], end };
  }
}

type FieldScan = { field: CsvField; end: number; issue?: string };

function scanPlain(text: string, start: number, delimiter: string): FieldScan {
  const end = findFieldEnd(text, start, delimiter);
  const field = { text: text.slice(start, end), isQuoted: false };
  const isWrong = delimiter !== TAB && field.text.includes('"');
  return isWrong ? { field, end, issue: QUOTE_INSIDE } : { field, end };
}

function scanQuoted(
  text: string,
  start: number,
  { delimiter, isEnd }: ScanOptions,
): FieldScan | undefined {
  for (let at = start + 1; ; ) {
    const close = text.indexOf('"', at);
    // A quote at the end of the chunk can be the first of two.
    if (!isEnd && (close === -1 || close + 1 === text.length)) return undefined;
    if (close === -1 && delimiter === TAB) return scanPlain(text, start, delimiter);
    if (close === -1)
      return { field: toQuoted(text, start, text.length), end: text.length, issue: NOT_CLOSED };
    at = close + 2;
    if (text[close + 1] === '"') continue;
    const end = findFieldEnd(text, close + 1, delimiter);
    const field = toQuoted(text, start, close);
    if (end === close + 1) return { field, end };
    if (delimiter === TAB) return scanPlain(text, start, delimiter);
    return { field, end, issue: TEXT_AFTER_QUOTE };
  }
}

function toQuoted(text: string, start: number, end: number): CsvField {
  return { text: text.slice(start + 1, end).replaceAll('""', '"'), isQuoted: true };
}

function findFieldEnd(text: string, start: number, delimiter: string): number {
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === delimiter || character === "\n" || character === "\r") return at;
  }
  return text.length;
}

/** Spreadsheets write rows without values as separators only. */
function isBlank({ fields }: Scan): boolean {
  return fields.every(({ text, isQuoted }) => text === "" && !isQuoted);
}

function countLines(text: string, start: number, end: number): number {
  let lines = 0;
  for (let at = start; at < end; at++) {
    const character = text[at];
    if (character === "\n" || (character === "\r" && text[at + 1] !== "\n")) lines++;
  }
  return lines;
}
