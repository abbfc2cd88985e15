/** A chosen file as rows of a table: its names, rows and errors. @module */

import {
  type Comparison,
  type DayOrder,
  type DaysFound,
  decodeChunks,
  type Fault,
  type FileFormat,
  isNeeded,
  type LineIssue,
  type Match,
  makeBatcher,
  makeFaultList,
  makeMapping,
  makeRowsReader,
  makeSource,
  type RowsRead,
  type RowsReader,
  readChunks,
} from "../../../rows/mod.ts";
import type { TableDefinition } from "../../../schema/mod.ts";
import { MAX_BATCH, MAX_BODY_BYTES, MAX_PAGE_BYTES } from "../../../std/limits.ts";
import { isUuid } from "../../../std/patterns.ts";
import { element } from "../dom.ts";
import { findMatchBy, type MatchBy, type MatchTargets } from "./match.ts";
import type { StoredCheck } from "./stored.ts";

export type ChosenFile = {
  readonly file: File;
  readonly format: FileFormat;
  readonly encoding: string;
};

export type ImportFile = ChosenFile & {
  /** Whether to remove the apostrophes of an export for spreadsheets. */
  readonly isProtected: boolean;
  readonly table: TableDefinition;
  /** The column of each name in the file; `skip` lists the ignored names. */
  readonly map: ReadonlyMap<string, string>;
  readonly skip: readonly string[];
  /** The rows of references whose values are in another column than the id. */
  readonly matches: ReadonlyMap<string, Match>;
  /** The offset of times that have none. */
  readonly offsetOf: (local: string) => string;
  /** The order of the days, once the file has shown it. */
  readonly dayOrder?: DayOrder;
  /** Lines that are not stored: those with errors when the import began, also if it stored the rows that they refer to. */
  readonly leftOut?: ReadonlySet<number>;
};

/** Max bytes that are read to find the names of objects. */
const NAMES_BYTES = 1_048_576;
const MAX_NAMES = 500;
const MAX_SAMPLES = 3;
const SAMPLE_CHARS = 40;

type FileNames = {
  readonly names: string[];
  /** The first different values of each name. */
  readonly samples: ReadonlyMap<string, ReadonlySet<string>>;
  /** Whether the file has the mark of an export for spreadsheets. */
  readonly isMarked: boolean;
};

/** The names in a file: from the first line of a CSV, or from the first objects. A column without a name counts if it has values. */
export async function readNames({ file, format, encoding }: ChosenFile): Promise<FileNames> {
  const source = makeSource(format);
  const found = new Map<string, Set<string>>();
  const isEnough = (bytes: number) =>
    format === "csv" ? source.header()?.unnamed.size === 0 : bytes >= NAMES_BYTES;
  let bytes = 0;
  const add = (rows: ReturnType<typeof source.push>) => {
    for (const { cells } of rows)
      for (const [name, cell] of cells) {
        const samples = found.get(name) ?? new Set();
        found.set(name, samples);
        const text = "json" in cell ? toJsonText(cell.json) : (cell.text ?? "");
        if (text.trim() !== "" && samples.size < MAX_SAMPLES) samples.add(text);
      }
  };
  for await (const decoded of decodeChunks(readStream(file), encoding)) {
    // The check reports the issue with its line.
    if ("issue" in decoded) break;
    add(source.push(decoded.text));
    bytes += decoded.text.length;
    if (isEnough(bytes)) break;
  }
  if (bytes < NAMES_BYTES || format === "csv") add(source.end());
  const header = source.header();
  const named = header?.names.filter((name) => !header.unnamed.has(name) || found.has(name));
  const names = [...new Set(named ?? found.keys())].slice(0, MAX_NAMES);
  return { names, samples: found, isMarked: source.isMarked() };
}

function toJsonText(json: unknown): string {
  return typeof json === "string" ? json : json === null ? "" : (JSON.stringify(json) ?? "");
}

function makeFileReader(chosen: ImportFile, { isUpdate = false } = {}): RowsReader {
  const { format, isProtected, table, map, skip, ...options } = chosen;
  const mapping = makeMapping(table, { map, skip });
  return makeRowsReader(makeSource(format, { isProtected }), {
    ...options,
    table,
    mapping,
    isUpdate,
  });
}

export function readFile(
  chosen: ImportFile,
  reader = makeFileReader(chosen),
): AsyncGenerator<RowsRead> {
  return readChunks(readStream(chosen.file), reader, chosen.encoding);
}

/** Not every browser can iterate a stream. */
async function* readStream(file: File): AsyncGenerator<Uint8Array> {
  const reader = file.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(rejectChanged);
    if (done) return;
    yield value;
  }
}

/** Browsers report a file that has changed since it was chosen as a network error, among others. */
function rejectChanged(cause: unknown): never {
  throw new Error("it has changed since you chose it. Choose it again.", { cause });
}

export const LIMITS = { rows: MAX_BATCH, bytes: MAX_BODY_BYTES, row: MAX_PAGE_BYTES };

export type FileCheck = {
  /** Rows without errors. */
  readonly rows: number;
  readonly faults: readonly Fault[];
  readonly issueCount: number;
  readonly badLines: ReadonlySet<number>;
  /** Whether all rows were compared with the stored rows. */
  readonly isCompared: boolean;
  /** Whether a row has the values of a unique constraint: without, every row is new. */
  readonly hasKeys: boolean;
  readonly days: DaysFound;
};

type CheckOptions = {
  onProgress: (rows: number) => void;
  stored: StoredCheck | undefined;
  /** Of an import that updates rows. */
  comparison: Pick<Comparison, "add" | "findTaken"> | undefined;
};

/** Reads the whole file. Counts its rows and errors. */
export async function checkFile(
  file: ImportFile,
  { onProgress, comparison, stored }: CheckOptions,
): Promise<FileCheck> {
  const batcher = makeBatcher(LIMITS);
  const faults = makeFaultList();
  const badLines = new Set<number>();
  let rows = 0;
  const add = (issue: LineIssue) => {
    badLines.add(issue.line);
    faults.add(issue);
  };
  const reader = makeFileReader(file, { isUpdate: comparison !== undefined });
  for await (const read of readFile(file, reader)) {
    read.issues.forEach(add);
    for (const row of read.rows) {
      const issue = batcher.add(row).issue ?? comparison?.add(row);
      if (issue !== undefined) {
        add(issue);
        continue;
      }
      rows++;
      stored?.add(row);
    }
    onProgress(rows);
  }
  const found = await stored?.end();
  const issues = [...(found?.issues ?? []), ...(comparison?.findTaken() ?? [])];
  issues.forEach(add);
  const left = new Set(issues.map(({ line }) => line));
  return {
    ...{ issueCount: faults.count(), faults: faults.faults() },
    ...{ badLines, rows: rows - left.size, days: reader.days() },
    isCompared: found?.isComplete ?? false,
    hasKeys: found?.hasKeys ?? false,
  };
}

/** SHA-256 in hex. */
export async function digestBytes(data: BufferSource): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", data);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// The choice of a column for each name of a file.

/** Between a reference and the unique column of its table whose values the file has. */
const BY = ".";

/** One field for each name; the column of the same name is chosen. References with texts are found by the text of their row. */
export function renderMapping(
  table: TableDefinition,
  { names, samples }: FileNames,
  targets: MatchTargets,
): HTMLElement[] {
  const mapping = makeMapping(table);
  return names.map((name, index) => {
    const target = mapping.targetOf(name);
    const chosen = "column" in target ? target.column?.name : undefined;
    const id = `column-${index}`;
    const select = element("select", { id, "data-name": name }, new Option("Leave out", ""));
    const shown = [...(samples.get(name) ?? [])];
    const isText = shown.some((text) => !isUuid(text.trim()));
    for (const column of table.columns) {
      const text = isNeeded(column) ? `${column.name} (required)` : column.name;
      select.append(new Option(text, column.name, false, column.name === chosen));
      const { columns: named = [], label: shownBy } = targets[column.table ?? ""] ?? {};
      for (const { name: by } of named) {
        const isChosen = column.name === chosen && isText && by === shownBy;
        select.append(new Option(`${text}, by its ${by}`, column.name + BY + by, false, isChosen));
      }
    }
    const label = element(
      "label",
      { for: id },
      /^#\d+$/.test(name) ? `Column ${name.slice(1)} (no name)` : element("bdi", {}, name),
    );
    if (shown.length === 0) return element("div", { class: "field" }, label, select);
    select.setAttribute("aria-describedby", `${id}-samples`);
    const texts = shown.flatMap((text, at) => [at === 0 ? "" : " · ", toSample(text)]);
    const hint = element("p", { class: "hint", id: `${id}-samples` }, ...texts);
    return element("div", { class: "field" }, label, hint, select);
  });
}

function toSample(text: string): HTMLElement {
  const cut = text.length > SAMPLE_CHARS ? `${text.slice(0, SAMPLE_CHARS)}…` : text;
  return element("bdi", {}, cut);
}

type Choices = {
  readonly map: ReadonlyMap<string, string>;
  readonly skip: readonly string[];
  /** By the names of references. */
  readonly by: ReadonlyMap<string, MatchBy>;
};

export function readChoices(
  form: HTMLFormElement,
  { columns }: TableDefinition,
  targets: MatchTargets,
): Choices {
  const selects = [...form.querySelectorAll<HTMLSelectElement>("select[data-name]")];
  const chosen = selects.map(({ dataset, value }) => [dataset["name"] ?? "", value] as const);
  const by = chosen.flatMap(([, choice]): [string, MatchBy][] => {
    const [name = "", match = ""] = choice.split(BY);
    const column = columns.find((other) => other.name === name);
    const found = column && findMatchBy(targets, column, match);
    return found === undefined ? [] : [[name, found]];
  });
  return {
    by: new Map(by),
    map: new Map(
      chosen
        .filter(([, column]) => column !== "")
        .map(([name, choice]) => [name, choice.split(BY)[0] ?? ""]),
    ),
    skip: chosen.filter(([, column]) => column === "").map(([name]) => name),
  };
}
