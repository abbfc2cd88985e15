/** Applies an explicit change to a recorded table, with the parts added while other apps used it. Pure. @module */
import { deriveName, indexesOf, type LateParts, type RecordedDefinition } from "../catalog/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import { type Change, changeColumnName, changeTable } from "./change.ts";

/** The recorded table after a change; `undefined` if it is dropped. */
export function changeRecorded(
  table: RecordedDefinition,
  change: Change,
): RecordedDefinition | undefined {
  const { late, ...rest } = table;
  const next = changeTable(rest, change);
  if (next === undefined || late === undefined) return next;
  return { ...next, late: changeLate(table, late, { next, change }) };
}

type Changed = { next: TableDefinition; change: Change };

function changeLate(
  before: RecordedDefinition,
  late: LateParts,
  { next, change }: Changed,
): LateParts {
  const rename = (name: string) => changeColumnName(name, change) ?? [];
  const indexes = indexesOf(before).flatMap(({ columns, appId }) => {
    const renamed = columns.flatMap(rename);
    if (appId === undefined || renamed.length < columns.length) return [];
    return [[deriveName(next.name, renamed, "idx"), appId] as const];
  });
  return { columns: late.columns.flatMap(rename), indexes: Object.fromEntries(indexes) };
}
