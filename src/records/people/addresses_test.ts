/** Addresses as people type and paste them, one at a time and in lists. */
import { describe, expect, test } from "bun:test";
import { cases } from "../../../test/support/cases.ts";
import { readEmail, splitEmails, toCanonicalEmail } from "./mod.ts";

describe("an address is understood", () => {
  test.each([
    ["Ada@Example.org", "ada@example.org"],
    [" ada@example.org\n", "ada@example.org"],
    ["\u00a0ada@example.org\u200b", "ada@example.org"],
    ["\ufeffada@exam\u00adple.org", "ada@example.org"],
    ["ada＠example．org", "ada@example.org"],
    ["ａｄａ@example.org", "ada@example.org"],
    ["mailto:ada@example.org", "ada@example.org"],
    ["MAILTO:ada@example.org?subject=hi", "ada@example.org"],
    ["<ada@example.org>", "ada@example.org"],
    ["<mailto:ada@example.org>", "ada@example.org"],
    ["Ada L. <ada@example.org>", "ada@example.org"],
    ['"Lovelace, Ada" <ada@example.org>;', "ada@example.org"],
    ["“ada@example.org”", "ada@example.org"],
    ['"ada@example.org" <mailto:Ada@example.org>', "ada@example.org"],
    ["ada@example.org,", "ada@example.org"],
    ["ada @ example.org", "ada@example.org"],
    ["bo@müller.example", "bo@xn--mller-kva.example"],
    ["bo@MÜLLER.example", "bo@xn--mller-kva.example"],
    ["bo@mu\u0308ller.example", "bo@xn--mller-kva.example"],
    ["bo@xn--mller-kva.example", "bo@xn--mller-kva.example"],
    ["bo@例え.jp", "bo@xn--r8jz45g.jp"],
    ["o'neil+x@example.org", "o'neil+x@example.org"],
  ])("%p is %p", (text, want) => {
    expect(toCanonicalEmail(text)).toBe(want);
    expect(readEmail(text)).toBe(want);
  });
});

test.each([
  ["", "must look like"],
  ["ada", "must look like"],
  ["@example.org", "must look like"],
  ["ada@localhost", "must look like"],
  ["ada@exa mple.org", "must look like"],
  ["adä@example.org", "the part before the @"],
  ["ada@example.org bo@example.org", "must be one address"],
  ["ada@<x>.org", "must look like"],
  ["ada@ехample.org", "must look like"],
  ["bo@evil.example <ada@example.org>", "must be one address"],
])("%p is not an address, with the reason", (text, why) => {
  expect(() => readEmail(text)).toThrow(why);
});

test.each(cases("text", "want")`
  Ada L. <ada@example.org>; bo@example.org                 | ada@example.org, bo@example.org
  ada@example.org, bo@example.org                          | ada@example.org, bo@example.org
  ada@example.org\r\nbo@example.org\n\n                    | ada@example.org, bo@example.org
  ada@example.org bo@example.org                           | ada@example.org, bo@example.org
  ada@example.org\tbo@example.org                          | ada@example.org, bo@example.org
  ada@example.org；bo@example.org、cy@example.org            | ada@example.org, bo@example.org, cy@example.org
  "Lovelace, Ada" <ada@example.org>, Bo <bo@example.org>   | ada@example.org, bo@example.org
  Lovelace, Ada <ada@example.org>; Li, Bo <bo@example.org> | ada@example.org, bo@example.org
  ada@example.org, Bo <bo@example.org>                     | ada@example.org, bo@example.org
  <ada@example.org>,<bo@example.org>                       | ada@example.org, bo@example.org
  ada@example.org, bo, cy@example.org                      | ada@example.org, bo, cy@example.org
  ${" ; ,\n"}
`)("a list is split: $text", ({ text, want }) => {
  expect(splitEmails(text).map(toCanonicalEmail)).toEqual(want === "" ? [] : want.split(", "));
});
