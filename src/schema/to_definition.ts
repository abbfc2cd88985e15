/** Converts the default export of an app's schema to a definition. Ignores classes, symbols and identity. @module */

import { KINDS } from "../kinds/mod.ts";
import { isObject } from "../std/json.ts";
import { describe, quote } from "../std/quote.ts";
import { checkRules } from "./check_rules.ts";
import { getKey, toRules } from "./collect_rules.ts";
import type { DeclaredColumn } from "./column.ts";
import type { Reading } from "./definition.ts";
import { type IssueLocation, type Issues, makeIssues } from "./issues.ts";
import { toPlaceholder } from "./read_column.ts";
import { readDefinitionInto } from "./read_definition.ts";

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
