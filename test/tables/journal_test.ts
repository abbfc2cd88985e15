import { expect, test } from "bun:test";
import { mkdtemp, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { compareJournal, journalFileName } from "../../src/tables/history/journal.ts";
import { readJournal, writeJournal } from "../../src/tables/history/journal_files.ts";
import { type Applied, writeMigrationText } from "../../src/tables/history/migration_text.ts";
import { cases } from "../support/cases.ts";
import { codeOf } from "../support/problem.ts";
import { dumpDatabase, freshName, postSchema, readMigrations } from "../support/push.ts";
import { definitionOf, openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const first = makeMigration(1, "create_table_todos", "", "-- one\ncreate table a;\n");
const second = makeMigration(2, "add_column_note", first.checksum, "-- two\nalter table a;\n");
const third = makeMigration(3, "register", second.checksum, "-- three\n");
const fourth = makeMigration(4, "later", third.checksum, "-- four\n");
const fifth = makeMigration(5, "latest", fourth.checksum, "-- five\n");
const resealed = makeMigration(2, "add_column_note", first.checksum, "-- another\n");
const RECORDED = [first, second, third];

function makeMigration(seq: number, name: string, parent: string, sql: string): Applied {
  const definition = { version: 1, tables: [] } as const;
  const written = writeMigrationText({ seq, name, parent, steps: [], definition, sql });
  return { seq, name, parent, sql, ...written };
}

function fileOf(migration: Applied, change: (sql: string) => string = (sql) => sql) {
  return { file: journalFileName(migration), text: change(migration.text) };
}

const FILES = RECORDED.map((migration) => fileOf(migration));

const MIGRATIONS: Readonly<Record<string, Applied>> = {
  ...{ 1: first, 2: second, 3: third, 4: fourth, 5: fifth, resealed },
  mine: makeMigration(3, "mine", resealed.checksum, ""),
  notes: makeMigration(1, "create_table_notes", "", "-- notes\n"),
};
const EDITS: Readonly<Record<string, (text: string) => string>> = {
  crlf: (text) => text.replaceAll("\n", "\r\n"),
  bom: (text) => `\uFEFF${text}`,
  trimmed: (text) => text.trimEnd(),
  lines: (text) => `${text}\n\n`,
  letter: (text) => text.replace("a;", "b;"),
  space: (text) => text.replace("create", "create "),
  below: (text) => `${text}drop table a;\n`,
  digit: (text) => text.replace("four", "4"),
  other: () => "x",
};

/** A file of a case: a migration, or its edited text (`2:letter`), or its text under another name (`2>a.sql`), or another file. */
function toFile(word: string) {
  const [, key = "", edit = "", name] = /^(\w+)(?::(\w+))?(?:>(.+))?$/.exec(word) ?? [];
  const migration = MIGRATIONS[key];
  if (migration === undefined) return { file: word, text: "x" };
  const { file, text } = fileOf(migration, EDITS[edit]);
  return { file: name ?? file, text };
}

test.each(cases("name", "files", "issues", "missing", "ahead")`
  as recorded                              | 1 2 3
  of a fresh clone without the folder      |                             | | 1 2 3
  with CRLF                                | 1:crlf 2:crlf 3:crlf
  with a byte order mark                   | 1:bom 2:bom 3:bom
  without the final newline                | 1:trimmed 2:trimmed 3:trimmed
  with three final newlines                | 1:lines 2:lines 3:lines
  with one missing                         | 1 3                         | | 2
  with one character changed               | 1 2:letter 3                | edited 0002_add_column_note.sql
  with one space changed                   | 1:space 2 3                 | edited 0001_create_table_todos.sql
  with one edited, and a matching checksum | 1 resealed 3                | edited 0002_add_column_note.sql
  with an edit below the checksum          | 1 2 3:below                 | edited 0003_register.sql
  with one more than the service           | 1 2 3 4                     | | | 4
  with two more, and one missing           | 1 3 4 5                     | | 2 | 4 5
  with one more that was edited            | 1 2 3 4:digit 5             | edited 0004_later.sql | | 5
  with one more, without the one before it | 1 2 3 5                     | gap 0005_latest.sql
  with a renamed applied file              | 1 2>0002_other.sql 3        | renamed 0002_other.sql
  with a renumbered applied file           | 1 2 3>0004_register.sql     | renamed 0004_register.sql | 3
  with a renamed new file                  | 1 2 3 4>0004_other.sql      | renamed 0004_other.sql | | 4
  of another history since the second file | 1 resealed mine             | diverged 0002_add_column_note.sql | | 2 3
  of another app                           | notes                       | diverged 0001_create_table_notes.sql | 2 3 | 1
  with one more that push did not write    | 1 2 3 0004_later.sql        | unknown 0004_later.sql
  with another file of an equal number     | 1 0002_other.sql            | other_content 0002_other.sql | 3
  with a duplicate number                  | 1 2 3 0002_zz.sql           | twice 0002_zz.sql
  with an unexpected file                  | 1 2 3 notes.txt             | stray notes.txt
  with an uppercase name                   | 1 2 3 0005_Big.sql          | stray 0005_Big.sql
  with a name that leaves the folder       | 1 2 3 0005_..%2fx.sql       | stray 0005_..%2fx.sql
  with two edited files and another one    | 1:other 2:other 3 README    | edited 0001_create_table_todos.sql, edited 0002_add_column_note.sql, stray README
`)("compareJournal() compares files $name", ({ files, issues, missing, ahead }) => {
  const compared = compareJournal(files.split(" ").filter(Boolean).map(toFile), RECORDED);

  const found = compared.issues.map(({ code, file }) => `${code} ${file}`);
  expect(found.toSorted().join(", ")).toBe(issues);
  for (const { file, message } of compared.issues)
    expect(message).toContain(file.replace(/\.sql$/, ""));
  expect(compared.missing.map(({ seq }) => seq).join(" ")).toBe(missing);
  expect(compared.ahead.map(({ parts }) => parts.seq).join(" ")).toBe(ahead);
});

test("every kind of issue has a distinct message", () => {
  const files = [
    fileOf(first, () => "x"),
    { file: "0002_other.sql", text: "" },
    fileOf(makeMigration(7, "gone", "x", "")),
    { file: "0008_register.sql", text: third.text },
    { file: "0009_x.sql", text: "" },
    { file: "0009_y.sql", text: "" },
    { file: "z", text: "" },
  ];
  const messages = compareJournal(files, RECORDED).issues.map(({ message, file }) =>
    message.replaceAll(file, ""),
  );
  expect(new Set(messages).size).toBe(7);
});

test("readJournal() reads the output of writeJournal(), which leaves no temporary file", async () => {
  const folder = join(await mkdtemp(join(tmpdir(), "rowhouse-journal-")), "migrations");
  expect(await readJournal(folder)).toEqual([]);
  await writeJournal(folder, [first]);
  await writeFile(join(folder, ".0002_x.sql.4194305.tmp"), "half");

  expect(await writeJournal(folder, [second, third])).toEqual([
    "0002_add_column_note.sql",
    "0003_register.sql",
  ]);

  expect(await readJournal(folder)).toEqual(FILES);
  expect((await readdir(folder)).sort()).toEqual([
    ".gitattributes",
    ...FILES.map(({ file }) => file),
  ]);
  expect(await readFile(join(folder, ".gitattributes"), "utf8")).toBe("*.sql text eol=lf\n");
});

test("writeJournal() without migrations changes nothing, and rejects malformed names", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rowhouse-journal-"));
  await utimes(folder, 1, 1);
  expect(await writeJournal(folder, [])).toEqual([]);
  expect((await stat(folder)).mtimeMs).toBe(1000);
  for (const name of ["../../etc", "a/b", "", "A", "x.sql"])
    expect(writeJournal(folder, [{ ...first, name }])).rejects.toThrow("Cannot name a migration");
  expect(await readdir(folder)).toEqual([]);
});

test("readJournal() rejects a file that is not UTF-8, and names it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rowhouse-journal-"));
  await writeFile(join(folder, "0001_x.sql"), new Uint8Array([0xff, 0xfe, 0x41]));
  expect(readJournal(folder)).rejects.toThrow("0001_x.sql is not UTF-8");
});

const table = freshName();
const SCHEMA = defineSchema({ [table]: { title: t.string().required().default("a\r\nb\\'c") } });
const WIDER = defineSchema({
  [table]: { title: t.string().required().default("a\r\nb\\'c"), more: t.json() },
});
const service = await share(openTestService());
const app = await service.makeApp(SCHEMA);

test("GET /v1/data/schema and its migrations restore the journal, with any line ends of a checkout", async () => {
  const recorded = await readMigrations(service, app);
  const folder = await mkdtemp(join(tmpdir(), "rowhouse-journal-"));
  await writeJournal(folder, recorded);
  const files = await readJournal(folder);

  expect(compareJournal(files, recorded)).toMatchObject({ issues: [], missing: [] });
  const crlf = files.map(({ file, text }) => ({ file, text: text.replaceAll("\n", "\r\n") }));
  expect(compareJournal(crlf, recorded).issues).toEqual([]);
  expect(recorded[0]?.sql).toContain("E'a\\r\nb\\\\''c'");
});

test("GET /v1/data/schema lists migrations without their SQL, and a migration's path returns its SQL", async () => {
  const name = freshName();
  const columns = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`column_${n}`, t.string()]));
  const writer = await service.makeApp(defineSchema({ [name]: columns(150) }));
  const grown = await postSchema(service, writer, defineSchema({ [name]: columns(180) }));

  const status = await service.call(writer, "/v1/data/schema");
  const got = await service.call(writer, "/v1/data/schema/migrations/2");

  const { migration } = grown.json as { migration: Applied };
  const { text, sql, ...listed } = migration;
  expect(text).toContain(sql);
  // Functions are derived from the definition, and would dominate its size.
  expect(text).not.toContain("create or replace function");
  expect(text.length).toBeLessThan(25_000);
  expect(got).toMatchObject({ status: 200, json: migration });
  expect((status.json as { migrations: unknown[] }).migrations[1]).toEqual({
    ...listed,
    joins: null,
  });
  expect(status.text.length).toBeLessThan(2000);
});

test.each([
  { name: "an unknown number", path: "9", want: [404, "not_found"] },
  { name: "a number of only another app", path: "2", want: [404, "not_found"] },
  { name: "zero", path: "0", want: [400, "invalid_id"] },
  { name: "a number with five digits", path: "10000", want: [400, "invalid_id"] },
  { name: "a missing number", path: "1;2", want: [400, "invalid_id"] },
  { name: "a query", path: "1?sql=true", want: [400, "unsupported_query"] },
])("GET /v1/data/schema/migrations/$path, $name, gets $want", async ({ path, want }) => {
  const [table, wider] = [freshName(), { note: t.string() }];
  const reader = await service.makeApp(defineSchema({ [table]: {} }));
  const other = await service.makeApp(defineSchema({ [freshName()]: {} }));
  await service.pushSchema(other, defineSchema({ [freshName()]: wider }));

  const response = await service.call(reader, `/v1/data/schema/migrations/${path}`);

  expect([response.status, codeOf(response.text)]).toEqual(want as never);
});

const OTHER = `sha256:${"0".repeat(64)}`;
test.each(cases("name", "journal", "status", "error", "expected")`
  a first migration that differs from the applied migration | [{"seq":1,"checksum":"${OTHER}"}]   | 409 | diverged_history | 0001_create_table
  an unapplied migration                                    | [{"seq":7,"checksum":"${OTHER}"}]   | 409 | diverged_history | must first apply migration 7
  a journal that is not a list                              | {"seq":1}                           | 422 | invalid_schema   | /journal
  an invalid entry                                          | [null]                              | 422 | invalid_schema   | /journal/0
  an invalid checksum                                       | [{"seq":1,"checksum":"sha256:x"}]   | 422 | invalid_schema   | /journal/0
  a fractional number                                       | [{"seq":1.5,"checksum":"${OTHER}"}] | 422 | invalid_schema   | /journal/0
`)(
  "POST /v1/data/schema with $name gets $status and writes nothing",
  async ({ journal, status, error, expected }) => {
    const before = await dumpDatabase(service.service.admin);

    const response = await postSchema(service, app, WIDER, { journal: JSON.parse(journal) });

    expect(response).toMatchObject({ status: Number(status), json: { error } });
    expect(response.text).toContain(expected);
    expect(await dumpDatabase(service.service.admin)).toBe(before);
  },
);

test("POST /v1/data/schema with the recorded journal applies the schema, and chains the checksum", async () => {
  const recorded = await readMigrations(service, app);
  const journal = compareJournal([], recorded).entries.concat(
    recorded.map(({ seq, checksum }) => ({ seq, checksum })),
  );

  const response = await postSchema(service, app, WIDER, { journal });
  const applied = response.json as { migration: Applied };
  const edited = [
    { seq: 1, checksum: OTHER },
    { seq: 2, checksum: applied.migration.checksum },
  ];
  expect(await postSchema(service, app, WIDER, { journal: edited })).toMatchObject({
    status: 409,
    json: { error: "edited_migration", details: [{ path: "/journal/0" }] },
  });

  expect(response.json).toMatchObject({
    status: "applied",
    migration: { seq: 2, parent: recorded[0]?.checksum },
  });
  const { migration } = response.json as { migration: Applied };
  const definition = definitionOf(WIDER);
  const steps = [`add column ${table}.more`];
  const parent = recorded[0]?.checksum ?? "";
  const { checksum, text } = writeMigrationText({ ...migration, parent, steps, definition });
  expect(migration).toMatchObject({ checksum, text });
  expect(text).toEndWith(`-- checksum ${checksum}\n`);
});
