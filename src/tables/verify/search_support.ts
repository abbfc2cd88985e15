/** Whether this server can search indexes of texts under row security: its built-ins must be as PostgreSQL defines them. @module */

import { type Database, quoteLiteral, readRows } from "../../db/mod.ts";
import { SQL } from "../../kinds/mod.ts";

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
