/** The indexes that a table has, next to those of the form at this site. @module */

import { call, type Database } from "../../db/mod.ts";
import {
  builtIn,
  type Constraint,
  type FunctionSite,
  formAt,
  indexesOf,
  isNameOf,
  keyedColumns,
  keyName,
  keysOf,
  type RecordedDefinition,
} from "../catalog/mod.ts";
import { LARGE_TABLE_PAGES, ROWS_A_PAGE } from "../state.ts";
import type { KeyedColumn } from "./ddl.ts";

export type IndexedTable = {
  name: string;
  stamp: number;
  definition: RecordedDefinition;
  indexes: string[];
  /** The names of the indexes whose build or drop was interrupted, or has yet to start or end. */
  unfinished: string[];
  /** The names of the hidden columns with keys. */
  keys: string[];
  isLarge: boolean;
  isShared: boolean;
  /** The bytes of the table and its indexes. */
  bytes: number;
};

/** The indexes of one table, or of all. */
export async function readIndexes(
  db: Database,
  wanted: string | null,
): Promise<FunctionSite & { tables: IndexedTable[] }> {
  const values = { wanted, large_pages: LARGE_TABLE_PAGES, rows_a_page: ROWS_A_PAGE };
  return (await call(db, "read_indexes", values)) as FunctionSite & { tables: IndexedTable[] };
}

/** The names of a constraint's indexes: of its form, those of them that are not built, and built or unfinished ones of another form. */
export type IndexState = {
  index: Constraint;
  wanted: string[];
  missing: string[];
  former: string[];
  /** The columns without the keys that its form needs. */
  lacking: KeyedColumn[];
};

export function listIndexStates(
  {
    name: table,
    definition,
    indexes,
    unfinished,
    keys,
  }: Pick<IndexedTable, "name" | "definition" | "indexes" | "unfinished" | "keys">,
  site: FunctionSite,
): IndexState[] {
  const begun = [...new Set([...indexes, ...unfinished])];
  return [...keysOf(definition), ...indexesOf(definition)].map((index) => {
    const wanted = builtIn(index, formAt(site)).map(({ name }) => name);
    const missing = wanted.filter((name) => !indexes.includes(name));
    const former = begun.filter((name) => !wanted.includes(name) && isNameOf(table, index, name));
    const keyed = formAt(site) === "search" ? keyedColumns(index) : [];
    const lacking = keyed.filter(({ name }) => !keys.includes(keyName(name)));
    return { index, wanted, missing, former, lacking };
  });
}
