/** Only `kinds/` knows what a kind of column is: a comparison with its name elsewhere is a place that a new kind silently misses. */
import { expect, test } from "bun:test";
import { Glob } from "bun";
import { KINDS } from "../../src/kinds/mod.ts";

const NAME = `(?:${KINDS.join("|")})`;
/** What has such a name elsewhere: values of other types, files, formats, fields. Only beside `kind` it is the name of a kind. */
const SHARED = ["string", "number", "boolean", "json", "date", "email", "url", "integer"];
const OWN = `(?:${KINDS.filter((kind) => !SHARED.includes(kind)).join("|")})`;
/** Lists of the service have kinds of columns of their own. */
const OTHERS = ["src/records/actions/list.ts"];

const FORBIDDEN = [
  `\\b\\w*[kK]ind\\)? [!=]== "${NAME}"`,
  `(?<!\\["type"\\]|\\["format"\\]|format|type|code|\\bkind\\)?) [!=]== "${OWN}"`,
  `case "${OWN}"`,
  `extends "${NAME}"`,
  // A list, or a table, of kinds.
  `\\[(?:"${NAME}",? ?)+\\]\\.(?:includes|some|indexOf)\\((?:\\w+\\.)*kind\\b`,
  `(?:indexOf|includes)\\("${OWN}"\\)`,
  "readonly Kind\\[\\] =",
  "Record<Kind,",
  `'kind' (?:=|<>|in \\()\\s*'${NAME}'`,
].map((text) => new RegExp(text, "g"));

const find = (text: string) => FORBIDDEN.flatMap((pattern) => text.match(pattern) ?? []);

test.each([
  'columns.filter(({ kind }) => kind === "ref")',
  'column.kind !== "string"',
  'kinds.some((each) => each === "enum")',
  'case "uuid":',
  'K extends "timestamp"',
  '["number", "decimal"].includes(column.kind)',
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
    (path) => !/^src\/kinds\/|_test\.tsx?$/.test(path) && !OTHERS.includes(path),
  );
  expect(paths.length).toBeGreaterThan(600);
  const found = await Promise.all(
    paths.map(async (path) => [path, find(await Bun.file(path).text())] as const),
  );
  expect(found.filter(([, texts]) => texts.length > 0)).toEqual([]);
});
