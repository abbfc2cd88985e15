/** Days of files: in the order that was chosen or that the file shows, and never with a guess that could swap day and month. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { column, listIssues, tableOf } from "../../test/support/row_files.ts";
import { drawRuns } from "../../test/support/tier.ts";
import {
  type DayOrder,
  decideDayOrder,
  makeMapping,
  makeRowsReader,
  makeSource,
  type RowsRead,
} from "./mod.ts";

const TABLE = tableOf(column("day", "date"), column("due", "timestamp"));

function readOnce(text: string, dayOrder?: DayOrder, isJson = false) {
  const reader = makeRowsReader(makeSource(isJson ? "ndjson" : "csv"), {
    ...{ table: TABLE, mapping: makeMapping(TABLE), dayOrder, offsetOf: () => "Z" },
  });
  const parts = [reader.push(text), reader.end()];
  return {
    rows: parts.flatMap(({ rows }) => rows),
    issues: parts.flatMap(({ issues }) => issues),
    order: decideDayOrder(reader.days()),
  };
}

/** As an import reads a file. */
function readFile(text: string, dayOrder?: DayOrder, isJson = false): RowsRead {
  const read = readOnce(text, dayOrder, isJson);
  return read.order === undefined ? read : readOnce(text, read.order, isJson);
}

const days = ({ rows }: RowsRead) => rows.map(({ values }) => values["day"] ?? values["due"]);
const toFile = (texts: readonly string[], name = "day") => `${name}\n${texts.join("\n")}\n`;
const JAN_2 = "2026-01-02";

describe("a day is read", () => {
  test.each([
    { name: "as the file shows: day first", texts: ["02.01.2026", "13.01.2026"], first: JAN_2 },
    { name: "as the file shows: month first", texts: ["1/2/2026", "01/13/2026"], first: JAN_2 },
    { name: "as chosen: day first", texts: ["2.1.2026"], order: "dmy", first: JAN_2 },
    { name: "as chosen: month first", texts: ["01-02-2026"], order: "mdy", first: JAN_2 },
    { name: "as chosen, of two digits", texts: ["2/1/26"], order: "dmy", first: JAN_2 },
    { name: "as chosen, before 2000", texts: ["2/1/30"], order: "dmy", first: "1930-01-02" },
    { name: "with spaces", texts: ["13. 1. 2026"], first: "2026-01-13" },
    { name: "with the year first", texts: ["2026/1/2"], first: JAN_2 },
    { name: "with midnight", texts: ["2026-01-02 00:00:00"], first: JAN_2 },
    { name: "with midnight, day first", texts: ["13.01.2026 00:00"], first: "2026-01-13" },
  ] as const)("$name", ({ texts, first, ...options }) => {
    const order = "order" in options ? options.order : undefined;
    const read = readFile(toFile(texts), order);
    expect(listIssues(read)).toEqual([]);
    expect(days(read)[0]).toBe(first);
    const lines = texts.map((day) => JSON.stringify({ day })).join("\n");
    expect(days(readFile(lines, order, true))[0]).toBe(first);
  });

  test.each([
    { text: "13.01.2026 9:05", value: "2026-01-13T09:05:00+00:00" },
    { text: "13.01.2026, 09:05:07", value: "2026-01-13T09:05:07+00:00" },
    { text: "1/13/2026 12:05 AM", value: "2026-01-13T00:05:00+00:00" },
    { text: "1/13/2026 2:05:07 pm", value: "2026-01-13T14:05:07+00:00" },
    { text: "13.01.2026 09:05 +02:00", value: "2026-01-13T07:05:00+00:00" },
    { text: "13.01.2026", value: "2026-01-13T00:00:00+00:00" },
  ])("with a time: $text", ({ text, value }) => {
    expect(days(readFile(`due;day\n${text};\n`))).toEqual([value]);
  });
});

describe("a file is rejected", () => {
  test.each([
    { name: "without a day that shows the order", texts: ["02.04.2026", "01/10/2026", "1/10/26"] },
    { name: "with a year that can be a day", texts: ["26/01/10", "15-01-26"] },
    { name: "with days that contradict each other", texts: ["13.01.2026", "01/13/2026", "1/2/26"] },
  ])("$name, with every line", ({ texts }) => {
    const { rows, issues } = readFile(toFile(texts));
    expect(rows).toEqual([]);
    expect(issues.map(({ line }) => line)).toEqual(texts.map((_, index) => index + 2));
  });

  test("with a day that does not exist in the chosen order", () => {
    expect(listIssues(readFile(toFile(["01/13/2026", "01/02/2026"]), "dmy"))).toEqual([
      "2: day: Is not a day as day.month.year: there is no month 13",
    ]);
  });

  test("with a time in a date", () => {
    expect(readFile(toFile(["2026-01-02 10:00"])).issues).toHaveLength(1);
  });
});

test("a day and its month are never swapped without a choice", () => {
  const day = fc
    .date({ min: new Date("1000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10));
  const style = fc.record({
    order: fc.constantFrom("dmy", "mdy"),
    mark: fc.constantFrom(".", "/", "-"),
    isPadded: fc.boolean(),
    isShort: fc.boolean(),
  });
  const row = fc.record({ day, style, isIso: fc.boolean() });
  const write = ({
    day,
    style,
    isIso,
  }: typeof row extends fc.Arbitrary<infer Row> ? Row : never) => {
    if (isIso) return day;
    const [year = "", ...rest] = day.split("-");
    const [month, date] = style.isPadded ? rest : rest.map((part) => String(Number(part)));
    const parts = style.order === "dmy" ? [date, month] : [month, date];
    return [...parts, style.isShort ? year.slice(2) : year].join(style.mark);
  };
  // One style for a file of one program, or any for each row.
  const file = fc.oneof(
    fc.array(row, { minLength: 1, maxLength: 6 }),
    fc
      .tuple(fc.array(row, { minLength: 1, maxLength: 6 }), style)
      .map(([rows, style]) => rows.map((line) => ({ ...line, style }))),
  );
  let stored = 0;
  fc.assert(
    fc.property(file, (rows) => {
      const read = readFile(toFile(rows.map(write)));
      const orders = new Set(rows.filter(({ isIso }) => !isIso).map(({ style }) => style.order));
      if (read.issues.length > 0) return;
      stored++;
      // A file that is stored has one order, or every other order gives the same days.
      for (const { line, values } of read.rows) {
        const source = rows[line - 2];
        if (source === undefined) throw new Error(`No line ${line}`);
        const isSame = source.day.slice(5, 7) === source.day.slice(8);
        if (orders.size === 1 || isSame || source.isIso)
          expect(String(values["day"]).slice(5)).toBe(source.day.slice(5));
      }
    }),
    drawRuns(5000),
  );
  expect(stored).toBeGreaterThan(0);
});
