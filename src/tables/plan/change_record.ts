/** Applies an explicit change to a recorded table, with the parts added while other apps used it. Pure. @module */

import type { TableDefinition } from "../../schema/mod.ts";
import {
  type DeferredParts,
  deriveName,
  indexesOf,
  type RecordedDefinition,
} from "../catalog/mod.ts";
import { type Change, changeColumnName, changeTable } from "./change.ts";

/** The recorded table after a change; `undefined` if it is dropped. */
export function changeRecorded(
  table: RecordedDefinition,
  change: Change,
): RecordedDefinition | undefined {
  const { deferred, ...rest } = table;
  const next = changeTable(rest, change);
  if (next === undefined || deferred === undefined) return next;
  return { ...next, deferred: changeDeferred(table, deferred, { next, change }) };
}

type Changed = { next: TableDefinition; change: Change };

function changeDeferred(
  before: RecordedDefinition,
  deferred: DeferredParts,
  { next, change }: Changed,
): DeferredParts {
  const rename = (name: string) => changeColumnName(name, change) ?? [];
  const indexes = indexesOf(before).flatMap(({ columns, appId }) => {
    const renamed = columns.flatMap(rename);
    if (appId === undefined || renamed.length < columns.length) return [];
    return [[deriveName(next.name, renamed, "idx"), appId] as const];
  });
  return { columns: deferred.columns.flatMap(rename), indexes: Object.fromEntries(indexes) };
}
