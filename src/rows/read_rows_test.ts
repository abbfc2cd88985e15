/** Files of rows: parsing in pieces of any size, and exports that are read back unchanged. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { cases } from "../../test/support/cases.ts";
import { column, listIssues, tableOf } from "../../test/support/row_files.ts";
import { drawRuns } from "../../test/support/tier.ts";
import type { Json, TableDefinition } from "../schema/mod.ts";
import { splitObject } from "../std/json_text.ts";
import { utf8Length } from "../std/text.ts";
import {
  CUT_SHORT,
  type FileFormat,
  type MappingOptions,
  type Match,
  makeBatcher,
  makeMapping,
  makeRowsReader,
  makeRowsWriter,
  makeSource,
  type RowsRead,
  readMatch,
  type SourceOptions,
} from "./mod.ts";

const ALL_KINDS = tableOf(
  column("title", "string"),
  column("size", "number"),
  column("count", "integer"),
  column("price", "decimal"),
  column("done", "boolean"),
  column("token", "uuid"),
  column("due", "timestamp"),
  column("day", "date"),
  column("tags", "json"),
  column("status", "enum", { values: ["open", "to do", ""] }),
  column("project", "ref", { table: "projects" }),
);

type ReadOptions = MappingOptions &
  SourceOptions & {
    table?: TableDefinition;
    format?: FileFormat;
    matches?: ReadonlyMap<string, Match>;
    offsetOf?: () => string;
  };

/** Reads a file that arrives in these pieces. */
function readPieces(pieces: readonly string[], options: ReadOptions = {}): RowsRead {
  const { table = ALL_KINDS, format = "csv", matches = new Map(), offsetOf } = options;
  const mapping = makeMapping(table, options);
  const reader = makeRowsReader(makeSource(format, options), { table, mapping, matches, offsetOf });
  const parts = [...pieces.map(reader.push), reader.end()];
  return { rows: parts.flatMap(({ rows }) => rows), issues: parts.flatMap(({ issues }) => issues) };
}

const read = (text: string, options?: ReadOptions) => readPieces([text], options);
describe("an export is read back unchanged", () => {
  const hostile = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.string({
      unit: fc.constantFrom('"', ",", ";", "\t", "\r", "\n", "\uFEFF", "=", "'", " ", "a"),
    }),
    fc.constantFrom(
      ...["1.23E+12", "#####", "", " ", '"', '""', "null", "id,title", "=1+1", "'=1", "\r\n"],
      ...["NULL", "0"],
    ),
  );
  const storable = hostile.filter((text) => !text.includes("\0"));
  const number = fc
    .double({ noDefaultInfinity: true, noNaN: true })
    .map((value) => (Object.is(value, -0) ? 0 : value));
  const jsonNumber = number.filter(
    (value) => value === 0 || (Math.abs(value) >= 1e-39 && Math.abs(value) < 1e40),
  );
  const json = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.boolean(),
      jsonNumber,
      storable,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(
        storable.filter((key) => key !== "__proto__"),
        tie("value"),
        { maxKeys: 3, noNullPrototype: true },
      ),
    ),
  })).value;
  const row = fc.record({
    title: fc.option(storable),
    size: fc.option(number),
    count: fc.option(fc.maxSafeInteger()),
    price: fc.option(fc.constantFrom("0", "-12.50", "12345678901234567890.000000001")),
    done: fc.option(fc.boolean()),
    token: fc.option(fc.uuid()),
    due: fc.option(
      fc.constantFrom("2026-01-02T03:04:05.123456+00:00", "0001-01-01T00:00:00+00:00"),
    ),
    day: fc.option(fc.constantFrom("0001-01-01", "2024-02-29")),
    tags: fc.option(json),
    status: fc.option(fc.constantFrom("open", "to do", "")),
    project: fc.option(fc.uuid()),
  });

  test.each([
    { format: "csv", name: "CSV" },
    { format: "csv", name: "CSV for spreadsheets", isInert: true },
    { format: "ndjson", name: "NDJSON" },
  ] as const)("as $name, in pieces of any size", ({ format, isInert = false }) => {
    fc.assert(
      fc.property(
        fc.array(row, { maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 }),
        (rows, sizes) => {
          const writer = makeRowsWriter(ALL_KINDS, format, { isInert });
          const rowsOfFile = rows.map((values, index) => ({
            id: `0190163d-8694-739b-aea5-${String(index).padStart(12, "0")}`,
            app_id: "app",
            ...values,
          }));
          const text =
            writer.start +
            rowsOfFile.map((row) => writer.toText(splitObject(JSON.stringify(row)))).join("");
          const result = readPieces(split(text, sizes), { format });
          expect(result.issues).toEqual([]);
          expect(result.rows.map(({ values }) => values)).toEqual(rows as never);
        },
      ),
      drawRuns(1000),
    );
  });

  test("as CSV for spreadsheets that another program saved, if the import removes apostrophes", () => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), (rows) => {
        const writer = makeRowsWriter(ALL_KINDS, "csv", { isInert: true });
        const texts = rows.map((values, id) => splitObject(JSON.stringify({ id, ...values })));
        const text = texts.map(writer.toText).join("");
        const saved = `id,${ALL_KINDS.columns.map(({ name }) => name).join(",")}\r\n${text}`;
        const { rows: read } = readPieces([saved], { isProtected: true });
        expect(read.map(({ values }) => values)).toEqual(rows as never);
      }),
      drawRuns(300),
    );
  });

  /** Splits a text into pieces of these sizes, repeatedly. */
  function split(text: string, sizes: readonly number[]): string[] {
    const pieces: string[] = [];
    for (let at = 0; at < text.length; ) {
      const size = sizes[pieces.length % sizes.length] ?? 1;
      pieces.push(text.slice(at, at + size));
      at += size;
    }
    return pieces;
  }
});

test("any text is read without an exception, in one piece or two with equal results", () => {
  const unit = fc.constantFrom('"', ",", ";", "\r", "\n", "a", "{", "}", "[", "]", ":", "1", "\\");
  fc.assert(
    fc.property(
      fc.string({ unit }),
      fc.nat(),
      fc.constantFrom("csv" as const, "ndjson" as const),
      (text, at, format) => {
        const options = { table: tableOf(column("a", "string")), format };
        const cut = at % (text.length + 1);
        expect(readPieces([text.slice(0, cut), text.slice(cut)], options)).toEqual(
          read(text, options),
        );
      },
    ),
    drawRuns(2000),
  );
});

describe("a CSV", () => {
  const titles = tableOf(column("title", "string"), column("size", "number"));
  test.each(cases("name", "text")`
    with commas                                  | title,size\na,1\n
    with semicolons                              | title;size\r\na;1
    with tabs                                    | title\tsize\ra\t1\r
    with a byte order mark and blank lines       | \uFEFFtitle,size\n\n\na,1\n\n
    with quotes around all fields                | "title","size"\n"a","1"
    with column names in another case            | Title , SIZE\na,1
    with a line that names the separator         | sep=|\r\ntitle|size\r\na|1\r\n
    with a quoted line that names the separator  | "sep=,"\ntitle,size\na,1
    with the type that PowerShell writes         | #TYPE A.B\r\n"title","size"\r\n"a","1"
    with more separators in every line           | title,size,,\na,1,,\n
    with more separators in some lines           | title;size;;\na;1;\n;;;;\n
    with more separators only in the rows        | title,size\na,1,,\n
    with a first column without values           | ,title,size\n,a,1\n
    with rows and lines without values           | \n,\n,\ntitle,size\n,\n,\na,1\n,\n\n,,,\n
    with a column of the service in two languages | id;size;title\nx;1,0;a
    with ids and a different column order        | app_id,size,id,title\nx,1,y,a
  `)("$name is read", ({ text }) => {
    const { rows, issues } = read(text, { table: titles });
    expect(issues).toEqual([]);
    expect(rows.map(({ values }) => values)).toEqual([{ title: "a", size: 1 }]);
  });

  test.each(cases("name", "text")`
    a comma in a name                      | title (long, wide);size\na;1\n
    more commas than semicolons in names   | title (a, b, c);size\na;1\n
    a quoted comma in a name               | "title (a, b, c)";size\na;1\n
    decimal commas                         | title (x);size\na;1,0\nb;2,0
  `)("with semicolons and $name is read", ({ text }) => {
    const [name = ""] = text.split(";");
    const map = new Map([[name.replaceAll('"', ""), "title"]]);
    const { rows, issues } = read(text, { table: titles, map });
    expect(issues).toEqual([]);
    expect(rows[0]?.values).toEqual({ title: "a", size: 1 });
  });

  test("with values in a column without a name is an error that names it, unless it is left out or mapped", () => {
    const text = ",title,size\n0,a,1\n1,b,2\n";
    expect(listIssues(read(text, { table: titles }))).toEqual([
      "2: Column #1 has a value but no name: name it in the file, map it to a column, or leave it out",
    ]);
    expect(read(text, { table: titles, skip: ["#1"] }).rows).toHaveLength(2);
    const map = new Map([["#1", "title"]]);
    const mapped = read(text, { table: titles, map, skip: ["title"] });
    expect(mapped.rows.map(({ values }) => values["title"])).toEqual(["0", "1"]);
  });

  test("with a repeated name is read if both columns are left out", () => {
    const text = "title,Comments,Comments\na,x,y\n";
    expect(listIssues(read(text, { table: titles, skip: ["Comments"] }))).toEqual([]);
    expect(listIssues(read(text, { table: titles }))[0]).toBe(
      '1: "Comments" is the name of 2 columns',
    );
  });

  test("with values beyond its names is an error", () => {
    expect(listIssues(read("title,size\na,1,2\n", { table: titles }))).toEqual([
      "2: Must have as many fields as the first line: 2, not 3",
    ]);
  });

  test.each(["\n", ",\n", ";\n", "\t\n", ",,,,\n"])(
    "has no rows of nulls for the blank line %j",
    (blank) => {
      const separator = blank[0] === "\n" ? "," : blank[0];
      const text = `label${separator}color\nred${separator}\n${blank.repeat(3)}`;
      const table = tableOf(column("label", "string"), column("color", "string"));
      expect(read(text, { table }).rows.map(({ values }) => values)).toEqual([
        { label: "red", color: null },
      ]);
    },
  );

  test("is read without the apostrophes of an export only if it has the export's mark, or on request", () => {
    const texts = (text: string, options: ReadOptions = {}) =>
      read(text, { table: titles, ...options }).rows.map(({ values }) => values["title"]);
    const kept = ["''quoted", "'+49 30 1234567", "it's"];
    const restored = ["'quoted", "+49 30 1234567", "it's"];
    const body = kept.map((text) => `${text}\r\n`).join("");
    const id = "0190163d-8694-739b-aea5-966c26f8ad91";
    const withIds = kept.map((text) => `${id},${text}\r\n`).join("");
    const marked = withIds.replace(id, `"${id}"`);
    expect(texts(`title\r\n${body}`)).toEqual(kept);
    expect(texts(`\uFEFFid,title\r\n${withIds}`)).toEqual(kept);
    expect(texts(`"id","title"\r\n${marked}`)).toEqual(kept);
    expect(texts(`id,title\r\n${marked.replace("it's", '"it\'s"')}`)).toEqual(restored);
    expect(texts(`id,title\r\n${marked.replace("''quoted", "\"''quoted\"")}`)).toEqual(kept);
    expect(texts(`id,title\r\n${marked.replaceAll(id, "x")}`)).toEqual(kept);
    expect(texts(`title\r\n${body}`, { isProtected: true })).toEqual(restored);
    expect(texts(`\uFEFFid,title\r\n${marked}`)).toEqual(restored);
    expect(texts(`\uFEFFid,title\r\n${marked}`, { isProtected: false })).toEqual(kept);
  });

  const sizes = tableOf(column("size", "number"), column("price", "decimal"));
  test.each(cases("name", "text", "size", "price")`
    a decimal comma                              | size;price\n1,5;-12,50\n              | 1.5    | -12.50
    quoted decimal commas                        | size,price\n"1,5","0,125"\n           | 1.5    | 0.125
    three decimals, with semicolons              | size;price\n1,500;2\n                 | 1.5    | 2
    German thousands                             | size;price\n1.234,5;1.234.567\n       | 1234.5 | 1234567
    English thousands                            | size,price\n"1,234.5","1,234,567"\n   | 1234.5 | 1234567
    French thousands                             | size;price\n1\u00A0234,5;1\u202F234\n | 1234.5 | 1234
    Swiss thousands                              | size;price\n1'234.5;1’234\n           | 1234.5 | 1234
    an exponent with a comma                     | size;price\n1,5e-07;1\n               | 1.5e-7 | 1
    an exponent of Java                          | size,price\n1.5E12,1\n                | 1.5e12 | 1
    a minus sign                                 | size;price\n−1,5;−2\n                 | -1.5   | -2
    a point in one column and a comma in another | size;price\n1,5;12.50\n               | 1.5    | 12.50
  `)("has numbers with $name", ({ text, size, price }) => {
    const { rows, issues } = read(text, { table: sizes });
    expect(issues).toEqual([]);
    expect(rows.map(({ values }) => values)).toEqual([{ size: Number(size), price }]);
  });

  test.each(cases("name", "text", "message")`
    a number that can mean two                 | size,price\n"1,500",\n     | 2: size: Can mean two numbers: write 1500 or 1.5000
    a number that can mean two next to a comma | size;price\n1,5;1.500\n    | 2: price: Can mean two numbers: write 1500 or 1.5000
    a comma after a number that can mean two   | size;price\n1.500;\n;2,5\n | 3: price: Has the decimal mark ",", and line 2 has another one
    both marks in a column                     | size;price\n1.5;\n2,5;\n   | 3: size: Has the decimal mark ",", and line 2 has another one
    a currency                                 | size;price\n1,5 €;\n       | 2: size: Must be a number
    wrong thousands                            | size;price\n1.23,5;\n      | 2: size: Must be a number
  `)("rejects $name", ({ text, message }) => {
    expect(listIssues(read(text, { table: sizes }))).toEqual([message]);
  });

  test.each(cases("columns", "texts")`
    size, count, price, title, tags | 1,23E+12; 1.23E+12; 1E+12; 1,2E5; 1.5E-07; -1,23457E+11; #####
    count                           | 1e12; 1.0E12; 1,23e+12
    size, count, price              | 12%; 12 %; $12; 12,50 €
  `)("rejects texts that can lack digits in $columns: $texts", ({ columns, texts }) => {
    for (const [text, name] of texts
      .split("; ")
      .flatMap((text) => columns.split(", ").map((name) => [text, name] as const))) {
      const { rows, issues } = read(`${name};due\n${text};\n`);
      expect(rows).toEqual([]);
      expect(issues.map(({ column }) => column)).toEqual([name]);
    }
  });

  // A comma that is no delimiter is in quotes.
  test.each([
    { name: "size", message: CUT_SHORT },
    { name: "count", message: expect.stringContaining("an exponent can hide some") },
    { name: "price", message: CUT_SHORT },
  ])("rejects a shortened number in quotes in $name", ({ name, message }) => {
    const { rows, issues } = read(`${name},due\n"1,23E+12",\n`);
    expect(rows).toEqual([]);
    expect(issues).toMatchObject([{ column: name, message }]);
  });

  test("has a text in quotes as it is written", () => {
    const { rows } = read('title,status\n"1.23E+12",\n"#####",\n');
    expect(rows.map(({ values }) => values["title"] ?? null)).toEqual(["1.23E+12", "#####"]);
  });

  test("has booleans in the languages of spreadsheets", () => {
    const { rows } = read("done\nwahr\nFALSCH\nVrai\nFALSO\nFAŁSZ\nИСТИНА\nYANLIŞ\non\n");
    const wanted = [true, false, true, false, false, true, false, true];
    expect(rows.map(({ values }) => values["done"])).toEqual(wanted);
  });

  test("has errors with their line, also after a field of several lines", () => {
    const text = 'title,size\n"a\nb",1\nc,two\nd\n"e"f,3\ng"h,4\n"i,5\n';
    expect(listIssues(read(text, { table: titles }))).toEqual([
      "4: size: Must be a number",
      "5: Must have as many fields as the first line: 2, not 1",
      expect.stringContaining("6: A field has text after its closing quote"),
      expect.stringContaining("7: A field contains a quote"),
      expect.stringContaining("8: The quote at the start"),
    ]);
  });

  test("between tabs keeps the quotes of a field that is not quoted as a whole, as in a copied sheet", () => {
    const text = 'title\tnote\n5" disk\t{"a": 1}\n"a" b\t"c\td"\n"e\tf\n';
    const { rows, issues } = read(text, {
      table: tableOf(column("title", "string"), column("note", "string")),
    });
    expect(issues).toEqual([]);
    expect(rows.map(({ values }) => [values["title"], values["note"]])).toEqual([
      ['5" disk', '{"a": 1}'],
      ['"a" b', "c\td"],
      ['"e', "f"],
    ]);
  });

  test("with an invalid header reports all errors of the header and no others", () => {
    const table = tableOf(column("title", "string", { required: true }), column("size", "number"));
    expect(listIssues(read("Size,size,titel,titel\n1,2,3,4\n", { table }))).toEqual([
      '1: "titel" is the name of 2 columns',
      '1: "titel" is not a column of todos: perhaps title',
      '1: "Size" and "size" both map to size',
      expect.stringContaining("1: title is missing"),
    ]);
  });

  test("reports every error of every line", () => {
    const text = `size,price,done,token,due,tags,status\nx,1e3,maybe,1,2026-01-02 10:00,{,shut\n12345678901234567890,,,,,1e50,\n`;
    const found = listIssues(read(text));
    expect(found).toHaveLength(9);
    expect(found.slice(0, 3)).toEqual([
      "2: size: Must be a number",
      expect.stringContaining("2: price: Must be a decimal number"),
      "2: done: Must be true or false",
    ]);
    expect(found[5]).toBe("2: tags: Must be JSON");
    expect(found[7]).toStartWith("3: size: ");
  });

  test("has empty fields that become null, the default, or an empty text", () => {
    const table = tableOf(
      column("title", "string", { required: true, default: "none" }),
      column("note", "string"),
      column("size", "number"),
    );
    const text = 'title,note,size\n,,0\n"","",""\n';
    expect(read(text, { table }).rows.map(({ values }) => values)).toEqual([
      { note: null, size: 0 },
      { title: "", note: "", size: null },
    ]);
    const required = tableOf(
      column("title", "string", { required: true }),
      column("size", "number"),
    );
    expect(listIssues(read("title,size\n,1\n", { table: required }))).toEqual([
      expect.stringContaining("2: title: Must not be null"),
    ]);
  });

  test("has values in the formats of databases and spreadsheets", () => {
    const text =
      "size,done,due\n 1.50 ,t,2026-01-02 03:04:05.123+01\n-2e3,FALSE,2026-01-02T03:04Z\n0,yes,2026-01-02 03:04:05 UTC\n";
    expect(read(text).rows.map(({ values }) => values)).toEqual([
      { size: 1.5, done: true, due: "2026-01-02T02:04:05.123+00:00" },
      { size: -2000, done: false, due: "2026-01-02T03:04:00+00:00" },
      { size: 0, done: true, due: "2026-01-02T03:04:05+00:00" },
    ]);
  });

  test("with an unclosed quote does not fill the memory", () => {
    const pieces = ["title,size\n", '"', ...Array.from({ length: 40 }, () => "x".repeat(65_536))];
    const { rows, issues } = readPieces(pieces, { table: titles });
    expect(rows).toEqual([]);
    expect(issues[0]).toMatchObject({
      line: 2,
      message: expect.stringContaining("Is longer than"),
    });
  });
});

describe("JSON", () => {
  const titles = tableOf(column("title", "string", { required: true }), column("tags", "json"));
  test.each([
    { name: "NDJSON", text: '{"title":"a"}\r\n\n{"title":"b","tags":[1]}' },
    { name: "an array", text: '\uFEFF [\n{"title":"a"}, {"title":"b","tags":[1]}\n]\n' },
  ])("$name is read", ({ text }) => {
    const { rows, issues } = read(text, { table: titles, format: "ndjson" });
    expect(issues).toEqual([]);
    expect(rows.map(({ values }) => values)).toEqual([{ title: "a" }, { title: "b", tags: [1] }]);
  });

  test.each(cases("name", "text", "lines")`
    a value that is not a row       | {"title":"a"}\n[]\n1\n{"title"\n                        | 2, 3, 4
    an array that ends early        | [{"title":"a"},\n{"title":"b"                           | 2
    an array with a trailing comma  | [{"title":"a"},\n]                                      | 2
    text after an array             | [{"title":"a"}]\nx                                      | 2
    rows that are nested too deeply | {"title":"a","tags":${"[".repeat(63)}${"]".repeat(63)}} | 1
  `)("$name is an error with its line", ({ text, lines }) => {
    const { issues } = read(text, { table: titles, format: "ndjson" });
    expect(issues.map(({ line }) => line).join(", ")).toBe(lines);
  });

  test("an unknown column is reported once, and its rows are not read", () => {
    const text = '{"title":"a","x":1}\n{"title":"b","x":1}\n{"title":"c"}\n{"tags":1}\n';
    const result = read(text, { table: titles, format: "ndjson" });
    expect(listIssues(result)).toEqual([
      '1: "x" is not a column of todos: title, tags',
      "4: title: Is required and has no default",
    ]);
    expect(result.rows.map(({ line }) => line)).toEqual([3]);
  });

  test("does not convert values: a number is not valid for a decimal", () => {
    const found = listIssues(read('{"price":1.5,"size":"1"}', { format: "ndjson" }));
    expect(found).toHaveLength(2);
  });
});

describe("a mapping", () => {
  const table = tableOf(column("title", "string"), column("due", "timestamp"));
  test("maps names of the file to columns, and skips names", () => {
    const options = { table, map: new Map([["What", "title"]]), skip: ["Comments"] };
    const { rows, issues } = read("What,Comments\na,b\n", options);
    expect(issues).toEqual([]);
    expect(rows.map(({ values }) => values)).toEqual([{ title: "a" }]);
  });

  test("throws for a column that the table does not have", () => {
    expect(() => makeMapping(table, { map: new Map([["What", "titel"]]) })).toThrow(
      '"titel" is not a column of todos: perhaps title',
    );
  });
});

test("duplicates in unique columns are errors, with the comparison of the database", () => {
  const table: TableDefinition = {
    ...tableOf(
      column("code", "decimal", { unique: true }),
      column("day", "timestamp"),
      column("room", "string"),
    ),
    uniques: [["day", "room"]],
  };
  const text = [
    ...["code,day,room", "1.0,2026-01-02T03:04:05Z,a", "1.00,,", ",2026-01-02T04:04:05+01:00,a"],
    ...[",2026-01-02T03:04:05Z,", ",2026-01-02T03:04:05Z,", "2,2026-01-02T03:04:05Z,A"],
  ].join("\n");
  const result = read(text, { table });
  expect(listIssues(result)).toEqual([
    "3: code: Duplicates line 2: the column must be unique",
    "4: Has the same day, room as line 2: must be unique together",
  ]);
  expect(result.rows.map(({ line }) => line)).toEqual([2, 5, 6, 7]);
});

test("a reference is found by a value of its row, and an unknown value is an error", () => {
  const match: Match = {
    column: column("name", "string", { unique: true }),
    find: (key) => (key === "Garden" ? "0190163d-8694-739b-aea5-966c26f8ad91" : undefined),
  };
  const matches = new Map([["project", match]]);
  const result = read("project\nGarden\nHouse\n\n", { matches });
  expect(result.rows.map(({ values }) => values)).toEqual([
    { project: "0190163d-8694-739b-aea5-966c26f8ad91" },
  ]);
  expect(listIssues(result)).toEqual(['3: project: No row has "House" in name']);
});

test("days and times without an offset need the offset of the import", () => {
  const table = tableOf(column("day", "timestamp"));
  const text = "day\n2026-11-27\n2026-11-27 14:30\n2026-02-30\n2026-11-27T14:30+02:00\n";
  expect(listIssues(read(text, { table }))).toHaveLength(3);
  const result = read(text, { table, offsetOf: () => "+01:00" });
  expect(result.rows.map(({ values }) => values["day"])).toEqual([
    "2026-11-26T23:00:00+00:00",
    "2026-11-27T13:30:00+00:00",
    "2026-11-27T12:30:00+00:00",
  ]);
  expect(result.issues.map(({ line }) => line)).toEqual([4]);
});

test("a reference is found by an id, and not by a value of several rows", async () => {
  const ids = ["0190163d-8694-739b-aea5-966c26f8ad91", "0190163d-8694-739b-aea5-966c26f8ad92"];
  const pages = (async function* () {
    yield ids.map((id) => ({ id, name: "House" }));
  })();
  const matches = new Map([["project", await readMatch(column("name", "string"), pages)]]);
  const result = read(`project\n${ids[1]}\nHouse\n`, { matches });
  expect(result.rows.map(({ values }) => values)).toEqual([{ project: ids[1] ?? "" }]);
  expect(listIssues(result)).toEqual(['3: project: More than one row has "House" in name']);
});

test("batches are limited by rows and by bytes, preserve the order, and contain every row", () => {
  const limits = { rows: 10, bytes: 200 };
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme", maxLength: 60 })), (titles) => {
      const batcher = makeBatcher(limits);
      const rows = titles.map((title, index) => ({ line: index + 2, values: { title } }));
      const added = rows.map((row) => ({ row, ...batcher.add(row) }));
      const batches = [...added.flatMap(({ full }) => full), ...batcher.end()];
      const sent = added.filter(({ issue }) => issue === undefined).map(({ row }) => row);
      expect(batches.flatMap(({ body }) => JSON.parse(body))).toEqual(
        sent.map(({ values }) => values),
      );
      expect(batches.flatMap(({ lines }) => lines)).toEqual(sent.map(({ line }) => line));
      for (const { body, lines } of batches) {
        expect(utf8Length(body)).toBeLessThanOrEqual(limits.bytes);
        expect(lines.length).toBeLessThanOrEqual(limits.rows);
      }
      for (const { row, issue } of added)
        expect(issue === undefined).toBe(utf8Length(JSON.stringify([row.values])) < limits.bytes);
    }),
    drawRuns(1000),
  );
});
