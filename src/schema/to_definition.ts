/** Converts the default export of an app's schema to a definition. Ignores classes, symbols and identity. @module */

import { KINDS } from "../kinds/mod.ts";
import { isObject } from "../std/json.ts";
import { describe, quote } from "../std/quote.ts";
import { checkRules } from "./check_rules.ts";
import type { DeclaredColumn } from "./column.ts";
import type { Reading } from "./definition.ts";
import { type IssueLocation, type Issues, makeIssues } from "./issues.ts";
import { toPlaceholder } from "./read_column.ts";
import { readDefinitionInto } from "./read_definition.ts";
import { ACTIONS } from "./rules.ts";

const BUILDERS = KINDS.map((kind) => `t.${kind}()`).join(", ");
const MODIFIERS = ["required", "unique", "index", "default", "onUpdate", "owner", "only", "setBy"];

/**
 * The definition of a schema, or all its errors. Accepts any default export of a schema's module.
 *
 * @example
 * ```ts
 * import { defineSchema, t, toDefinition } from "rowhouse/schema";
 *
 * expect(toDefinition(defineSchema({ tags: { name: t.string() } }))).toEqual({
 *   definition: {
 *     version: 1,
 *     tables: [
 *       {
 *         name: "tags",
 *         columns: [{ name: "name", kind: "string", required: false, unique: false, index: false }],
 *         indexes: [],
 *         uniques: [],
 *       },
 *     ],
 *   },
 * });
 * expect(toDefinition({ tables: { tags: { name: t.string } } })).toEqual({
 *   issues: [{ table: "tags", column: "name", message: "Cannot read a function as a column: call it: t.string()" }],
 * });
 * ```
 */
export function toDefinition(schema: unknown): Reading {
  const issues = makeIssues();
  const sources = findTables(schema, issues);
  addIssuesOf(schema, {}, issues);
  if (sources === undefined) return { issues: issues.list() };
  const tables = toEntries(sources, "tables", {}, issues).flatMap(([name, source]) =>
    toTable(name, source, issues),
  );
  const reading = readDefinitionInto(issues, { version: 1, tables });
  const found = "definition" in reading ? checkRules(reading.definition) : [];
  return found.length === 0 ? reading : { issues: found };
}

function findTables(schema: unknown, issues: Issues): object | undefined {
  const tables =
    isObject(schema) && Object.hasOwn(schema, "tables") ? getKey(schema, "tables") : undefined;
  if (isObject(tables)) return tables;
  const isPromise = isObject(schema) && "then" in schema;
  const what = isPromise ? "a promise" : describe(schema);
  return issues.add(
    {},
    `Cannot read ${what} as a schema: must be "export default defineSchema({ … })"`,
  );
}

/** Own keys and values. Adds an error if `__proto__` in a literal set the prototype. */
function toEntries(
  source: object,
  what: string,
  at: IssueLocation,
  issues: Issues,
): readonly (readonly [string, unknown])[] {
  const parent: unknown = Object.getPrototypeOf(source);
  if (parent !== null && Object.getPrototypeOf(parent) !== null) {
    const reason =
      'A "__proto__" key sets its prototype, and a class instance is not a declaration';
    issues.add(at, `Cannot read the ${what}: must be a plain object. ${reason}`);
  }
  return Object.entries(source);
}

function toTable(name: string, source: unknown, issues: Issues): object[] {
  const at = { table: name };
  const model = findModel(source);
  const columns = model === undefined ? source : getKey(model, "columns");
  addIssuesOf(model, at, issues);
  if (!isObject(columns) || isColumn(columns)) {
    issues.add(
      at,
      `Cannot read ${describeSource(columns)} as a table: must be { column: t.string(), … }`,
    );
    return [{ name, columns: [], indexes: [], uniques: [] }];
  }
  const declared = toEntries(columns, "columns", at, issues);
  const allows = model === undefined ? undefined : getKey(model, "allows");
  const rules = toRules(allows, declared, { at, issues });
  return [
    {
      name,
      columns: declared.map(([column, value]) => toColumn(value, { ...at, column }, issues)),
      indexes: model === undefined ? [] : getKey(model, "indexes"),
      uniques: model === undefined ? [] : getKey(model, "uniques"),
      ...(rules && { rules }),
    },
  ];
}

function toColumn(
  value: unknown,
  at: IssueLocation & { readonly column: string },
  issues: Issues,
): object {
  const name = at.column;
  if (isColumn(value)) return readDeclared(value.column, at, issues);
  issues.add(at, `Cannot read ${describe(value)} as a column: ${findWayOut(value)}`);
  return toPlaceholder(name);
}

type Declared = Pick<DeclaredColumn, "kind" | "owner" | "only" | "setBy"> & {
  readonly issues?: unknown;
};

/** The declared column without its issues and its rules. A column of an unknown kind already has an issue. */
function readDeclared(
  declared: Declared,
  at: IssueLocation & { readonly column: string },
  issues: Issues,
): object {
  const { issues: unexpected, owner: _, only: __, setBy: ___, ...column } = declared;
  const hasIssues = addIssuesOf({ issues: unexpected }, at, issues);
  const isKnown = KINDS.some((kind) => kind === column.kind);
  return hasIssues && !isKnown ? toPlaceholder(at.column) : { ...column, name: at.column };
}

/** Adds the issues that a call found, and returns whether there are any. */
function addIssuesOf(source: unknown, at: IssueLocation, issues: Issues): boolean {
  const unexpected = isObject(source) ? getKey(source, "issues") : undefined;
  const messages = Array.isArray(unexpected) ? unexpected.map(String) : [];
  for (const message of messages) issues.add(at, message);
  return messages.length > 0;
}

function findWayOut(value: unknown): string {
  const called = typeof value === "function" ? value.name : "";
  if (KINDS.some((kind) => kind === called)) return `call it: t.${called}()`;
  if (MODIFIERS.includes(called)) return `call it: .${called}()`;
  return `must be one of ${BUILDERS}`;
}

function describeSource(value: unknown): string {
  return isColumn(value) ? `a column (${quote(String(value.column.kind))})` : describe(value);
}

/** A table can have a column named "model": only the contents distinguish a model. */
function findModel(source: unknown): object | undefined {
  const model = isObject(source) ? getKey(source, "model") : undefined;
  return isObject(model) && Object.hasOwn(model, "columns") ? model : undefined;
}

function isColumn(value: unknown): value is { readonly column: { readonly kind: string } } {
  const column = isObject(value) ? getKey(value, "column") : undefined;
  return isObject(column) && typeof getKey(column, "kind") === "string";
}

// Collects the rules of a table from its columns and its calls of `.allow()`, for the reader that checks them.

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
