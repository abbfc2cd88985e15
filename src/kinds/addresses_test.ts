/** Which texts are an email address and a URL, and what the Console links. */
import { expect, test } from "bun:test";
import { cases } from "../../test/support/cases.ts";
import { renderRowField } from "../pages/rows/fields.tsx";
import { renderCell } from "../pages/rows/mod.ts";
import { TEXTS } from "../pages/rows/row.ts";
import { FIELDS, type Kind, VALUES } from "./mod.ts";

const longest = `https://example.org/${"x".repeat(2028)}`;

test.each(cases("kind", "text", "stored")`
  email | ada@example.org                     | ada@example.org
  email | Ada.L+x@Example.ORG                 | ada.l+x@example.org
  email | ada@example                         |
  email | ada@@example.org                    |
  email | Ada <ada@example.org>               |
  email | a..b@example.org                    |
  email | ada@exämple.org                     |
  email | ${`${"x".repeat(64)}@example.org`}  | ${`${"x".repeat(64)}@example.org`}
  email | ${`${"x".repeat(65)}@example.org`}  |
  email | ${`a@${"y.".repeat(125)}org`}       |
  url   | https://example.org                 | https://example.org
  url   | HTTPS://example.org/                |
  url   | http://Localhost:8080/a?b=%5bc%5D#d | http://Localhost:8080/a?b=%5bc%5D#d
  url   | http://localhost/a?b=[c]            |
  url   | http://localhost/a#b#c              |
  url   | http://localhost/100%               |
  url   | https://1.2.3.4/                    | https://1.2.3.4/
  url   | ${longest}                          | ${longest}
  url   | ${`${longest}x`}                    |
  url   | https://1.2.3.400/                  |
  url   | https://example.org:65536/          |
  url   | https://user:secret@example.org/    |
  url   | https://[::1]/                      |
  url   | https://example.org\\@other.org     |
  url   | https://example.org/a b             |
  url   | https://example.org/ä               |
  url   | //example.org/                      |
  url   | ftp://example.org/                  |
  url   | javascript:alert(1)                 |
`)("$kind: $text is stored as '$stored'", ({ kind, text, stored }) => {
  const read = VALUES[kind as Kind].read(text, {});
  expect("value" in read ? read.value : "").toBe(stored);
  if (kind === "url" && stored !== "") expect(new URL(text).host).not.toBe("");
});

test.each(["https://exämple.org/ä b?c=ä", " https://example.org "])(
  "a URL is typed, and read from a file, as browsers send it: %s",
  (text) => {
    const { href } = new URL(text);
    const sent = text.trim() === "https://example.org" ? text.trim() : href;
    expect(JSON.parse(FIELDS.url.toJson?.(text) ?? "")).toBe(sent);
    expect(VALUES.url.fromCsv?.(text, {} as never)).toEqual({ value: sent });
  },
);

test("characters that browsers leave in a query are encoded", () => {
  const typed = "https://a.org/?a[b]=`{|}^";
  const value = "https://a.org/?a%5Bb%5D=%60%7B%7C%7D%5E";
  expect(VALUES.url.fromCsv?.(typed, {} as never)).toEqual({ value });
  expect(VALUES.url.read(value, {})).toEqual({ value });
});

test("two URLs in a cell of a file are not joined", () => {
  const text = "https://a.org/x\nhttps://b.org/y";
  const read = VALUES.url.fromCsv?.(text, {} as never) ?? {};
  expect(read).toEqual({ value: text });
  expect(VALUES.url.read(text, {})).toHaveProperty("issue");
});

const renderBoth = (kind: Kind, value: string) => {
  const column = { name: "x", kind, required: false, unique: false, index: false };
  const row = { id: "0", x: value, [TEXTS]: new Map() };
  const cell = renderCell(column, row, { tables: "" }).markup;
  const field = renderRowField({ column, state: { text: value }, issues: [] }).markup;
  return { cell, field };
};

test.each(cases("kind", "value", "href")`
  email | ada?a=b@example.org | mailto:ada%3Fa%3Db@example.org
  url   | https://a.org/?a&b  | https://a.org/?a&amp;b
`)("a cell and a form link $value, and a form has an input for it", ({ kind, value, href }) => {
  const { cell, field } = renderBoth(kind as Kind, value);
  for (const html of [cell, field]) {
    expect(html).toContain(`href="${href}"`);
    expect(html).toContain('rel="noopener noreferrer"');
  }
  expect(field).toContain(`type="${kind}"`);
  expect(field).toContain(`inputmode="${kind}"`);
});

test("no other stored text is a link", () => {
  for (const value of ["javascript:alert(1)", "data:text/html,x", "https://a@b.org", "x@y"])
    for (const kind of ["email", "url"] as const) {
      const { cell, field } = renderBoth(kind, value);
      expect(cell + field).not.toContain("href=");
    }
});
