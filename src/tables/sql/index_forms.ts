/** The indexes that a table has, next to those of this release, and whether the server can search them. @module */

import { call, type Database, quoteLiteral, readRows } from "../../db/mod.ts";
import { SQL } from "../../kinds/mod.ts";
import {
  type Constraint,
  indexesOf,
  isFormerName,
  keysOf,
  nameOf,
  type RecordedDefinition,
} from "../catalog/mod.ts";

export type IndexedTable = {
  name: string;
  stamp: number;
  definition: RecordedDefinition;
  indexes: string[];
  /** The names of the indexes whose build or drop was interrupted, or has yet to start or end. */
  unfinished: string[];
  /** The names of the hidden columns with keys. */
  keys: string[];
};

export async function readIndexes(db: Database, wanted: string | null): Promise<IndexedTable[]> {
  return (await call(db, "read_built_indexes", { wanted })) as IndexedTable[];
}

/** The names of a constraint's index, and of built or unfinished ones that only processes before 0.2.0 use. */
type IndexState = { index: Constraint; wanted: string; isBuilt: boolean; former: string[] };

export function listIndexStates({
  name: table,
  definition,
  indexes,
  unfinished,
}: Pick<IndexedTable, "name" | "definition" | "indexes" | "unfinished">): IndexState[] {
  const begun = [...new Set([...indexes, ...unfinished])];
  return [...keysOf(definition), ...indexesOf(definition)].map((index) => {
    const wanted = nameOf(index);
    const former = begun.filter((name) => isFormerName(table, index, name));
    return { index, wanted, isBuilt: indexes.includes(wanted), former };
  });
}

/** Whether an index is to be built beside a former one. */
export function isOutdated({ isBuilt, former }: IndexState): boolean {
  return !isBuilt && former.length > 0;
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
