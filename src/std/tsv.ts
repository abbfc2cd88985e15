/** Tables as spreadsheets put them on the clipboard: lines of values, separated by tabs; a value with either is quoted. @module */

/**
 * @example
 * ```ts
 * expect(toTsv([["a", 'b\tc "d"'], ["", "e\nf"]])).toBe('a\t"b\tc ""d"""\n\t"e\nf"');
 * ```
 */
export function toTsv(lines: readonly (readonly string[])[]): string {
  return lines.map((values) => values.map(toField).join("\t")).join("\n");
}

function toField(text: string): string {
  return /[\t\r\n]|^"/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * The values of each line. Only a value that begins with a quote is quoted; the line break after the last line is no line.
 *
 * @example
 * ```ts
 * expect(readTsv('a\t5" disk\r\n\t"e\nf"\r\n')).toEqual([["a", '5" disk'], ["", "e\nf"]]);
 * ```
 */
export function readTsv(text: string): string[][] {
  const lines: string[][] = [[]];
  let at = 0;
  while (at <= text.length) {
    const { value, end } = readField(text, at);
    lines.at(-1)?.push(value);
    const isLine = text.startsWith("\n", end) || text.startsWith("\r", end);
    at = text.startsWith("\r\n", end) ? end + 2 : end + 1;
    if (at >= text.length && (isLine || end >= text.length)) break;
    if (isLine) lines.push([]);
  }
  return lines;
}

const FIELD_END = /[\t\r\n]/g;

function readField(text: string, start: number): { value: string; end: number } {
  const quoted = text[start] === '"' ? /"((?:[^"]|"")*)"(?=[\t\r\n]|$)/y : undefined;
  if (quoted !== undefined) {
    quoted.lastIndex = start;
    const [whole, inner = ""] = quoted.exec(text) ?? [];
    if (whole !== undefined)
      return { value: inner.replaceAll('""', '"'), end: start + whole.length };
  }
  FIELD_END.lastIndex = start;
  const end = FIELD_END.exec(text)?.index ?? text.length;
  return { value: text.slice(start, end), end };
}
