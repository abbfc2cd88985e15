/**
 * The expressions in an index. They keep every entry within PostgreSQL's limit of 2,704 bytes: a larger entry would fail
 * the write. A plain index contains prefixes of texts. A unique index contains digests, because
 * values with the same prefix must remain different. Also the rows that an index contains. Pure.
 *
 * @module
 */

import { quoteLiteral, quoteName } from "../../db/mod.ts";
import { type Kind, SQL } from "../../kinds/mod.ts";
import type { Constraint } from "../catalog/mod.ts";

/** Bytes of an index entry that its columns share. The app's id, headers and padding use the rest. */
const BUDGET = 2400;
/** Max bytes of a character. */
const CHARACTER = 4;

/** The columns of an index or a constraint in DDL. Each starts with the app, because constraint checks bypass row security. */
export function renderTerms(constraint: Constraint): string {
  const terms = toTerms(constraint, {
    start: (column, length) => `pg_catalog.left(${quoteName(column)}, ${length})`,
    digest: (column) =>
      `pg_catalog.sha256(pg_catalog.decode(pg_catalog.replace(${quoteName(column)}, ${quoteLiteral("\\")}, ${quoteLiteral("\\\\")}), 'escape'))`,
    plain: quoteName,
  });
  return [`"app_id"`, ...terms].join(", ");
}

/** The columns as PostgreSQL prints them, without quotation marks. */
export function printTerms(constraint: Constraint): string {
  const terms = toTerms(constraint, {
    start: (column, length) => `left(${column}, ${length})`,
    digest: (column) =>
      `sha256(decode(replace(${column}, '\\'::text, '\\\\'::text), 'escape'::text))`,
    plain: (column) => column,
  });
  return ["app_id", ...terms].join(", ");
}

/**
 * The rows that an index contains, in DDL: only rows with a value in its first column. A unique constraint
 * loses nothing by this, because nulls are distinct. If every index had all rows, PostgreSQL could look up a row by id, or the
 * rows of a reference, with any of them, as each starts with the app; for a small table it chooses the newest index.
 * An index that the owner added to a table of several apps contains the owner's rows.
 */
export function renderRows(index: Constraint): string {
  return index.appId === undefined
    ? `${quoteName(firstOf(index))} is not null`
    : `"app_id" = ${quoteLiteral(index.appId)}::pg_catalog.uuid`;
}

/** The condition as PostgreSQL prints it, without quotation marks. */
export function printRows(index: Constraint): string {
  return index.appId === undefined
    ? `${firstOf(index)} IS NOT NULL`
    : `app_id = '${index.appId}'::uuid`;
}

function firstOf({ name, columns: [first] }: Constraint): string {
  if (first === undefined) throw new Error(`Index ${name} has no columns`);
  return first;
}

type Forms = {
  start: (column: string, length: number) => string;
  /** SHA-256 of a text's bytes. An index accepts only immutable built-in functions, so this is the only way to get the bytes. */
  digest: (column: string) => string;
  plain: (column: string) => string;
};

function toTerms({ kind, columns, kinds }: Constraint, forms: Forms): string[] {
  const length = toLength(kinds);
  return columns.map((column, index) => {
    const indexed = kinds[index];
    if (indexed === undefined || SQL[indexed].width !== undefined) return forms.plain(column);
    return kind === "key" ? forms.digest(column) : forms.start(column, length);
  });
}

/** Characters of each text in an index. */
function toLength(kinds: readonly Kind[]): number {
  const others = kinds.flatMap((kind) => SQL[kind].width ?? []);
  const left = BUDGET - others.reduce((sum, width) => sum + width, 0);
  return Math.floor(left / (kinds.length - others.length) / CHARACTER);
}
