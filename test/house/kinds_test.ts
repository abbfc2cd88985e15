/** Only `kinds/` knows what a kind of column is: a comparison with its name elsewhere is a place that a new kind silently misses. */
import { expect, test } from "bun:test";
import { Glob } from "bun";
import { KINDS } from "../../src/kinds/mod.ts";

const NAME = `(?:${KINDS.join("|")})`;
/** Names that other words share: formats of files, controls of forms, types of JSON Schema. */
const OTHERS = /\b(?:cell|control|format|shape|type|\["type"\]|\["format"\])$/;
/** Whose own kinds have some of these names: columns of the service's lists. */
const OWN = ["src/records/actions/list.ts"];

const FORBIDDEN = [
  // A comparison; the kind is not what `typeof` returns.
  `(?<left>[\\w.?\\[\\]"()]+) [!=]== "${NAME}"`,
  `case "${NAME}"`,
  `extends "${NAME}"`,
  // A list, or a table, of kinds.
  `\\[(?:"${NAME}",? ?)+\\]\\.(?:includes|some|indexOf)\\((?!typeof)`,
  `(?:indexOf|includes)\\("${NAME}"\\)`,
  "readonly Kind\\[\\] =",
  "Record<Kind,",
  `'kind' (?:=|<>|in \\()\\s*'${NAME}'`,
].map((text) => new RegExp(text, "g"));

function find(text: string): string[] {
  return FORBIDDEN.flatMap((pattern) => [...text.matchAll(pattern)])
    .filter(({ index, groups: { left = "" } = {} }) => {
      const isTypeOf = /\btypeof [^=&|?\n]*$/.test(text.slice(Math.max(0, index - 60), index));
      return !isTypeOf && !OTHERS.test(left);
    })
    .map(([found]) => found);
}

test.each([
  'columns.filter(({ kind }) => kind === "ref")',
  'column.kind !== "enum"',
  'case "uuid":',
  'K extends "timestamp"',
  '["number", "decimal"].includes(kind)',
  "const TEXTS: Readonly<Record<Kind, boolean>> = {",
  "listed ->> 'kind' in ('decimal')",
])("%s is found", (text) => {
  expect(find(text)).toHaveLength(1);
});

test.each(['typeof value === "number"', 'format === "json"', '["string"].includes(typeof value)'])(
  "%s is no comparison of a kind",
  (text) => {
    expect(find(text)).toEqual([]);
  },
);

test("nothing outside kinds/ compares with a kind's name", async () => {
  const paths = [...new Glob("src/**/*.{ts,tsx,sql}").scanSync(".")].filter(
    (path) => !/^src\/kinds\/|_test\.tsx?$/.test(path) && !OWN.includes(path),
  );
  expect(paths.length).toBeGreaterThan(600);
  const found = await Promise.all(
    paths.map(async (path) => [path, find(await Bun.file(path).text())] as const),
  );
  expect(found.filter(([, texts]) => texts.length > 0)).toEqual([]);
});
