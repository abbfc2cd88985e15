/**
 * Functions of a table when an app's column set changes: they are created if no app has
 * them yet, and dropped when no process can still call them. Processes learn of a push within seconds. Processes of a release
 * that is being replaced get an hour.
 *
 * @module
 */

import type { TableDefinition } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { hashColumnSet, listWalks, type RecordedDefinition } from "../catalog/mod.ts";
import type { RecordedSet, SetUse, TableState } from "../state.ts";
import { busy } from "./rejections.ts";
import type { Step } from "./step.ts";

/** How long a column set remains after its app stops using it. */
export const UNUSED_SET_LIFE_S = 3600;
/** Max column sets of an app per table, including unused ones. */
const MAX_SETS = 8;
/** The limit during a series of project migrations, which would otherwise wait at each migration. */
const MAX_SETS_IN_REPLAY = 64;
/** The min time, even if an app has too many column sets: running calls end within this time. */
const MIN_UNUSED_S = 5;

type SetsOptions = {
  /** All apps' column sets of the table. */
  readonly recorded: readonly RecordedSet[];
  readonly whole: RecordedDefinition;
  readonly isReplay: boolean;
};

/**
 * The steps that switch an app to `used`.
 *
 * @throws {Problem} push_busy — the app has too many column sets, and the oldest is too recent to drop
 */
export function planSets(
  appId: string,
  used: TableDefinition,
  { recorded, whole, isReplay }: SetsOptions,
): Step[] {
  const maxSets = isReplay ? MAX_SETS_IN_REPLAY : MAX_SETS;
  const hash = hashColumnSet(used);
  const isWanted = (set: RecordedSet) => set.appId === appId && set.hash === hash;
  const stored = recorded.filter((set) => isWanted(set) || !isExpired(set));
  const others = stored.filter((set) => set.appId === appId && !isWanted(set));
  const excess = others
    .sort((a, b) => (b.unusedS ?? -1) - (a.unusedS ?? -1))
    .slice(0, Math.max(others.length + 1 - maxSets, 0));
  const removed = [...recorded.filter((set) => !stored.includes(set)), ...excess];
  const left = stored.filter((set) => !excess.includes(set));
  if (excess.some(isYoung)) throw busy();
  const make: Step = { kind: "create_functions", table: used, whole };
  return [
    ...(left.some((set) => set.hash === hash && set.unusedS === null) ? [] : [make]),
    ...planDrop(used.name, removed, [...left.map((set) => set.hash), hash]),
  ];
}

/** The step that replaces functions after a change of the table's indexes; none if it concerns no column set. */
export function planRenewal(
  next: RecordedDefinition,
  { definition, sets }: Pick<TableState, "definition" | "sets">,
): Step[] {
  const changed = sets.filter(
    ({ columns }) =>
      canonicalJson(listWalks(columns, definition)) !== canonicalJson(listWalks(columns, next)),
  );
  if (changed.length === 0) return [];
  const byHash = new Map(changed.map(({ hash, columns }) => [hash, columns]));
  return [{ kind: "renew_functions", table: next.name, sets: [...byHash.values()], whole: next }];
}

/** The step that drops the functions and records of column sets without an app; empty if there are none. */
export function planDrop(
  table: string,
  removed: readonly SetUse[],
  left: readonly string[],
): Extract<Step, { kind: "drop_functions" }>[] {
  if (removed.length === 0) return [];
  const hashes = [...new Set(removed.map(({ hash }) => hash))].filter(
    (hash) => !left.includes(hash),
  );
  return [
    {
      kind: "drop_functions",
      table,
      hashes,
      removed: removed.map(({ appId, hash }) => ({ appId, hash })),
    },
  ];
}

export function isExpired({ unusedS }: SetUse): boolean {
  return unusedS !== null && unusedS >= UNUSED_SET_LIFE_S;
}

/** False for a column set in use. An app uses only one column set, so that set never exceeds the limit. */
function isYoung({ unusedS }: SetUse): boolean {
  return unusedS !== null && unusedS < MIN_UNUSED_S;
}
