/**
 * The limits of an app's functions: how many tables and groups of roles have functions, their number and their bytes. Every
 * connection that calls functions holds them in memory. Rejects only what makes an app grow beyond a limit: an app above it
 * works, and can push what does not make it larger. Pure.
 *
 * @module
 */
import { QUOTAS } from "../../schema/mod.ts";
import { functionsOfSet, hashColumnSet } from "../catalog/mod.ts";
import { type FunctionSize, type FunctionSizes, listAddedSets } from "../sql/function_steps.ts";
import type { PushState } from "../state.ts";
import { overQuota } from "./rejections.ts";
import type { Plan } from "./step.ts";

type Planned = { appId: string; plan: Plan; state: PushState };

/** The functions that remain after a plan, without those that it adds. */
export function removeDropped(
  sizes: FunctionSizes,
  { appId, plan: { steps }, state }: Planned,
): FunctionSizes {
  const kept = new Set(
    steps.flatMap((step) => (step.kind === "register" ? [hashColumnSet(step.table)] : [])),
  );
  const changed = new Set(
    steps.flatMap((step) => {
      if (step.kind === "rename") return [step.before.name];
      return step.kind === "register" || step.kind === "drop_table" ? [step.table.name] : [];
    }),
  );
  const dropped = new Set([
    ...steps.flatMap((step) => (step.kind === "drop_views" ? step.hashes : [])),
    ...state.tables
      .filter(({ name }) => changed.has(name))
      .flatMap(({ sets }) => sets)
      .filter((set) => set.appId === appId && set.unusedS === null && !kept.has(set.hash))
      .map(({ hash }) => hash),
  ]);
  return Object.fromEntries(Object.entries(sizes).filter(([hash]) => !dropped.has(hash)));
}

/** The functions that a plan adds, before they are rendered: their bytes are not known. */
export function countAdded({ plan, state }: Pick<Planned, "plan" | "state">): FunctionSizes {
  const added = listAddedSets(plan).map((set) => {
    const functions = functionsOfSet(set, state).length;
    return [hashColumnSet(set), { functions, bytes: 0 }] as const;
  });
  return Object.fromEntries(added);
}

/** @throws {Problem} invalid_schema — the app grows beyond a limit */
export function checkGrowth(before: FunctionSizes, after: FunctionSizes): void {
  const [earlier, now] = [before, after].map(sum);
  const details = LIMITS.flatMap(({ part, max, explain }) => {
    const count = now?.[part] ?? 0;
    const isOver = count > max && count > (earlier?.[part] ?? 0);
    return isOver ? [{ path: "", message: explain(count) }] : [];
  });
  if (details.length > 0) throw overQuota(details);
}

const REMEDY = "declare fewer tables, or give more roles the same rules";
const LIMITS = [
  {
    part: "sets",
    max: QUOTAS.functionSets,
    explain: (count: number) =>
      `The app would have ${count} tables and groups of roles with equal rights on a table, but an app has at most ${QUOTAS.functionSets} together: ${REMEDY}`,
  },
  {
    part: "functions",
    max: QUOTAS.functions,
    explain: (count: number) =>
      `The app would have ${count} functions, but an app has at most ${QUOTAS.functions}: ${REMEDY}`,
  },
  {
    part: "bytes",
    max: QUOTAS.functionBytes,
    explain: (count: number) =>
      `The functions of the app would have at least ${count} bytes, but those of an app have at most ${QUOTAS.functionBytes}: ${REMEDY}, or rules with fewer conditions`,
  },
] as const satisfies readonly {
  part: keyof Sum;
  max: number;
  explain: (count: number) => string;
}[];

type Sum = FunctionSize & { sets: number };

function sum(sizes: FunctionSizes): Sum {
  const all = Object.values(sizes);
  return {
    sets: all.length,
    functions: all.reduce((total, { functions }) => total + functions, 0),
    bytes: all.reduce((total, { bytes }) => total + bytes, 0),
  };
}
