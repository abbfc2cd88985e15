/**
 * The names that indexes and hidden columns of a database can have besides those of this release. Databases have them until
 * `rowhouse migrate --contract`, because processes before 0.2.0 use them. Pure.
 *
 * Such a release built an index under its name in the record, without the parts by which it is searched, unless the database had the
 * preview `filters`. With it, it stored a number or decimal of an index for searches once more, as a double in the column `#price`. It split an index
 * with an enum into an index for each value, and had the enums of a unique index at its end.
 *
 * @module
 */

import { isNamed } from "../../db/mod.ts";
import { hasOwnType, SQL } from "../../kinds/mod.ts";
import type { Kind, TableDefinition } from "../../schema/mod.ts";
import {
  type Constraint,
  deriveName,
  HASH_LENGTH,
  hashName,
  indexesOf,
  keysOf,
  MAX_BYTES,
  nameOf,
  namesOf,
  type RecordedDefinition,
  referencesOf,
} from "./names.ts";

/** The hidden columns of keys begin with it, and no column of an app does. */
export const KEY_PREFIX = "#";

/** The name of the key of a column. A hash after another prefix makes the names of long columns different. */
export function keyName(column: string): string {
  const name = `${KEY_PREFIX}${column}`;
  if (name.length <= MAX_BYTES) return name;
  const hash = hashName(column);
  return `${name.slice(0, MAX_BYTES - HASH_LENGTH - 1)}${KEY_PREFIX}${hash}`;
}

/** Whether a column of this kind can have a key. */
export function canHaveKey(kind: Kind): boolean {
  return SQL[kind].formerKey !== undefined;
}

/** Every name that an index can have had, besides that in the record. */
export function formerNames({ name, columns }: TableDefinition, index: Constraint): string[] {
  const search = formerName(name, index);
  const enums = columns.filter(hasOwnType);
  const split = enums
    .filter((column) => index.kind === "idx" && index.columns.includes(column.name))
    .flatMap(({ values = [] }) => [...values, null].map((value) => splitName(search, value)));
  return [search, ...split].filter((former) => !namesOf(index).includes(former));
}

function formerName(table: string, { kind, columns }: Pick<Constraint, "kind" | "columns">) {
  return deriveName(table, columns, kind === "key" ? "search_key" : "search_idx");
}

/** The names of the indexes of the rows with a value of an enum. */
export function listValueIndexes(
  table: TableDefinition,
  { column, value }: { readonly column: string; readonly value: string },
): string[] {
  return indexesOf(table)
    .filter(({ columns }) => columns.includes(column))
    .map((index) => splitName(formerName(table.name, index), value));
}

const VALUE_HASH_LENGTH = 6;

function splitName(search: string, value: string | null): string {
  const hash =
    value === null
      ? "null"
      : Bun.CryptoHasher.hash("sha256", value, "hex").slice(0, VALUE_HASH_LENGTH);
  return search.replace(/search_idx$/, `${hash}_idx`);
}

/** Whether an index had this name, also before its enums got other values. */
export function isFormerName(table: string, index: Constraint, name: string): boolean {
  if (name === nameOf(index)) return false;
  if (name === index.name) return true;
  const search = formerName(table, index);
  if (name === search) return true;
  const start = search.replace(/search_idx$/, "");
  const end = new RegExp(`^(?:[0-9a-f]{${VALUE_HASH_LENGTH}}|null)_idx$`);
  return index.kind === "idx" && name.startsWith(start) && end.test(name.slice(start.length));
}

/** Whether an index has this name, now or before. */
export function isNameOf(table: string, index: Constraint, name: string): boolean {
  return name === nameOf(index) || isFormerName(table, index, name);
}

/** The constraint or index of this table with this name. A shard can have shortened the name. */
export function findConstraint(table: RecordedDefinition, name: string): Constraint | undefined {
  const all = [...keysOf(table), ...indexesOf(table), ...referencesOf(table)];
  const exact = all.find((named) => namesOf(named).includes(name));
  if (exact !== undefined) return exact;
  const former = all.find(
    (named) => named.kind !== "fkey" && isFormerName(table.name, named, name),
  );
  if (former !== undefined) return former;
  const [shortened, other] = all.filter((named) =>
    namesOf(named).some((whole) => isNamed(whole, name)),
  );
  return other === undefined ? shortened : undefined;
}
