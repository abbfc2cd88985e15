import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { drawRuns } from "../../test/support/tier.ts";
import { isDecimal } from "./decimal.ts";
import { isUuid } from "./patterns.ts";
import { cut, quote } from "./quote.ts";
import { isStorableText, utf8Length } from "./text.ts";

describe("isDecimal()", () => {
  test.each(
    [
      { text: "0", want: true },
      { text: "-0.0", want: true },
      { text: "007", want: true },
      { text: "9".repeat(400), want: true },
      { text: "9".repeat(401), want: false },
      { text: "", want: false },
      { text: "-", want: false },
      { text: ".5", want: false },
      { text: "5.", want: false },
      { text: "+5", want: false },
      { text: "1e3", want: false },
      { text: "1,5", want: false },
      { text: " 1", want: false },
      { text: "1\n", want: false },
      { text: "NaN", want: false },
      { text: "٣", want: false },
    ].map(toNamed),
  )("returns $want for $name", ({ text, want }) => expect(isDecimal(text)).toBe(want));
});

describe("isUuid()", () => {
  test.each(
    [
      { text: "00000000-0000-0000-0000-000000000000", want: true },
      { text: "0190163D-8694-739B-AEA5-966C26F8AD91", want: true },
      { text: "0190163d8694739baea5966c26f8ad91", want: false },
      { text: "{0190163d-8694-739b-aea5-966c26f8ad91}", want: false },
      { text: "0190163d-8694-739b-aea5-966c26f8ad9", want: false },
      { text: "0190163d-8694-739b-aea5-966c26f8ad9g", want: false },
      { text: "0190163d-8694-739b-aea5-966c26f8ad91\n", want: false },
      { text: "", want: false },
    ].map(toNamed),
  )("returns $want for $name", ({ text, want }) => expect(isUuid(text)).toBe(want));
});

describe("isStorableText()", () => {
  test.each([
    { name: "nothing", text: "", want: true },
    { name: "a pair of surrogates", text: "\ud83d\ude42", want: true },
    { name: "a high surrogate", text: "a\ud83d", want: false },
    { name: "a low surrogate", text: "\ude42a", want: false },
    { name: "surrogates in reverse order", text: "\ude42\ud83d", want: false },
    { name: "U+0000", text: "a\u0000", want: false },
    { name: "U+0001 and U+FFFF", text: "\u0001\uffff", want: true },
  ])("returns $want for $name", ({ text, want }) => expect(isStorableText(text)).toBe(want));
});

test("utf8Length() agrees with TextEncoder on any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
    }),
    drawRuns(1000),
  );
});

describe("quote()", () => {
  test.each([
    { name: "a terminal's escape", text: "\u001b[31m\u009b", want: '"\\u001b[31m\\u009b"' },
    { name: "text with a bidirectional override", text: "a\u202eb", want: '"a\\u202eb"' },
    { name: "a line separator", text: "a\u2028b", want: '"a\\u2028b"' },
    { name: "an invisible tag character", text: "\u{e0041}", want: '"\\udb40\\udc41"' },
    { name: "80 characters", text: "x".repeat(80), want: `"${"x".repeat(80)}"` },
    { name: "81 characters", text: "x".repeat(81), want: `"${"x".repeat(79)}…"` },
  ])("escapes or shortens $name", ({ text, want }) => expect(quote(text)).toBe(want));

  test("cuts before it escapes, so that a megabyte is cheap", () => {
    expect(cut("\u0000".repeat(1_000_000))).toHaveLength(80);
    expect(quote("\u0000".repeat(1_000_000)).length).toBeLessThan(500);
  });
});

function toNamed(row: { readonly text: string; readonly want: boolean }) {
  return { ...row, name: quote(row.text) };
}
