/** Compares the rows of a file with stored rows: unique values that exist, and references to rows that do not. Changes nothing. @module */
import {
  describeTaken,
  type FileRow,
  type LineIssue,
  listUniques,
  toUniqueKey,
} from "../../../rows/mod.ts";
import type { NamedColumn, TableDefinition } from "../../../schema/mod.ts";
import { mapBounded } from "../../../std/map_bounded.ts";
import { quoteElement } from "../../../std/quote.ts";
import { toDataUrl } from "../data.ts";
import { isUnserved, type Row, readQuery } from "../search/pages.ts";

/** Max rows with the same value of a unique constraint's first column that are compared. */
const MAX_READ = 50_000;
/** Max compared values of a column: later rows are checked while they are stored. */
const MAX_KEYS = 100_000;
/** The endpoint's max values of a condition, and less than its max bytes. */
const MAX_VALUES = 100;
const MAX_CHARS = 4000;
const MAX_CALLS = 4;

type Lookup = {
  readonly url: string;
  /** The columns of the table that is read. */
  readonly columns: readonly NamedColumn[];
  readonly toKey: (row: FileRow) => string | undefined;
  readonly toText: (row: FileRow) => string;
  /** The lines of the file with a key, and the value as text. */
  readonly asked: Map<string, { readonly text: string; readonly lines: number[] }>;
  readonly found: Set<string>;
  /** Whether a found key is the error, or a missing one. */
  readonly isUnique: boolean;
  readonly issue: Pick<LineIssue, "column" | "message">;
  isComplete: boolean;
};

type StoredOptions = {
  /** The address of the app's data. */
  readonly api: string;
  /** The references whose rows are found by another value. */
  readonly matched: ReadonlyMap<string, unknown>;
  /** Whether rows are updated: then their comparison with the table checks unique values. */
  readonly isUpdate: boolean;
};

export type StoredRows = {
  readonly issues: readonly LineIssue[];
  readonly isComplete: boolean;
  /** Whether a row has the values of a unique constraint. */
  readonly hasKeys: boolean;
};
export type StoredCheck = {
  readonly add: (row: FileRow) => void;
  /** `isComplete`: all rows were compared. */
  readonly end: () => Promise<StoredRows>;
};

export function openStoredCheck(table: TableDefinition, options: StoredOptions): StoredCheck {
  const lookups = listLookups(table, options);
  return {
    add: (row) => {
      for (const lookup of lookups) addRow(lookup, row);
    },
    end: async () => {
      const asked = lookups.filter((lookup) => lookup.asked.size > 0);
      for (const lookup of asked) await findStored(lookup);
      const issues = asked.flatMap(listIssues).sort((a, b) => a.line - b.line);
      const isComplete = asked.every((lookup) => lookup.isComplete);
      return { issues, isComplete, hasKeys: asked.some(({ isUnique }) => isUnique) };
    },
  };
}

function listLookups(table: TableDefinition, options: StoredOptions): Lookup[] {
  const { api, matched, isUpdate } = options;
  const uniques = (isUpdate ? [] : listUniques(table)).map((columns): Lookup => {
    return {
      ...makeLookup(toDataUrl(api, table.name), columns),
      ...{ toKey: ({ values }) => toUniqueKey(columns, values), isUnique: true },
      toText: ({ values }) => String(values[columns[0]?.name ?? ""]),
      issue: describeTaken(columns),
    };
  });
  const references = table.columns.flatMap(({ name, table: target }): Lookup[] => {
    if (target === undefined || matched.has(name)) return [];
    const message = `No row of ${target} has this id`;
    return [
      {
        ...makeLookup(toDataUrl(api, target), [ID]),
        toKey: ({ values }) => toUniqueKey([ID], { id: values[name] ?? null }),
        toText: ({ values }) => String(values[name]),
        ...{ isUnique: false, issue: { column: name, message } },
      },
    ];
  });
  return [...uniques, ...references];
}

const ID: NamedColumn = { name: "id", kind: "uuid", required: true, unique: true, index: false };

function makeLookup(url: string, columns: readonly NamedColumn[]) {
  return { url, columns, asked: new Map(), found: new Set<string>(), isComplete: true };
}

function addRow(lookup: Lookup, row: FileRow): void {
  const key = lookup.toKey(row);
  if (key === undefined) return;
  const asked = lookup.asked.get(key);
  if (asked !== undefined) asked.lines.push(row.line);
  else if (lookup.asked.size < MAX_KEYS)
    lookup.asked.set(key, { text: lookup.toText(row), lines: [row.line] });
  else lookup.isComplete = false;
}

function addFound({ columns, asked, found }: Lookup, row: Row): void {
  const key = toUniqueKey(columns, row as FileRow["values"]);
  if (key !== undefined && asked.has(key)) found.add(key);
}

/** By the values of the first column: rows with the same one are compared here. */
async function findStored(lookup: Lookup): Promise<void> {
  const [column, ...more] = lookup.columns;
  if (column === undefined) return;
  const all = new Set([...lookup.asked.values()].map(({ text }) => quoteElement(text)));
  const texts = [...all].filter(({ length }) => length <= MAX_CHARS);
  if (texts.length < all.size) lookup.isComplete = false;
  const select = [...new Set(["id", ...lookup.columns.map(({ name }) => name)])].join(",");
  try {
    await mapBounded(toGroups(texts), MAX_CALLS, async (group) => {
      const parameters = [
        ["and", `(${column.name}.in.(${group.join(",")}))`],
        ["select", select],
      ] as const;
      const max = more.length === 0 ? group.length : MAX_READ;
      const pages = await readQuery(lookup.url, { parameters, max });
      for (const { rows } of pages) for (const row of rows) addFound(lookup, row);
      if (more.length > 0 && pages.at(-1)?.next !== undefined) lookup.isComplete = false;
    });
  } catch (error) {
    if (!isUnserved(error)) throw error;
    lookup.isComplete = false;
  }
}

function toGroups(values: readonly string[]): string[][] {
  const groups: string[][] = [];
  let [group, size]: [string[], number] = [[], 0];
  for (const value of values) {
    const { length } = encodeURIComponent(value);
    if (group.length === 0 || group.length === MAX_VALUES || size + length > MAX_CHARS) {
      [group, size] = [[], 0];
      groups.push(group);
    }
    group.push(value);
    size += length;
  }
  return groups;
}

function listIssues({ asked, found, isUnique, isComplete, issue }: Lookup): LineIssue[] {
  // A row that was not read can exist.
  if (!isUnique && !isComplete) return [];
  return [...asked]
    .filter(([key]) => found.has(key) === isUnique)
    .flatMap(([, { lines }]) => lines.map((line) => ({ line, ...issue })));
}
