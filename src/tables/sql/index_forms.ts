/** The indexes that a table has, next to those of the form at this site, and whether the server can search them. @module */

import { call, type Database, quoteLiteral, readRows } from "../../db/mod.ts";
import { SQL } from "../../kinds/mod.ts";
import {
  type Constraint,
  type FunctionSite,
  formAt,
  indexesOf,
  isFormerName,
  isNameOf,
  keysOf,
  nameIn,
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

/** `isContracted`: whether no process before 0.2.0 can use the database any more. */
type Site = FunctionSite & { readonly isContracted: boolean };

export async function readIndexes(
  db: Database,
  wanted: string | null,
): Promise<Site & { tables: IndexedTable[] }> {
  return (await call(db, "read_built_indexes", { wanted })) as Site & { tables: IndexedTable[] };
}

/** The names of a constraint's indexes: of its form, and built or unfinished ones of other forms, of which no process uses some. */
export type IndexState = {
  index: Constraint;
  wanted: string;
  isBuilt: boolean;
  former: string[];
  unused: string[];
};

/** With the preview `filters`, processes before 0.2.0 search the indexes that these built. */
export function listIndexStates(
  {
    name: table,
    definition,
    indexes,
    unfinished,
  }: Pick<IndexedTable, "name" | "definition" | "indexes" | "unfinished">,
  site: Site,
): IndexState[] {
  const begun = [...new Set([...indexes, ...unfinished])];
  const form = formAt(site);
  const isKept = form === "search" && !site.isContracted;
  return [...keysOf(definition), ...indexesOf(definition)].map((index) => {
    const wanted = nameIn(index, form);
    const former = begun.filter((name) => name !== wanted && isNameOf(table, index, name));
    const isUsed = (name: string) => isKept && isFormerName(table, index, name);
    const unused = former.filter((name) => !isUsed(name));
    return { index, wanted, isBuilt: indexes.includes(wanted), former, unused };
  });
}

/** Whether the index is to be built again, or only another one to be dropped. */
export function isOutdated({ isBuilt, former, unused }: IndexState): boolean {
  return isBuilt ? unused.length > 0 : former.length > 0;
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
