/** The search of a table in the fragment of a URL: reads its own text back, and any other text without an error. */
import { describe, expect, test } from "bun:test";
import { QUERY_LIMITS } from "../../../data/query/filter.ts";
import { matches } from "../../../sdk/data.ts";
import {
  CREATED,
  isWhole,
  listQueries,
  listUnread,
  NO_SEARCH,
  type OperatorName,
  readPageNumber,
  readState,
  type SearchColumn,
  type SearchState,
  toFragment,
  toParameters,
  toWhere,
} from "./state.ts";

const COLUMNS: readonly SearchColumn[] = [
  { name: "id", kind: "uuid", required: true },
  { name: "title", kind: "string", required: true },
  { name: "note", kind: "string", required: false },
  { name: "hours", kind: "decimal", required: false },
  { name: "count", kind: "number", required: false },
  { name: "done", kind: "boolean", required: true },
  { name: "meta", kind: "json", required: false },
];

describe("a fragment", () => {
  test.each<{ name: string; state: SearchState }>([
    { name: "without conditions", state: NO_SEARCH },
    { name: "with a text", state: { ...NO_SEARCH, text: "a&b=c#d.e %2A *" } },
    {
      name: "with conditions and an order",
      state: {
        text: "",
        conditions: [
          { column: "title", operator: "contains", value: "a.b.c\n&" },
          { column: "title", operator: "eq", value: "" },
          { column: "note", operator: "present", value: "" },
          { column: "hours", operator: "gte", value: "-1.50" },
        ],
        order: { column: "hours", isDescending: true },
      },
    },
  ])("$name is read back unchanged", ({ state }) => {
    expect(readState(toFragment(state), COLUMNS)).toEqual(state);
    expect(readPageNumber(toFragment(state, 7))).toBe(7);
  });

  test.each([
    "#main",
    "#where=nope.eq.1",
    "#where=title.constructor.x",
    "#where=title",
    "#where=title.null",
    "#where=done.contains.x",
    "#where=meta.eq.1",
    "#order=meta",
    "#order=nope.desc",
    "#order=title.sideways",
    "#where=__proto__.eq.1&order=__proto__",
    "#%E0%A4%A",
  ])("%s means no search", (fragment) => {
    expect(readState(fragment, COLUMNS)).toEqual(NO_SEARCH);
  });

  test("names the conditions that are not read", () => {
    const read = ["title.eq.a", "note.null"];
    const unread = ["nope.eq.1", "title", "done.contains.x", "meta.eq.1"];
    const fragment = new URLSearchParams([...read, ...unread].map((text) => ["where", text]));
    expect(listUnread(`#${fragment}`, COLUMNS)).toEqual(unread);
  });

  test.each(["0", "-1", "1.5", "x", "99999999"])("page %s means the first page", (page) => {
    expect(readPageNumber(`#page=${page}`)).toBe(1);
  });
});

test.each([
  { operator: "neq", value: "open", note: null, found: true },
  { operator: "neq", value: "open", note: "done", found: true },
  { operator: "neq", value: "open", note: "open", found: false },
  { operator: "eq", value: "open", note: null, found: false },
] as const)("$operator $value of a cell with $note: $found", ({ operator, value, note, found }) => {
  const conditions = [{ column: "note", operator, value }];
  const row = { id: "0190163d-8694-739b-aea5-966c26f8ad91", title: "a", note };
  expect(matches(row, toWhere({ ...NO_SEARCH, conditions }, COLUMNS))).toBe(found);
});

test.each([
  { column: "count", value: "many" },
  { column: "count", value: "9007199254740993" },
  { column: "count", value: "1e999" },
  { column: "done", value: "maybe" },
])("$value in $column stays the text that was typed", ({ column, value }) => {
  const conditions = [{ column, operator: "eq" as const, value }];
  expect(toWhere({ ...NO_SEARCH, conditions }, COLUMNS)).toEqual({
    and: [{ [column]: { eq: value } }],
  });
});

test("a text is searched in texts first, then in JSON, then in the texts of references", () => {
  const host: SearchColumn = { name: "host", kind: "ref", required: false, label: "name" };
  const state = { ...NO_SEARCH, text: "ada" };
  const shown = (columns: readonly SearchColumn[]) =>
    listQueries(state, columns).map((query) => [
      ...new Set(String(query).match(/\b(title|meta|host)\b/g)),
    ]);
  const [, title, , , , , meta] = COLUMNS;
  if (title === undefined || meta === undefined) throw new Error("No columns");
  expect(shown([title, meta, host])).toEqual([
    ["title"],
    ["title", "meta"],
    ["title", "meta", "host"],
  ]);
  expect(shown([title])).toEqual([["title"]]);
  expect(listQueries(NO_SEARCH, [title, meta, host])).toHaveLength(1);
});

test("an order and conditions by creation are those of the times in ids", () => {
  const columns: SearchColumn[] = [
    ...COLUMNS,
    { name: CREATED, kind: "timestamp", required: true },
  ];
  const value = "2026-01-02T03:04:05.000Z";
  const test = (operator: OperatorName) =>
    toParameters({ ...NO_SEARCH, conditions: [{ column: CREATED, operator, value }] }, columns);
  const [first, next] = ["019b7ca9-8c88", "019b7ca9-9070"].map(
    (start) => `${start}-0000-0000-000000000000`,
  );
  expect(test("gte")).toEqual([["id", `gte.${first}`]]);
  expect(test("lt")).toEqual([["id", `lt.${first}`]]);
  expect(test("gt")).toEqual([["id", `gte.${next}`]]);
  expect(test("lte")).toEqual([["id", `lt.${next}`]]);
  const order = { column: CREATED, isDescending: true };
  expect(toParameters({ ...NO_SEARCH, order }, columns)).toEqual([["order", "id.desc"]]);
  expect(readState(toFragment({ ...NO_SEARCH, order }), columns).order).toEqual(order);
});

describe("a text", () => {
  const row = { title: "Water", note: null, hours: "12.50", count: 3, done: true };
  const id = "0190163d-8694-739b-aea5-966c26f8ad91";
  test.each([
    { text: "wat", found: true },
    { text: "12.5", found: true },
    { text: "3", found: true },
    { text: id.toUpperCase(), found: true },
    { text: "w*r", found: false },
    { text: "true", found: true },
    { text: "false", found: false },
    { text: "%", found: false },
  ])("$text is found: $found", ({ text, found }) => {
    const where = toWhere({ ...NO_SEARCH, text }, COLUMNS);
    const kinds = Object.fromEntries(COLUMNS.map((column) => [column.name, { column }]));
    expect(matches({ id, ...row }, where, kinds)).toBe(found);
  });

  test("has no match in a table that cannot contain it", () => {
    const columns = COLUMNS.filter(({ kind }) => kind === "uuid");
    expect(matches({ id }, toWhere({ ...NO_SEARCH, text: "x" }, columns))).toBe(false);
  });
});

test("a text is searched in as many columns as the list endpoint accepts, own ones first", () => {
  const state = { ...NO_SEARCH, text: "ada" };
  const texts = (count: number): SearchColumn[] =>
    Array.from({ length: count }, (_, n) => ({ name: `t${n}`, kind: "string", required: false }));
  const labeled = (count: number): SearchColumn[] =>
    Array.from({ length: count }, (_, n) => ({
      ...{ name: `r${n}`, kind: "ref", required: false, label: "name" },
    }));
  const searched = (columns: readonly SearchColumn[]) =>
    Object(toWhere(state, columns)).and[0].or.map((test: object) => Object.keys(test)[0]);
  expect(searched([...labeled(4), ...texts(2)])).toEqual([
    "t0",
    "t1",
    "r0.name",
    "r1.name",
    "r2.name",
  ]);
  expect(searched(texts(31)).length).toBeGreaterThan(20);
  expect(searched(texts(31)).length).toBeLessThan(QUERY_LIMITS.conditions);
  for (const [columns, isAll] of [
    [[...labeled(QUERY_LIMITS.references), ...texts(21)], true],
    [labeled(QUERY_LIMITS.references + 1), false],
    [texts(25), false],
  ] as const)
    expect(isWhole(state, columns)).toBe(isAll);
  expect(isWhole(NO_SEARCH, texts(25))).toBe(true);
});
