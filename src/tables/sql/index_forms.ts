/** The indexes that a table has, next to those of the form at this site, and whether the server can search them. @module */

import { call, type Database, quoteLiteral, readRows } from "../../db/mod.ts";
import { SQL } from "../../kinds/mod.ts";
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

/** The comparisons of the parts of a text. */
const COMPARISONS = ["name", "text"].flatMap((type) =>
  [
    `${type}eq`,
    ...["lt", "le", "gt", "ge"].map((op) => (type === "name" ? `name${op}` : `text_${op}`)),
  ].map((name) => `pg_catalog.${name}(pg_catalog.${type}, pg_catalog.${type})`),
);
/** Bytes of a name in PostgreSQL, and so of the start of a text. */
const NAME_BYTES = 63;

/** What is missing, for operators. Without it, conditions and orders of texts visit all rows of an app; nothing is wrong. */
export async function findSearchIssues(db: Database): Promise<string[]> {
  const calls = Object.values(SQL).flatMap(({ parts }) => parts?.calls ?? []);
  const functions = [...new Set([...calls, ...COMPARISONS])].map(quoteLiteral);
  const rows = await readRows<{ issue: string }>(
    db,
    `select oid::pg_catalog.regprocedure || ' is not leakproof' as issue from pg_catalog.pg_proc
      where oid = any (array[${functions.join(", ")}]::pg_catalog.regprocedure[]::pg_catalog.oid[])
        and not (proleakproof and provolatile = 'i')
      union all select 'max_identifier_length is ' || pg_catalog.current_setting('max_identifier_length') || ', not ${NAME_BYTES}'
      where pg_catalog.current_setting('max_identifier_length') <> '${NAME_BYTES}' order by issue`,
  );
  return rows.map(({ issue }) => issue);
}
