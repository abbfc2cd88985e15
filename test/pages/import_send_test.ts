/** The messages about stored rows with which the script of an import stops. */
import { expect, test } from "bun:test";
import type { ImportFile } from "../../src/pages/scripts/import/file.ts";
import { type BatchSender, makeSender, sendFile } from "../../src/pages/scripts/import/send.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { definitionOf } from "../support/service.ts";

const [TABLE] = definitionOf(defineSchema({ todos: { title: t.string().unique() } })).tables;
/** The second batch of the file begins in line 1002. */
const TEXT = `title\n${Array.from({ length: 1500 }, (_, at) => `${at}`).join("\n")}\n`;

async function stopWith(second: BatchSender): Promise<string> {
  if (TABLE === undefined) throw new Error("The schema has no table");
  const file: ImportFile = {
    file: new File([TEXT], "todos.csv"),
    format: "csv",
    encoding: "utf-8",
    isProtected: false,
    table: TABLE,
    map: new Map(),
    skip: [],
    matches: new Map(),
    offsetOf: () => "Z",
  };
  const sender: BatchSender = async (batch, key) =>
    batch.lines[0] === 2 ? { ...FAILED, isStored: true } : await second(batch, key);
  const stop = await sendFile(file, { key: "file", sender, onStored: () => undefined });
  return stop?.message ?? "";
}
const FAILED = {
  isStored: false,
  rows: "not stored",
  code: "unique_violation",
  message: "Cannot create",
  details: [],
} as const;

test("rows of a rejected batch are not stored, and the lines to delete from a corrected file are named", async () => {
  const details = [{ path: "/3/title", message: "taken" }];
  expect(await stopWith(async () => ({ ...FAILED, details }))).toBe(
    "Cannot create. 1000 rows are stored; rows from line 1002 on are not. To continue with a corrected file, delete its lines of stored rows first: those before line 1002, except the line with the column names. A changed file is imported from its start.",
  );
});

test.each<[string, BatchSender]>([
  ["a response is lost", makeSender("http://127.0.0.1:1/unreachable", { act: "" })],
  ["the service fails", async () => ({ ...FAILED, rows: "unknown", code: "timeout" })],
])("rows of the batch in flight may be stored if %s", async (_, sender) => {
  expect(await stopWith(sender)).toContain(
    "1000 rows are stored; the rows of lines 1002 to 1501 may be stored; rows after line 1501 are not. Resume stores no row twice.",
  );
});

test("rows of a batch that lost a column are stored", async () => {
  expect(await stopWith(async () => ({ ...FAILED, rows: "stored" }))).toContain(
    "1500 rows are stored, those of lines 1002 to 1501 without these values; rows after line 1501 are not stored. To continue with a corrected file, delete its lines of stored rows first: those before line 1502",
  );
});
