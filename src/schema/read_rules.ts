/** Reads the rules of one table from a value of any type, independently of other tables. Never loosens a rule. @module */
import { isPerson } from "../kinds/mod.ts";
import { canonicalJson, isObject } from "../std/json.ts";
import { ROLE_LABELS, ROLE_PATTERN } from "../std/patterns.ts";
import { describe, quote } from "../std/quote.ts";
import { utf8Length } from "../std/text.ts";
import { type NamedColumn, QUOTAS } from "./definition.ts";
import { readFields, readList } from "./fields.ts";
import type { IssueLocation, Issues } from "./issues.ts";
import { type RuleContext, readRule } from "./read_rule.ts";
import {
  ACTIONS,
  type Change,
  compareTexts,
  type RoleRules,
  type TableRules,
  toSortedObject,
} from "./rules.ts";

const KEYS = ["allow", "owner", "only", "setBy"];
const ROLE = new RegExp(ROLE_PATTERN);

/** The rules of a table in their normal form; `undefined` if there are none, or after adding errors. */
export function readRules(
  value: unknown,
  { name, columns }: { readonly name: string; readonly columns: readonly NamedColumn[] },
  issues: Issues,
): TableRules | undefined {
  const context = { columns, at: { table: name }, issues };
  const fields = readFields(value, { what: "the rules", allowed: KEYS, at: context.at }, issues);
  if (fields === undefined) return undefined;
  const allow = readAllow(fields.get("allow"), context);
  const owner = readOwners(fields.get("owner"), context);
  const only = readProtected("only", fields.get("only"), context);
  const setBy = readProtected("setBy", fields.get("setBy"), context);
  const rules = {
    allow: toSortedObject(allow),
    ...(owner.length > 0 && { owner }),
    ...(only.length > 0 && { only: toSortedObject(only) }),
    ...(setBy.length > 0 && { setBy: toSortedObject(setBy) }),
  };
  rejectContradictions(rules, context);
  const bytes = utf8Length(canonicalJson(rules));
  if (bytes > QUOTAS.rulesBytes) {
    const message = `Cannot use rules of ${bytes} bytes of JSON: at most ${QUOTAS.rulesBytes} are allowed`;
    issues.add(context.at, message);
  }
  return Object.keys(rules).length === 1 && allow.length === 0 ? undefined : rules;
}

// What each role is allowed.

function readAllow(value: unknown, context: RuleContext): [string, RoleRules][] {
  if (value === undefined) return [];
  const { at, issues } = context;
  if (!isObject(value)) {
    issues.add(at, `Cannot read "allow" of the rules: must be an object, not ${describe(value)}`);
    return [];
  }
  const roles = Object.entries(value);
  const max = QUOTAS.rolesPerTable;
  if (roles.length > max) {
    issues.add(at, `Cannot allow ${roles.length} roles: at most ${max} are allowed`);
    return [];
  }
  return roles.flatMap(([role, allowed]) => {
    rejectRole(role, context.at, issues);
    const rules = readRole(role, allowed, context);
    return Object.keys(rules).length === 0 ? [] : [[role, rules] as [string, RoleRules]];
  });
}

function rejectRole(role: unknown, at: IssueLocation, issues: Issues): void {
  if (typeof role === "string" && ROLE.test(role)) return;
  issues.add(at, `Cannot use ${describe(role)} as a role: must be ${ROLE_LABELS}`);
}

function readRole(role: string, value: unknown, context: RuleContext): RoleRules {
  if (value === "everything")
    return { read: [{}], create: [{}], update: { from: [{}], to: [{}] }, delete: [{}] };
  const what = `the rules of the role ${quote(role)}`;
  const { at, issues } = context;
  if (!isObject(value)) {
    issues.add(
      at,
      `Cannot read ${what}: must be { read, create, update, delete } or "everything", not ${describe(value)}`,
    );
    return {};
  }
  const fields = readFields(value, { what, allowed: ACTIONS, at }, issues);
  const read = (action: "read" | "create" | "delete") =>
    readRule(fields?.get(action), showRule(action, role), context);
  const update = readUpdate(fields?.get("update"), showRule("update", role), context);
  const rules = { read: read("read"), create: read("create"), delete: read("delete") };
  return {
    ...(rules.read && { read: rules.read }),
    ...(rules.create && { create: rules.create }),
    ...(update && { update }),
    ...(rules.delete && { delete: rules.delete }),
  };
}

function showRule(action: string, role: string): string {
  return `the rule ${quote(action)} of the role ${quote(role)}`;
}

/** A plain rule holds before and after the change. */
function readUpdate(value: unknown, what: string, context: RuleContext): Change | undefined {
  if (!isChange(value)) {
    const rule = readRule(value, what, context);
    return rule && { from: rule, to: rule };
  }
  const { at, columns, issues } = context;
  const isColumn = (name: string) => columns.some((column) => column.name === name);
  // As columns, { from: true, to: true } would be a condition, not the right to change every row.
  if (
    isColumn("from") &&
    isColumn("to") &&
    !(Array.isArray(value["from"]) && Array.isArray(value["to"]))
  )
    return issues.add(
      at,
      `Cannot read ${what}: "from" and "to" are also columns: write the rule as a list, or both parts of the change as lists`,
    );
  const from = readRule(value["from"], `"from" of ${what}`, context);
  const to = readRule(value["to"], `"to" of ${what}`, context);
  return from && to && { from, to };
}

function isChange(value: unknown): value is Record<"from" | "to", unknown> {
  return (
    isObject(value) &&
    Object.keys(value).length === 2 &&
    Object.hasOwn(value, "from") &&
    Object.hasOwn(value, "to")
  );
}

// Columns that only some roles read or write.

function readOwners(value: unknown, { columns, at, issues }: RuleContext): string[] {
  if (value === undefined) return [];
  const bounds = { what: `columns as "owner"`, max: QUOTAS.columnsPerTable, at };
  const names = readList(value, bounds, issues) ?? [];
  const read = names.flatMap((name) => {
    const column =
      typeof name === "string" ? columns.find((each) => each.name === name) : undefined;
    if (column !== undefined && isPerson(column)) return column.name;
    const reason = column === undefined ? "the table declares no such column" : "must be t.uuid()";
    issues.add(at, `Cannot use ${describe(name)} as an owner: ${reason}`);
    return [];
  });
  return [...new Set(read)].sort(compareTexts);
}

function readProtected(
  key: "only" | "setBy",
  value: unknown,
  { columns, at, issues }: RuleContext,
): [string, string[]][] {
  if (value === undefined) return [];
  if (!isObject(value)) {
    issues.add(
      at,
      `Cannot read ${quote(key)} of the rules: must be an object, not ${describe(value)}`,
    );
    return [];
  }
  const entries = Object.entries(value);
  if (entries.length > columns.length) {
    issues.add(at, `Cannot use .${key}() on ${entries.length} columns: the table declares fewer`);
    return [];
  }
  return entries.map(([name, given]) => {
    if (!columns.some((column) => column.name === name))
      issues.add(at, `Cannot use .${key}() on ${quote(name)}: the table declares no such column`);
    const place = { ...at, column: name };
    const bounds = { what: `roles in .${key}()`, max: QUOTAS.rolesPerTable, at: place };
    const roles = readList(given, bounds, issues) ?? [];
    // Without a role, no one has the column. A push closes columns in this way that are no longer declared.
    if (roles.length === 0 && key !== "only")
      issues.add(place, `Cannot use .${key}() without a role`);
    for (const role of roles) rejectRole(role, place, issues);
    const names = roles.filter((role) => typeof role === "string");
    return [name, [...new Set(names)].sort(compareTexts)];
  });
}

function rejectContradictions(
  { owner = [], setBy }: TableRules,
  { at, issues }: RuleContext,
): void {
  for (const column of owner)
    if (setBy !== undefined && Object.hasOwn(setBy, column))
      issues.add(
        { ...at, column },
        "Cannot use .setBy() on an owner: no person sets it. Leave out .setBy()",
      );
}
