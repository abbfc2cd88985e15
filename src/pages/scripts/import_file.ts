/** A chosen file as rows of a table: its names, rows and errors. @module */
import type { TableDefinition } from "../../dsl/mod.ts";
import {
  type FileFormat,
  type LineIssue,
  makeBatcher,
  makeMapping,
  makeRowsReader,
  makeSource,
  type RowsRead,
  readChunks,
} from "../../rows/mod.ts";

export type ImportFile = {
  readonly file: File;
  readonly format: FileFormat;
  readonly table: TableDefinition;
  /** The column of each name in the file; `skip` lists the ignored names. */
  readonly map: ReadonlyMap<string, string>;
  readonly skip: readonly string[];
};

/** Max bytes that are read to find the names of a file. */
const NAMES_BYTES = 1_048_576;
const MAX_NAMES = 500;

/** The names in a file: from the first line of a CSV, or from the first objects. */
export async function readNames(file: File, format: FileFormat): Promise<string[]> {
  const text = await file.slice(0, NAMES_BYTES).text();
  const source = makeSource(format);
  const rows = source.push(text);
  const rest = file.size <= NAMES_BYTES ? source.end() : [];
  const names =
    source.header()?.names ??
    [...rows, ...rest].flatMap(({ cells }) => cells.map(([name]) => name));
  return [...new Set(names)].slice(0, MAX_NAMES);
}

export function readFile({ file, format, table, map, skip }: ImportFile): AsyncGenerator<RowsRead> {
  const options = { table, mapping: makeMapping(table, { map, skip }) };
  return readChunks(readStream(file), makeRowsReader(makeSource(format), options));
}

/** Not every browser can iterate a stream. */
async function* readStream(file: File): AsyncGenerator<Uint8Array> {
  const reader = file.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/** Max rows of a batch, and max bytes of the form field that contains them. */
export const LIMITS = { rows: 1000, bytes: 90_000 };
export const sizeOfField = (text: string) => new URLSearchParams([["", text]]).toString().length;

export type FileCheck = {
  /** Rows without errors. */
  readonly rows: number;
  readonly issues: readonly LineIssue[];
  readonly issueCount: number;
  readonly badLines: number;
  readonly digest: string;
};

type CheckOptions = { maxIssues: number; onProgress: (rows: number) => void };

/** Reads the whole file. Counts its rows and errors. */
export async function checkFile(
  file: ImportFile,
  { maxIssues, onProgress }: CheckOptions,
): Promise<FileCheck> {
  const batcher = makeBatcher(LIMITS, sizeOfField);
  const issues: LineIssue[] = [];
  const badLines = new Set<number>();
  let [rows, issueCount] = [0, 0];
  const add = (issue: LineIssue) => {
    issueCount++;
    badLines.add(issue.line);
    if (issues.length < maxIssues) issues.push(issue);
  };
  for await (const read of readFile(file)) {
    read.issues.forEach(add);
    for (const row of read.rows) {
      const { issue } = batcher.add(row);
      if (issue === undefined) rows++;
      else add(issue);
    }
    onProgress(rows);
  }
  const hash = await crypto.subtle.digest("SHA-256", await file.file.arrayBuffer());
  const bytes = Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0"));
  return { rows, issues, issueCount, badLines: badLines.size, digest: bytes.join("") };
}
