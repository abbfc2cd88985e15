/**
 * What happens to the functions of a table when an app is served another set of columns: they are created if no app has
 * them yet, and dropped when no process can still call them. Processes learn of a push within seconds; those of a release
 * that is being replaced get an hour.
 *
 * @module
 */
import { hashColumnSet } from "../catalog/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import { busy } from "./refusals.ts";
import type { RecordedSet } from "./state.ts";
import type { Step } from "./step.ts";

/** How long a set that its app no longer uses is kept. */
export const KEPT_S = 3600;
/** Maximum number of sets that an app has of a table, including those that it no longer uses. */
const MAX_SETS = 8;
/** The same while one project migration after another is applied, at which a push would otherwise wait for each. */
const MAX_SETS_IN_REPLAY = 64;
/** For how long at least, even if an app has too many: calls that are under way end within this time. */
const KEPT_LEAST_S = 5;

/**
 * The steps after which an app is served `used`; `recorded` are all apps' sets of that table.
 *
 * @throws {Problem} push_busy — the app has too many sets, and the oldest is too young to go
 */
export function planSets(
  appId: string,
  used: TableDefinition,
  { recorded, isReplay }: { recorded: readonly RecordedSet[]; isReplay: boolean },
): Step[] {
  const maxSets = isReplay ? MAX_SETS_IN_REPLAY : MAX_SETS;
  const hash = hashColumnSet(used);
  const isWanted = (set: RecordedSet) => set.appId === appId && set.hash === hash;
  const kept = recorded.filter((set) => isWanted(set) || !isExpired(set));
  const others = kept.filter((set) => set.appId === appId && !isWanted(set));
  const excess = others.sort(byAge).slice(0, Math.max(others.length + 1 - maxSets, 0));
  const gone = [...recorded.filter((set) => !kept.includes(set)), ...excess];
  const left = kept.filter((set) => !excess.includes(set));
  if (excess.some(isYoung)) throw busy();
  const make: Step = { kind: "create_functions", table: used };
  return [
    ...(left.some((set) => set.hash === hash && set.unusedS === null) ? [] : [make]),
    ...planDrop(used.name, gone, [...left.map((set) => set.hash), hash]),
  ];
}

/** The step that drops the functions of sets that no app has any more, and forgets the sets; none if there are none. */
export function planDrop(
  table: string,
  gone: readonly RecordedSet[],
  left: readonly string[],
): Extract<Step, { kind: "drop_functions" }>[] {
  if (gone.length === 0) return [];
  const hashes = [...new Set(gone.map(({ hash }) => hash))].filter((hash) => !left.includes(hash));
  return [
    {
      kind: "drop_functions",
      table,
      hashes,
      gone: gone.map(({ appId, hash }) => ({ appId, hash })),
    },
  ];
}

export function isExpired({ unusedS }: RecordedSet): boolean {
  return unusedS !== null && unusedS >= KEPT_S;
}

/** A set in use is never among those in excess: an app has only one, besides a new one. */
function isYoung({ unusedS }: RecordedSet): boolean {
  return unusedS !== null && unusedS < KEPT_LEAST_S;
}

function byAge(a: RecordedSet, b: RecordedSet): number {
  return (b.unusedS ?? -1) - (a.unusedS ?? -1);
}
