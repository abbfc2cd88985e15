/** Collects the rules of a table from its columns and its calls of `.allow()`, for the reader that checks them. @module */
import { isObject } from "../std/json.ts";
import { describe, quote } from "../std/quote.ts";
import type { IssueLocation, Issues } from "./issues.ts";
import { ACTIONS } from "./rules.ts";

type Report = { readonly at: IssueLocation; readonly issues: Issues };
type Entries = readonly (readonly [name: string, source: unknown])[];

/** The unchecked rules of a table; `undefined` if it declares none. */
export function toRules(allows: unknown, columns: Entries, report: Report): object | undefined {
  const list = (key: string) =>
    columns.flatMap(([name, source]) => {
      const column = isObject(source) ? getKey(source, "column") : undefined;
      const value = isObject(column) ? getKey(column, key) : undefined;
      return value === undefined ? [] : [[name, value] as const];
    });
  const [owner, only, setBy] = [list("owner"), list("only"), list("setBy")];
  for (const [name, value] of owner)
    if (value !== true)
      report.issues.add({ ...report.at, column: name }, `Cannot read "owner" ${describe(value)}`);
  if (allows === undefined && owner.length + only.length + setBy.length === 0) return undefined;
  return {
    ...(allows === undefined ? {} : { allow: toAllow(allows, report) }),
    ...(owner.length > 0 && { owner: owner.map(([name]) => name) }),
    ...(only.length > 0 && { only: Object.fromEntries(only) }),
    ...(setBy.length > 0 && { setBy: Object.fromEntries(setBy) }),
  };
}

/** The rules by role. Two calls for one role add up, unless both allow the same action. */
function toAllow(allows: unknown, report: Report): object {
  const byRole = new Map<string, unknown>();
  for (const allow of Array.isArray(allows) ? allows : [allows]) {
    if (!isObject(allow)) {
      report.issues.add(report.at, `Cannot read ${describe(allow)} as a call of .allow()`);
      continue;
    }
    for (const role of toRoles(getKey(allow, "roles"), report)) {
      const rules = getKey(allow, "rules");
      byRole.set(role, byRole.has(role) ? merge(role, byRole.get(role), rules, report) : rules);
    }
  }
  return Object.fromEntries(byRole);
}

function toRoles(roles: unknown, { at, issues }: Report): string[] {
  const list = Array.isArray(roles) ? roles : [roles];
  if (list.length === 0) issues.add(at, "Cannot call .allow() without a role");
  return list.flatMap((role) => {
    if (typeof role === "string") return role;
    const usage = '.allow("role", { read: true, … })';
    issues.add(at, `Cannot use ${describe(role)} as a role: must be ${usage}`);
    return [];
  });
}

function merge(role: string, before: unknown, rules: unknown, { at, issues }: Report): unknown {
  const actions = listActions(before).filter((action) => listActions(rules).includes(action));
  if (actions.length > 0)
    issues.add(
      at,
      `Cannot allow the role ${quote(role)} to ${actions.join(", ")} in two calls of .allow(): write one list of alternatives`,
    );
  return isObject(before) && isObject(rules) ? { ...before, ...rules } : rules;
}

function listActions(rules: unknown): readonly string[] {
  if (rules === "everything") return ACTIONS;
  return isObject(rules) ? Object.keys(rules) : ACTIONS;
}

/** The value of an object's own key, without calling a getter. */
export function getKey(source: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(source, key)?.value;
}
