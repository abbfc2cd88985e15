/**
 * The functions that the steps of a plan create. They are many times larger than the rest of a push, so that each step is rendered
 * apart, before the message. Pure.
 *
 * @module
 */
import {
  type ColumnSet,
  type FunctionSite,
  hashColumnSet,
  type RecordedDefinition,
  serveSet,
  toColumnSet,
} from "../catalog/mod.ts";
import type { Plan, Step } from "../plan/step.ts";
import { renderFunctions, renderIndexed } from "./functions/functions.ts";

export type FunctionStep = Extract<
  Step,
  { kind: "create_functions" | "create_views" | "renew_functions" }
>;

/** The statements of a step, and the functions of each set that it adds, by hash. */
export type RenderedFunctions = { statements: string[]; added: FunctionSizes };
export type FunctionSize = { functions: number; bytes: number };
/** The functions of each column set and view that an app uses, by hash. */
export type FunctionSizes = Readonly<Record<string, FunctionSize>>;

export function findFunctionSteps({ steps }: Plan): FunctionStep[] {
  return steps.filter(isFunctionStep);
}

function isFunctionStep(step: Step): step is FunctionStep {
  return ["create_functions", "create_views", "renew_functions"].includes(step.kind);
}

export function listAddedSets(plan: Plan): ColumnSet[] {
  return findFunctionSteps(plan).flatMap((step): ColumnSet[] => {
    if (step.kind === "create_functions") return [toColumnSet(step.table)];
    return step.kind === "create_views" ? [...step.sets] : [];
  });
}

/** The step as steps of one column set each. */
export function splitSets(step: FunctionStep): FunctionStep[] {
  return step.kind === "create_functions"
    ? [step]
    : step.sets.map((set) => ({ ...step, sets: [set] }) as FunctionStep);
}

/** Without statements for a step that creates no functions. */
export function renderFunctionStep(step: Step, site: FunctionSite): RenderedFunctions {
  if (!isFunctionStep(step)) return { statements: [], added: {} };
  const { whole } = step;
  if (step.kind === "renew_functions") {
    const render = (set: ColumnSet) => renderIndexed(serveSet(set, whole), site);
    return { statements: step.sets.flatMap(render), added: {} };
  }
  const sets = step.kind === "create_views" ? step.sets : [toColumnSet(step.table)];
  const rendered = sets.map((set) => renderAdded(set, whole, site));
  return {
    statements: rendered.flatMap(({ statements }) => statements),
    added: Object.fromEntries(rendered.map(({ hash, size }) => [hash, size])),
  };
}

function renderAdded(set: ColumnSet, whole: RecordedDefinition, site: FunctionSite) {
  const statements = renderFunctions(serveSet(set, whole), site);
  const created = statements.filter((statement) => statement.startsWith("create or replace"));
  const bytes = created.reduce((sum, statement) => sum + bodyBytes(statement), 0);
  return { statements, hash: hashColumnSet(set), size: { functions: created.length, bytes } };
}

/** The bytes of a function's body, as PostgreSQL stores them: what is between the tags. */
function bodyBytes(statement: string): number {
  const tag = /(\$\w+\$)$/.exec(statement)?.[1] ?? "";
  const start = statement.indexOf(tag) + tag.length;
  return Buffer.byteLength(statement.slice(start, statement.length - tag.length));
}
