/**
 * Parts that an owner adds to a table while other apps use it. Other apps' rows contain the defaults of columns that they do
 * not declare, and would be in each index: so these defaults are limited in bytes, and the index excludes those rows.
 * Pure.
 *
 * @module
 */
import { indexesOf, type LateParts, type RecordedDefinition } from "../catalog/mod.ts";
import { type Kind, type NamedColumn, QUOTAS } from "../dsl/mod.ts";
import { canonicalJson } from "../std/canonical_json.ts";
import { utf8Length } from "../std/utf8_length.ts";
import { type Clash, showDefault } from "./compare.ts";
import type { TableState } from "./state.ts";

/** Whether another app uses the table. */
export function isShared({ uses, ownerAppId }: Pick<TableState, "uses" | "ownerAppId">): boolean {
  return uses.some(({ appId }) => appId !== ownerAppId);
}

/** A table after a declaration, with its late parts. If only the owner uses the table, there are none. */
export function markLate(next: RecordedDefinition, found: TableState): RecordedDefinition {
  const { late: before = NONE, ...recorded } = found.definition;
  if (canonicalJson(next) === canonicalJson(recorded)) return found.definition;
  const late = isShared(found)
    ? {
        columns: [...new Set([...before.columns, ...findLateColumns(next, recorded)])],
        indexes: { ...before.indexes, ...findLateIndexes(next, found) },
      }
    : { ...before, columns: [] };
  const isNone = late.columns.length === 0 && Object.keys(late.indexes).length === 0;
  return isNone ? next : { ...next, late };
}

const NONE: LateParts = { columns: [], indexes: {} };

function findLateColumns(next: RecordedDefinition, recorded: RecordedDefinition): string[] {
  const before = new Map(recorded.columns.map((column) => [column.name, showDefault(column)]));
  return next.columns
    .filter((column) => showDefault(column) !== before.get(column.name))
    .map(({ name }) => name);
}

/** Excludes the indexes of references: deletes use them for lookups, and they contain only rows with the reference. */
function findLateIndexes(next: RecordedDefinition, found: TableState): Record<string, string> {
  const before = new Set(indexesOf(found.definition).map(({ name }) => name));
  const late = indexesOf(next).filter(
    ({ name, kinds }) => !before.has(name) && (kinds.length > 1 || kinds[0] !== "ref"),
  );
  return Object.fromEntries(late.map(({ name }) => [name, found.ownerAppId]));
}

/** Rows of other apps contain the defaults of all columns that these apps do not declare. */
export function findLateDefaults(next: RecordedDefinition, { definition }: TableState): Clash[] {
  const bytes = sumLateDefaults(next);
  if (bytes <= QUOTAS.lateDefaultBytes || bytes <= sumLateDefaults(definition)) return [];
  return [
    {
      table: next.name,
      wanted: `defaults of ${bytes} stored bytes in columns added while other apps use the table`,
      found: `a limit of ${QUOTAS.lateDefaultBytes}, including those no longer declared`,
      remedy: "use shorter defaults, or leave them out and make the columns optional",
    },
  ];
}

function sumLateDefaults({ columns, late = NONE }: RecordedDefinition): number {
  const names = new Set(late.columns);
  return columns
    .filter(({ name }) => names.has(name))
    .reduce((sum, column) => sum + toStoredBytes(column), 0);
}

/** Max bytes of a column's default in a row, padding included. */
function toStoredBytes({ kind, default: value }: NamedColumn): number {
  if (value === undefined) return 0;
  return STORED_BYTES[kind](utf8Length(typeof value === "string" ? value : canonicalJson(value)));
}

/** PostgreSQL stores four digits of a numeric in two bytes. */
const toNumericBytes = (digits: number) => Math.ceil(digits / 2) + 8;

/** Stored bytes of a default, from the bytes of its text. */
const STORED_BYTES = {
  string: (bytes) => bytes + 4,
  number: toNumericBytes,
  decimal: toNumericBytes,
  boolean: () => 4,
  uuid: () => 16,
  timestamp: () => 8,
  // In jsonb each one-digit number has 16 bytes.
  json: (bytes) => 8 * bytes,
  enum: () => 4,
  ref: () => 16,
} satisfies Record<Kind, (bytes: number) => number>;
