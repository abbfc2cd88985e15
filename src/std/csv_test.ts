import { expect, test } from "bun:test";
import fc from "fast-check";
import { drawRuns } from "../../test/support/tier.ts";
import { protectText, toCsvLine, unprotectText } from "./csv.ts";

test.each([
  { name: "a formula", text: "=1+1", field: "'=1+1" },
  { name: "a plus sign", text: "+cmd|' /C calc'!A0", field: "'+cmd|' /C calc'!A0" },
  { name: "a minus sign before a non-number", text: "-2+3", field: "'-2+3" },
  { name: "an at sign", text: "@SUM(A1)", field: "'@SUM(A1)" },
  { name: "a full-width equals sign", text: "＝1+1", field: "'＝1+1" },
  { name: "a full-width plus", text: "＋1+1", field: "'＋1+1" },
  { name: "a full-width minus", text: "－1+1", field: "'－1+1" },
  { name: "a full-width at sign", text: "＠x", field: "'＠x" },
  { name: "a formula after a semicolon", text: "a;=1+1", field: `"a;'=1+1"` },
  { name: "a formula after a tab", text: "a\t=1+1", field: `"a\t'=1+1"` },
  { name: "a formula after a line feed", text: "a\n=1+1", field: `"a\n'=1+1"` },
  { name: "a formula after a carriage return", text: "a\r@x", field: `"a\r'@x"` },
  { name: "a full-width formula after a semicolon", text: "a;＝1+1", field: `"a;'＝1+1"` },
  { name: "several formulas", text: "=1;=2\n+3", field: `"'=1;'=2\n'+3"` },
  { name: "a formula after only line feeds", text: "\n\n=1", field: `"'\n\n'=1"` },
  { name: "a leading null character", text: "\0=1", field: "'\0=1" },
  { name: "an apostrophe", text: "'", field: "''" },
  { name: "a quoted word", text: "'quoted", field: "''quoted" },
  { name: "an apostrophe before a formula", text: "'=1", field: "''=1" },
  { name: "an apostrophe before a formula on another line", text: "a\n'=1", field: `"a\n''=1"` },
  { name: "a telephone number", text: "+49 30 1234567", field: "'+49 30 1234567" },
  { name: "a leading tab", text: "\tx", field: `"'\tx"` },
])("toCsvLine() marks $name as text", ({ text, field }) =>
  expect(toCsvLine([text])).toBe(`${field}\r\n`),
);

test.each([
  "-1",
  "-1.5",
  "12",
  "a=b",
  "a-b",
  "1 + 1",
  "x@example.org",
  "a; b",
  "‑",
  "it's",
  "1e+21",
  "-1e-7",
])("toCsvLine() does not change %p", (text) =>
  expect(toCsvLine([text]).replaceAll('"', "")).toBe(`${text}\r\n`),
);

test("unprotectText() restores every text, and no protected text is a formula", () => {
  const unit = fc.constantFrom(
    "'",
    "=",
    "+",
    "-",
    "@",
    "＝",
    ";",
    "\t",
    "\r",
    "\n",
    "\0",
    "1",
    "a",
    " ",
  );
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
      const protectedText = protectText(text);
      expect(unprotectText(protectedText)).toBe(text);
      if (!/^-?\d+$/.test(text)) expect(protectedText).not.toMatch(/(^|[;\t\r\n])[=+\-@＝]/u);
    }),
    drawRuns(2000),
  );
});
