/** Texts of a spreadsheet that are pasted into the grid: read as those of a file, and never with a guess. */
import { expect, test } from "bun:test";
import { makePasteReader } from "../../src/pages/scripts/grid/paste_reader.ts";
import type { Kind } from "../../src/schema/mod.ts";

const paste = (kind: Kind, ...texts: string[]) => {
  const read = makePasteReader();
  const column = { name: "value", kind, required: false, unique: false, index: false };
  return texts.map((text, line) => read(column, text, line + 1));
};

test.each<{ kind: Kind; text: string; json: unknown }>([
  { kind: "date", text: "29.09.2025", json: "2025-09-29" },
  { kind: "date", text: "1/13/26", json: "2026-01-13" },
  { kind: "date", text: "2026-01-02 00:00:00", json: "2026-01-02" },
  { kind: "timestamp", text: "29.09.2025 14:30 +02:00", json: "2025-09-29T12:30:00+00:00" },
  { kind: "decimal", text: "4.405,85", json: "4405.85" },
  { kind: "integer", text: "1.234.567", json: 1_234_567 },
])("$text is pasted into a $kind", ({ kind, text, json }) => {
  expect(paste(kind, text)).toEqual([{ json: JSON.stringify(json) }]);
});

test.each<{ kind: Kind; text: string; says: string }>([
  { kind: "date", text: "02.04.2026", says: "Can be day.month.year or month/day/year" },
  { kind: "date", text: "01/10/2026", says: "Can be day.month.year or month/day/year" },
  { kind: "timestamp", text: "2026-01-10 12:00", says: "Has no time zone: add UTC or an offset" },
  ...(["integer", "number", "decimal", "string"] as const).map((kind) => ({
    ...{
      kind,
      text: "1,23E+12",
      says: "Has only the digits that the spreadsheet had room to show",
    },
  })),
  {
    kind: "integer",
    text: "####",
    says: "Has only the digits that the spreadsheet had room to show",
  },
  { kind: "decimal", text: "1,234", says: "Can mean two numbers" },
])("$text in a $kind is an error", ({ kind, text, says }) => {
  expect(paste(kind, text)).toEqual([{ issue: expect.stringContaining(says) }]);
});

test("another cell of the paste does not tell the order of a day", () => {
  expect(paste("date", "13.01.2026", "02.04.2026")[1]).toHaveProperty("issue");
});
