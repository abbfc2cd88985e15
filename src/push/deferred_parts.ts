/**
 * Parts that an owner adds to a table while other apps use it. Other apps' rows store the defaults of these columns, so the
 * bytes of the defaults are limited. New indexes exclude other apps' rows. Pure.
 *
 * @module
 */
import { type DeferredParts, indexesOf, type RecordedDefinition } from "../catalog/mod.ts";
import { type NamedColumn, QUOTAS } from "../dsl/mod.ts";
import { SQL } from "../kinds/mod.ts";
import { canonicalJson } from "../std/canonical_json.ts";
import { utf8Length } from "../std/utf8_length.ts";
import { showDefault } from "./compare.ts";
import type { TableState } from "./state.ts";

/** Whether another app uses the table. */
export function isShared({ uses, ownerAppId }: Pick<TableState, "uses" | "ownerAppId">): boolean {
  return uses.some(({ appId }) => appId !== ownerAppId);
}

/** A table after a declaration, with its deferred parts. If only the owner uses the table, there are none. */
export function markDeferred(next: RecordedDefinition, found: TableState): RecordedDefinition {
  const { deferred: before = NONE, ...recorded } = found.definition;
  if (canonicalJson(next) === canonicalJson(recorded)) return found.definition;
  const deferred = isShared(found)
    ? {
        columns: [...new Set([...before.columns, ...findDeferredColumns(next, recorded)])],
        indexes: { ...before.indexes, ...findDeferredIndexes(next, found) },
      }
    : { ...before, columns: [] };
  const isNone = deferred.columns.length === 0 && Object.keys(deferred.indexes).length === 0;
  return isNone ? next : { ...next, deferred };
}

const NONE: DeferredParts = { columns: [], indexes: {} };

function findDeferredColumns(next: RecordedDefinition, recorded: RecordedDefinition): string[] {
  const before = new Map(recorded.columns.map((column) => [column.name, showDefault(column)]));
  return next.columns
    .filter((column) => showDefault(column) !== before.get(column.name))
    .map(({ name }) => name);
}

/** Excludes the indexes of references: deletes use them for lookups, and they contain only rows with the reference. */
function findDeferredIndexes(next: RecordedDefinition, found: TableState): Record<string, string> {
  const before = new Set(indexesOf(found.definition).map(({ name }) => name));
  const deferred = indexesOf(next).filter(
    ({ name, kinds }) => !before.has(name) && (kinds.length > 1 || kinds[0] !== "ref"),
  );
  return Object.fromEntries(deferred.map(({ name }) => [name, found.ownerAppId]));
}

/**
 * The stored bytes of deferred defaults, if they exceed the limit and grow. Rows of other apps contain the defaults of all
 * columns that these apps do not declare.
 */
export function sumExcessDefaults(
  next: RecordedDefinition,
  { definition }: TableState,
): number | undefined {
  const bytes = sumDeferredDefaults(next);
  const isAllowed =
    bytes <= QUOTAS.deferredDefaultBytes || bytes <= sumDeferredDefaults(definition);
  return isAllowed ? undefined : bytes;
}

function sumDeferredDefaults({ columns, deferred = NONE }: RecordedDefinition): number {
  const names = new Set(deferred.columns);
  return columns
    .filter(({ name }) => names.has(name))
    .reduce((sum, column) => sum + toStoredBytes(column), 0);
}

/** Max bytes of a column's default in a row, padding included. */
function toStoredBytes({ kind, default: value }: NamedColumn): number {
  if (value === undefined) return 0;
  const text = typeof value === "string" ? value : canonicalJson(value);
  return SQL[kind].storedBytes(utf8Length(text));
}
