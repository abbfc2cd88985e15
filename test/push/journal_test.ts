import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { checksumOf } from "../../src/push/migration.ts";
import {
  compareJournal,
  journalFileName,
  type Migration,
  readJournal,
  writeJournal,
} from "../../src/push/mod.ts";
import { codeOf } from "../support/problem.ts";
import { dumpDatabase, freshName, postSchema, readMigrations } from "../support/push.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const first = makeMigration(1, "create_table_todos", "", "-- one\ncreate table a;\n");
const second = makeMigration(2, "add_column_note", first.checksum, "-- two\nalter table a;\n");
const third = makeMigration(3, "register", second.checksum, "-- three\n");
const RECORDED = [first, second, third];

function makeMigration(seq: number, name: string, parent: string, sql: string): Migration {
  return { seq, name, parent, sql, checksum: checksumOf(parent, sql) };
}

function fileOf(migration: Migration, change: (sql: string) => string = (sql) => sql) {
  return { file: journalFileName(migration), text: change(migration.sql) };
}

const FILES = RECORDED.map((migration) => fileOf(migration));

type JournalCase = {
  name: string;
  files: ((typeof FILES)[number] | undefined)[];
  faults?: string[];
  missing?: number[];
};
const CASES: JournalCase[] = [
  { name: "as they were written", files: FILES },
  { name: "none, in a fresh clone without the folder", files: [], missing: [1, 2, 3] },
  {
    name: "with CRLF",
    files: RECORDED.map((m) => fileOf(m, (sql) => sql.replaceAll("\n", "\r\n"))),
  },
  {
    name: "with a byte order mark",
    files: RECORDED.map((m) => fileOf(m, (sql) => `\uFEFF${sql}`)),
  },
  {
    name: "without the final newline",
    files: RECORDED.map((m) => fileOf(m, (sql) => sql.trimEnd())),
  },
  {
    name: "with three final newlines",
    files: RECORDED.map((m) => fileOf(m, (sql) => `${sql}\n\n`)),
  },
  { name: "one missing", files: [FILES[0], FILES[2]], missing: [2] },
  {
    name: "one edited by one character",
    files: [FILES[0], fileOf(second, (sql) => sql.replace("a;", "b;")), FILES[2]],
    faults: ["edited 0002_add_column_note.sql"],
  },
  {
    name: "one edited by one space",
    files: [fileOf(first, (sql) => `${sql} `), FILES[1], FILES[2]],
    faults: ["edited 0001_create_table_todos.sql"],
  },
  {
    name: "one unknown to the database",
    files: [...FILES, { file: "0004_later.sql", text: "x" }],
    faults: ["unknown 0004_later.sql"],
  },
  {
    name: "the same number with another name and content",
    files: [FILES[0], { file: "0002_other.sql", text: "x" }],
    faults: ["other_content 0002_other.sql"],
    missing: [3],
  },
  {
    name: "a number twice",
    files: [...FILES, { file: "0002_zz.sql", text: "x" }],
    faults: ["twice 0002_zz.sql"],
  },
  {
    name: "of another app",
    files: [
      { file: "0001_create_table_notes.sql", text: "x" },
      { file: "0002_register.sql", text: "y" },
    ],
    faults: [
      "other_app 0001_create_table_notes.sql",
      "other_content 0001_create_table_notes.sql",
      "other_content 0002_register.sql",
    ],
    missing: [3],
  },
  {
    name: "a stray file",
    files: [...FILES, { file: "notes.txt", text: "x" }],
    faults: ["stray notes.txt"],
  },
  {
    name: "a name with upper case",
    files: [...FILES, { file: "0005_Big.sql", text: "x" }],
    faults: ["stray 0005_Big.sql"],
  },
  {
    name: "a name that leaves the folder",
    files: [...FILES, { file: "0005_..%2fx.sql", text: "x" }],
    faults: ["stray 0005_..%2fx.sql"],
  },
  {
    name: "two edited and one stray",
    files: [
      fileOf(first, () => "x"),
      fileOf(second, () => "y"),
      FILES[2],
      { file: "README", text: "" },
    ],
    faults: [
      "edited 0001_create_table_todos.sql",
      "edited 0002_add_column_note.sql",
      "stray README",
    ],
  },
];

test.each(CASES)("compareJournal() of files $name", ({ files, faults = [], missing = [] }) => {
  const compared = compareJournal(
    files.filter((file) => file !== undefined),
    RECORDED,
  );

  const found = compared.faults.map(({ code, file }) => `${code} ${file}`);
  expect(found.toSorted()).toEqual(faults.toSorted());
  if (faults[0]?.startsWith("other_app")) expect(found[0]).toBe(faults[0]);
  for (const { file, message } of compared.faults) expect(message).toContain(file);
  expect(compared.missing.map(({ seq }) => seq)).toEqual(missing);
});

test("every kind of fault has its own message", () => {
  const files = [
    fileOf(first, () => "x"),
    { file: "0002_other.sql", text: "" },
    { file: "0009_x.sql", text: "" },
    { file: "0009_y.sql", text: "" },
    { file: "z", text: "" },
  ];
  const words = compareJournal(files, RECORDED).faults.map(({ message, file }) =>
    message.replaceAll(file, ""),
  );
  expect(new Set(words).size).toBe(6);
});

test("writeJournal() writes what readJournal() reads, and leaves no temporary file", async () => {
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

test("writeJournal() of nothing touches nothing, and refuses malformed names", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rowhouse-journal-"));
  await utimes(folder, 1, 1);
  expect(await writeJournal(folder, [])).toEqual([]);
  expect((await stat(folder)).mtimeMs).toBe(1000);
  for (const name of ["../../etc", "a/b", "", "A", "x.sql"])
    expect(writeJournal(folder, [{ ...first, name }])).rejects.toThrow("Cannot name a migration");
  expect(await readdir(folder)).toEqual([]);
});

test("readJournal() refuses a file that is not UTF-8, and names it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rowhouse-journal-"));
  await writeFile(join(folder, "0001_x.sql"), new Uint8Array([0xff, 0xfe, 0x41]));
  expect(readJournal(folder)).rejects.toThrow("0001_x.sql is not UTF-8");
});

let service: TestService;
let app: TestApp;
const table = freshName();
const SCHEMA = defineSchema({ [table]: { title: t.string().required().default("a\r\nb\\'c") } });
const WIDER = defineSchema({
  [table]: { title: t.string().required().default("a\r\nb\\'c"), more: t.json() },
});
beforeAll(async () => {
  service = await openTestService();
  app = await service.makeApp(SCHEMA);
});
afterAll(() => service.close());

test("GET /v1/data/schema and what it lists are enough to restore the journal, whatever a checkout does to line ends", async () => {
  const recorded = await readMigrations(service, app);
  const folder = await mkdtemp(join(tmpdir(), "rowhouse-journal-"));
  await writeJournal(folder, recorded);
  const files = await readJournal(folder);

  expect(compareJournal(files, recorded)).toMatchObject({ faults: [], missing: [] });
  const crlf = files.map(({ file, text }) => ({ file, text: text.replaceAll("\n", "\r\n") }));
  expect(compareJournal(crlf, recorded).faults).toEqual([]);
  expect(recorded[0]?.sql).toContain("E'a\\r\nb\\\\''c'");
});

test("GET /v1/data/schema lists migrations without their SQL, which is read one by one", async () => {
  const name = freshName();
  const columns = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`column_${n}`, t.string()]));
  const writer = await service.makeApp(defineSchema({ [name]: columns(150) }));
  const grown = await postSchema(service, writer, defineSchema({ [name]: columns(180) }));

  const status = await service.call(writer, "/v1/data/schema");
  const got = await service.call(writer, "/v1/data/schema/migrations/2");

  const { migration } = grown.json as { migration: Migration };
  const { sql, ...listed } = migration;
  expect(sql.length).toBeGreaterThan(20_000);
  expect(got).toMatchObject({ status: 200, json: migration });
  expect((status.json as { migrations: unknown[] }).migrations[1]).toEqual(listed);
  expect(status.text.length).toBeLessThan(2000);
});

test.each([
  { name: "a number that there is not", path: "9", want: [404, "not_found"] },
  { name: "another app's alone", path: "2", want: [404, "not_found"] },
  { name: "zero", path: "0", want: [400, "invalid_id"] },
  { name: "a number past four digits", path: "10000", want: [400, "invalid_id"] },
  { name: "no number", path: "1;2", want: [400, "invalid_id"] },
  { name: "a query", path: "1?sql=true", want: [400, "unsupported_query"] },
])("GET /v1/data/schema/migrations/$path, $name, answers $want", async ({ path, want }) => {
  const [table, wider] = [freshName(), { note: t.string() }];
  const reader = await service.makeApp(defineSchema({ [table]: {} }));
  const other = await service.makeApp(defineSchema({ [freshName()]: {} }));
  await service.pushSchema(other, defineSchema({ [freshName()]: wider }));

  const answer = await service.call(reader, `/v1/data/schema/migrations/${path}`);

  expect([answer.status, codeOf(answer.text)]).toEqual(want as never);
});

const OTHER = `sha256:${"0".repeat(64)}`;
test.each([
  {
    name: "an edited migration",
    journal: [{ seq: 1, checksum: OTHER }],
    status: 409,
    error: "edited_migration",
    says: "create_table",
  },
  {
    name: "an unknown migration",
    journal: [{ seq: 7, checksum: OTHER }],
    status: 409,
    error: "edited_migration",
    says: "Migration 7 was never applied",
  },
  {
    name: "a journal that is no list",
    journal: { seq: 1 },
    status: 422,
    error: "invalid_schema",
    says: "/journal",
  },
  {
    name: "an entry that is none",
    journal: [null],
    status: 422,
    error: "invalid_schema",
    says: "/journal/0",
  },
  {
    name: "a checksum that is none",
    journal: [{ seq: 1, checksum: "sha256:x" }],
    status: 422,
    error: "invalid_schema",
    says: "/journal/0",
  },
  {
    name: "a fraction as number",
    journal: [{ seq: 1.5, checksum: OTHER }],
    status: 422,
    error: "invalid_schema",
    says: "/journal/0",
  },
])(
  "POST /v1/data/schema with $name answers $status and writes nothing",
  async ({ journal, status, error, says }) => {
    const before = await dumpDatabase(service.service.admin);

    const answer = await postSchema(service, app, WIDER, { journal });

    expect(answer).toMatchObject({ status, json: { error } });
    expect(answer.text).toContain(says);
    expect(await dumpDatabase(service.service.admin)).toBe(before);
  },
);

test("POST /v1/data/schema with the journal as recorded applies, and chains the checksum", async () => {
  const recorded = await readMigrations(service, app);
  const journal = compareJournal([], recorded).entries.concat(
    recorded.map(({ seq, checksum }) => ({ seq, checksum })),
  );

  const answer = await postSchema(service, app, WIDER, { journal });

  expect(answer.json).toMatchObject({
    status: "applied",
    migration: { seq: 2, parent: recorded[0]?.checksum },
  });
  const { migration } = answer.json as { migration: Migration };
  expect(migration.checksum).toBe(checksumOf(recorded[0]?.checksum ?? "", migration.sql));
});
