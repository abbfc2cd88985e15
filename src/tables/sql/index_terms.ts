/**
 * The expressions in an index. They keep every entry within PostgreSQL's limit of 2,704 bytes: a larger entry would fail
 * the write. A plain index contains prefixes of texts. A unique index contains digests, because
 * values with the same prefix must remain different. The form for searches contains the parts of texts by which PostgreSQL can
 * search under row security, and ends in the id. Also the rows that an index contains. Pure.
 *
 * @module
 */

import { quoteLiteral, quoteName } from "../../db/mod.ts";
import { type IndexPart, type Kind, SQL } from "../../kinds/mod.ts";
import {
  type BuiltIndex,
  builtIn,
  type Constraint,
  type EnumValue,
  type IndexForm,
  keyName,
  searchColumns,
} from "../catalog/mod.ts";

/** Bytes of an index entry that its columns share. The app's id, headers and padding use the rest. */
const BUDGET = 2400;
/** Max bytes of a character. */
const CHARACTER = 4;

export type Formed = {
  readonly index: Constraint;
  readonly form: IndexForm;
  readonly built: BuiltIndex;
};

export function toFormed(index: Constraint, form: IndexForm): Formed[] {
  return builtIn(index, form).map((built) => ({ index, form, built }));
}

/** An index without a form for searches has one form. */
function isSearch({ index, form }: Formed): boolean {
  return form === "search" && index.search !== undefined;
}

/** The columns of an index or a constraint in DDL. Each starts with the app, because constraint checks bypass row security. */
export function renderTerms(formed: Formed): string {
  const terms = toTerms(formed, {
    start: (column, length) => `pg_catalog.left(${quoteName(column)}, ${length})`,
    digest: (column) =>
      `pg_catalog.sha256(pg_catalog.decode(pg_catalog.replace(${quoteName(column)}, ${quoteLiteral("\\")}, ${quoteLiteral("\\\\")}), 'escape'))`,
    plain: quoteName,
    part: (column, part, isKey) => part.render(quoteName(isKey ? keyName(column) : column)),
  });
  return [`"app_id"`, ...terms].join(", ");
}

/** The columns as PostgreSQL prints them, without quotation marks and in one line. */
export function printTerms(formed: Formed): string {
  const terms = toTerms(formed, {
    start: (column, length) => `left(${column}, ${length})`,
    digest: (column) =>
      `sha256(decode(replace(${column}, '\\'::text, '\\\\'::text), 'escape'::text))`,
    plain: (column) => column,
    part: (column, part, isKey) => part.printed(isKey ? keyName(column) : column),
  });
  return ["app_id", ...terms].join(", ");
}

/**
 * The rows that an index contains, in DDL: only rows with a value in its first column. A unique constraint
 * loses nothing by this, because nulls are distinct. If every index had all rows, PostgreSQL could look up a row by id, or the
 * rows of a reference, with any of them, as each starts with the app; for a small table it chooses the newest index.
 * An index that the owner added to a table of several apps contains the owner's rows.
 *
 * An index for searches that is not unique contains all rows, but by a condition that only a condition on its first column
 * implies, or on the enum by whose values it is split.
 */
export function renderRows(formed: Formed): string {
  const { index, built } = formed;
  const owned =
    index.appId === undefined ? [] : [`"app_id" = ${quoteLiteral(index.appId)}::pg_catalog.uuid`];
  if (built.only !== undefined) return [...owned, renderOnly(built.only)].join(" and ");
  const [all] = owned;
  if (all !== undefined) return all;
  const { parts, name } = firstTerm(formed);
  const first = parts?.tested.render(quoteName(name)) ?? quoteName(name);
  return isSearch(formed) && index.kind === "idx"
    ? `${first} is null or ${first} is not null`
    : `${first} is not null`;
}

/** The condition as PostgreSQL prints it, without quotation marks. */
export function printRows(formed: Formed): string {
  const { index, built } = formed;
  const owned = index.appId === undefined ? [] : [`app_id = '${index.appId}'::uuid`];
  if (built.only !== undefined) return [...owned, printOnly(built.only)].join(" AND ");
  const [all] = owned;
  if (all !== undefined) return all;
  const { parts, name } = firstTerm(formed);
  const first = parts?.tested.printed(name) ?? name;
  return isSearch(formed) && index.kind === "idx"
    ? `${first} IS NULL OR ${first} IS NOT NULL`
    : `${first} IS NOT NULL`;
}

/** A column of a unique constraint in the target of `on conflict`. */
export type ConflictTerm = {
  readonly terms: string;
  readonly rows: string;
  /** Whether a row has the value of `"$own"`, if PostgreSQL can search the index for it under row security. */
  readonly match: string | undefined;
  /** The key of a value, as another value of `"$own"`: no function in a comparison may lack the mark leakproof. */
  readonly key: string;
};

/** A column of unique constraints, as its indexes in a form contain it. PostgreSQL finds an index by its terms in any order. */
export function renderConflictTerm(
  { name, kind }: { name: string; kind: Kind },
  form: IndexForm,
): ConflictTerm {
  const built = { name: "" };
  const index: Constraint = { kind: "key", name: "", columns: [name], kinds: [kind] };
  const formed = { index: { ...index, search: [built] }, form, built };
  const [, terms = ""] = withoutCollation(renderTerms(formed)).split(`"app_id", `);
  return { terms, rows: renderRows(formed), ...renderMatch(name, kind, form) };
}

function renderMatch(
  name: string,
  kind: Kind,
  form: IndexForm,
): Pick<ConflictTerm, "match" | "key"> {
  const { parts } = SQL[kind];
  const compare = (render: (column: string) => string, column = name) =>
    `${render(quoteName(column))} operator(pg_catalog.=) ${render(`"$own".${quoteName(column)}`)}`;
  const value = compare((column) => column);
  if (parts === undefined) return { match: value, key: "" };
  if (form === "plain") return { match: undefined, key: "" };
  const { start, rest, key } = parts;
  const searched = compare(start.render, key === undefined ? name : keyName(name));
  const others = rest === undefined ? [] : [compare(rest.render)];
  return {
    match: [searched, ...others, value].join(" and "),
    key:
      key === undefined
        ? ""
        : `, ${key.render(`"$values".${quoteName(name)}`)} as ${quoteName(keyName(name))}`,
  };
}

/** An expression as the conditions of indexes have it, and as PostgreSQL compares it with those of an index. */
export function withoutCollation(expression: string): string {
  return expression.replaceAll(' collate pg_catalog."C"', "");
}

/** The first column of an index, or its key, and its parts in an index for searches. */
function firstTerm(formed: Formed) {
  const { name, kind } = firstOf(formed);
  const parts = isSearch(formed) ? SQL[kind].parts : undefined;
  return { parts, name: parts?.key === undefined ? name : keyName(name) };
}

function firstOf(formed: Formed): { name: string; kind: Kind } {
  const { name, columns, kinds } = formed.index;
  const [first] = isSearch(formed) ? searchColumns(formed.index, formed.built) : [];
  if (first !== undefined) return first;
  if (columns[0] === undefined || kinds[0] === undefined)
    throw new Error(`Index ${name} has no columns`);
  return { name: columns[0], kind: kinds[0] };
}

function renderOnly({ column, value, type }: EnumValue): string {
  return value === null
    ? `${quoteName(column)} is null`
    : `${quoteName(column)} = ${quoteLiteral(value)}::data.${quoteName(type)}`;
}

/** Without quotation marks and line breaks, as all printed parts. */
function printOnly({ column, value, type }: EnumValue): string {
  if (value === null) return `${column} IS NULL`;
  const label = value.replaceAll("'", "''").replaceAll('"', "").replaceAll(/\s+/g, " ");
  return `${column} = '${label}'::data.${type}`;
}

type Part = Pick<IndexPart, "render" | "printed">;
type Forms = {
  start: (column: string, length: number) => string;
  /** SHA-256 of a text's bytes. An index accepts only immutable built-in functions, so this is the only way to get the bytes. */
  digest: (column: string) => string;
  plain: (column: string) => string;
  /** A part of a column, or of its key. */
  part: (column: string, part: Part, isKey: boolean) => string;
};

function toTerms(formed: Formed, forms: Forms): string[] {
  const { index } = formed;
  return isSearch(formed) ? toSearchTerms(formed, forms) : toPlainTerms(index, forms);
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
function toSearchTerms({ index, built }: Formed, forms: Forms): string[] {
  const columns = searchColumns(index, built);
  const pick = (names: readonly ("start" | "rest" | "exact")[]) =>
    columns.flatMap(({ name: column, kind }) => {
      const { parts } = SQL[kind];
      if (parts === undefined) return names.includes("exact") ? [] : [forms.plain(column)];
      return names.flatMap((name) => {
        const part = parts[name];
        return part === undefined
          ? []
          : [forms.part(column, part, name === "start" && parts.key !== undefined)];
      });
    });
  const searched = pick(["start", "rest"]);
  if (index.kind === "key") return [...searched, ...pick(["exact"])];
  return index.columns.includes("id") ? searched : [...searched, forms.plain("id")];
}

/** Characters of each text in an index. */
function toLength(kinds: readonly Kind[]): number {
  const others = kinds.flatMap((kind) => SQL[kind].width ?? []);
  const left = BUDGET - others.reduce((sum, width) => sum + width, 0);
  return Math.floor(left / (kinds.length - others.length) / CHARACTER);
}
