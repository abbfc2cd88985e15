/**
 * Checks the values of an archive's rows by the rules of writes, before anything is written: otherwise apps read values that their
 * types and the API's description exclude. The database checks required values, uniqueness and references.
 *
 * @module
 */
import { VALUES } from "../kinds/mod.ts";
import { readValue } from "../rows/mod.ts";
import type { NamedColumn, TableDefinition } from "../schema/mod.ts";
import { isObject } from "../std/json.ts";
import { jsonDepth, MAX_BODY_DEPTH } from "../std/json_depth.ts";
import { parseExactJson } from "../std/json_text.ts";
import { MOST_BATCH_BYTES } from "../std/limits.ts";
import { isUuid } from "../std/patterns.ts";
import { quote } from "../std/quote.ts";
import { type Archive, ArchiveError, readBlocks } from "./file.ts";

/** Max reported errors. */
const MAX_ISSUES = 20;

/** @throws {ArchiveError} with the first errors */
export async function checkValues(path: string, { header }: Archive): Promise<void> {
  const tables = new Map(header.tables.map((table) => [table.name, table]));
  const issues: string[] = [];
  await readBlocks(path, async ({ table: name, rows }) => {
    const table = tables.get(name);
    if (table === undefined) return;
    for (const line of rows.lines.split("\n")) {
      if (line === "" || issues.length > MAX_ISSUES) continue;
      for (const issue of findIssues(table, line)) issues.push(`${name}: ${issue}`);
    }
  });
  if (issues.length === 0) return;
  const more = issues.length > MAX_ISSUES ? ["more values"] : [];
  throw new ArchiveError(
    [
      "Cannot import values that writes reject. Nothing was written",
      ...issues.slice(0, MAX_ISSUES),
      ...more,
    ].join("\n  "),
  );
}

function findIssues({ columns }: TableDefinition, line: string): string[] {
  // A body of a request has the row as its first level.
  if (jsonDepth(line) > MAX_BODY_DEPTH)
    return [`a row is nested deeper than ${MAX_BODY_DEPTH} levels`];
  const row = readRow(line, columns);
  if (row === undefined) return ["a row is not a JSON object"];
  const { id } = row.exact;
  if (typeof id !== "string" || !isUuid(id)) return [`the id ${quote(String(id))} must be a uuid`];
  return columns.flatMap((column) => {
    const value = row[VALUES[column.kind].archived ?? "exact"][column.name] ?? null;
    const issue = value === null ? undefined : findIssue(value, column);
    return issue === undefined ? [] : [`row ${id}, ${column.name}: ${issue}`];
  });
}

/** The fields of a row, by how exactly their numbers are read. */
type RowFields = Record<"exact" | "rounded" | "decimals", Readonly<Record<string, unknown>>>;

function readRow(line: string, columns: readonly NamedColumn[]): RowFields | undefined {
  const decimals = new Set(
    columns.flatMap(({ kind, name }) => (VALUES[kind].archived === "decimals" ? name : [])),
  );
  const toText = (key: string, value: unknown, { source }: { source: string }) =>
    typeof value === "number" && decimals.has(key) ? source : value;
  try {
    const [exact, rounded] = [parseExactJson(line), JSON.parse(line)];
    const texts = JSON.parse(line, toText as Parameters<JSON["parse"]>[1]);
    return isObject(exact) ? { exact, rounded, decimals: texts } : undefined;
  } catch {
    return undefined; // the parser's own message quotes the row
  }
}

function findIssue(value: unknown, column: NamedColumn): string | undefined {
  const read = readValue(value, column);
  if ("issue" in read) return read.issue;
  const bytes = Buffer.byteLength(JSON.stringify(read.value));
  return bytes > MOST_BATCH_BYTES
    ? `Is ${bytes} bytes as JSON: a write accepts max ${MOST_BATCH_BYTES}`
    : undefined;
}
