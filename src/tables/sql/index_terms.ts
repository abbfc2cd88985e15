/**
 * The expressions in an index. They keep every entry within PostgreSQL's limit of 2,704 bytes: a larger entry would fail
 * the write. An index that conditions and orders can search contains the parts of texts by which PostgreSQL can search under row security,
 * and ends in the id. Any other index contains prefixes of texts, or digests if it is unique, because values with the same prefix must
 * remain different. Also the rows that an index contains. Pure.
 *
 * @module
 */

import { quoteLiteral, quoteName } from "../../db/mod.ts";
import { type IndexPart, type Kind, SQL } from "../../kinds/mod.ts";
import type { Constraint } from "../catalog/mod.ts";

/** Bytes of an index entry that its columns share. The app's id, headers and padding use the rest. */
const BUDGET = 2400;
/** Max bytes of a character. */
const CHARACTER = 4;

function isSearch({ search }: Constraint): boolean {
  return search !== undefined;
}

/** The columns of an index or a constraint in DDL. Each starts with the app, because constraint checks bypass row security. */
export function renderTerms(index: Constraint): string {
  const terms = toTerms(index, {
    start: (column, length) => `pg_catalog.left(${quoteName(column)}, ${length})`,
    digest: (column) =>
      `pg_catalog.sha256(pg_catalog.decode(pg_catalog.replace(${quoteName(column)}, ${quoteLiteral("\\")}, ${quoteLiteral("\\\\")}), 'escape'))`,
    plain: quoteName,
    part: (column, part) => part.render(quoteName(column)),
  });
  return [`"app_id"`, ...terms].join(", ");
}

/** The columns as PostgreSQL prints them, without quotation marks and in one line. */
export function printTerms(index: Constraint): string {
  const terms = toTerms(index, {
    start: (column, length) => `left(${column}, ${length})`,
    digest: (column) =>
      `sha256(decode(replace(${column}, '\\'::text, '\\\\'::text), 'escape'::text))`,
    plain: (column) => column,
    part: (column, part) => part.printed(column),
  });
  return ["app_id", ...terms].join(", ");
}

/**
 * The rows that an index contains, in DDL: only rows with a value in its first column. A unique constraint
 * loses nothing by this, because nulls are distinct. If every index had all rows, PostgreSQL could look up a row by id, or the
 * rows of a reference, with any of them, as each starts with the app; for a small table it chooses the newest index.
 * An index that the owner added to a table of several apps contains the owner's rows.
 *
 * An index that is searched and not unique contains all rows, but by a condition that only a condition on its first column
 * implies.
 */
export function renderRows(index: Constraint): string {
  if (index.appId !== undefined) return `"app_id" = ${quoteLiteral(index.appId)}::pg_catalog.uuid`;
  const { parts, name } = firstTerm(index);
  const first = parts?.tested.render(quoteName(name)) ?? quoteName(name);
  return isSearch(index) && index.kind === "idx"
    ? `${first} is null or ${first} is not null`
    : `${first} is not null`;
}

/** The condition as PostgreSQL prints it, without quotation marks. */
export function printRows(index: Constraint): string {
  if (index.appId !== undefined) return `app_id = '${index.appId}'::uuid`;
  const { parts, name } = firstTerm(index);
  const first = parts?.tested.printed(name) ?? name;
  return isSearch(index) && index.kind === "idx"
    ? `${first} IS NULL OR ${first} IS NOT NULL`
    : `${first} IS NOT NULL`;
}

/** An expression as the conditions of indexes have it, and as PostgreSQL compares it with those of an index. */
export function withoutCollation(expression: string): string {
  return expression.replaceAll(' collate pg_catalog."C"', "");
}

/** The first column of an index, and its parts if these are searched. */
function firstTerm(index: Constraint) {
  const { name, columns, kinds } = index;
  const [column] = columns;
  const [kind] = kinds;
  if (column === undefined || kind === undefined) throw new Error(`Index ${name} has no columns`);
  return { name: column, parts: isSearch(index) ? SQL[kind].parts : undefined };
}

type Part = Pick<IndexPart, "render" | "printed">;
type Forms = {
  start: (column: string, length: number) => string;
  /** SHA-256 of a text's bytes. An index accepts only immutable built-in functions, so this is the only way to get the bytes. */
  digest: (column: string) => string;
  plain: (column: string) => string;
  part: (column: string, part: Part) => string;
};

function toTerms(index: Constraint, forms: Forms): string[] {
  return isSearch(index) ? toSearchTerms(index, forms) : toPlainTerms(index, forms);
}

function toPlainTerms({ kind, columns, kinds }: Constraint, forms: Forms): string[] {
  const length = toLength(kinds);
  return columns.map((column, index) => {
    const indexed = kinds[index];
    if (indexed === undefined || SQL[indexed].width !== undefined) return forms.plain(column);
    return kind === "key" ? forms.digest(column) : forms.start(column, length);
  });
}

/** What makes texts of a unique index distinct comes last, because it is not searched. */
function toSearchTerms({ kind: of, columns, kinds }: Constraint, forms: Forms): string[] {
  const pick = (names: readonly ("start" | "rest" | "exact")[]) =>
    columns.flatMap((column, position) => {
      const parts = kinds[position] && SQL[kinds[position]].parts;
      if (parts === undefined) return names.includes("exact") ? [] : [forms.plain(column)];
      return names.flatMap((name) => {
        const part = parts[name];
        return part === undefined ? [] : [forms.part(column, part)];
      });
    });
  const searched = pick(["start", "rest"]);
  if (of === "key") return [...searched, ...pick(["exact"])];
  return columns.includes("id") ? searched : [...searched, forms.plain("id")];
}

/** Characters of each text in an index. */
function toLength(kinds: readonly Kind[]): number {
  const others = kinds.flatMap((kind) => SQL[kind].width ?? []);
  const left = BUDGET - others.reduce((sum, width) => sum + width, 0);
  return Math.floor(left / (kinds.length - others.length) / CHARACTER);
}
