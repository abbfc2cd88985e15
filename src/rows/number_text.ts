/** Numbers as spreadsheets write them: with a decimal comma and separated thousands, as the computer's language has them. @module */

type DecimalMark = "," | ".";

type NumberText = { readonly text: string; readonly mark?: DecimalMark } | { issue: string };

export type NumberReader = (
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

function explainEither(point: string): string {
  return `Can mean two numbers: write ${point.replace(".", "")} or ${point}0`;
}
