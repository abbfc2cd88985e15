/** Reads one rule: its alternatives, and what each column is compared with. Never loosens a rule. @module */
import { VALUES } from "../kinds/mod.ts";
import { isObject } from "../std/json.ts";
import { describe, quote } from "../std/quote.ts";
import { isStorableText } from "../std/text.ts";
import { type NamedColumn, QUOTAS, type TableDefinition } from "./definition.ts";
import { readList } from "./fields.ts";
import type { IssueLocation, Issues } from "./issues.ts";
import { findTableNameIssue } from "./names.ts";
import {
  type Alternative,
  compareTexts,
  type Match,
  ME,
  normalizeRule,
  type Rule,
  type RuleValue,
  toSortedObject,
} from "./rules.ts";

const EXPECTED = {
  values: "a value, a list of values or null",
  person: '"me" or null',
  reference: '{ memberOf: "table" }, { readable: true } or null',
} as const;

const ID: NamedColumn = { name: "id", kind: "uuid", required: true, unique: true, index: true };

/** The column of a table that rules call by this name. */
export function findRuleColumn(
  columns: readonly NamedColumn[],
  name: string,
): NamedColumn | undefined {
  return name === "id" ? ID : columns.find((column) => column.name === name);
}

/** The columns of the table, and where errors go. */
export type RuleContext = {
  readonly columns: readonly NamedColumn[];
  readonly at: IssueLocation;
  readonly issues: Issues;
};

/** `undefined` if nothing is allowed. */
export function readRule(value: unknown, what: string, context: RuleContext): Rule | undefined {
  if (value === undefined || value === false) return undefined;
  if (value === true) return [{}];
  const { at, issues } = context;
  if (isObject(value)) return [readAlternative(value, what, context)];
  if (!Array.isArray(value))
    return issues.add(
      at,
      `Cannot read ${what}: must be true, { column: value } or a list of these, not ${describe(value)}`,
    );
  const bounds = { what: `alternatives of ${what}`, max: QUOTAS.alternativesPerRule, at };
  const list = readList(value, bounds, issues);
  if (list?.length === 0)
    issues.add(at, `Cannot use ${what} without alternatives: leave it out to deny the action`);
  if (list === undefined || list.length === 0) return undefined;
  return normalizeRule(list.map((each) => readAlternative(each, what, context)));
}

function readAlternative(value: unknown, what: string, context: RuleContext): Alternative {
  const { at, columns, issues } = context;
  if (!isObject(value)) {
    issues.add(
      at,
      `Cannot read an alternative of ${what}: must be { column: value }, not ${describe(value)}`,
    );
    return IMPOSSIBLE;
  }
  const entries = Object.entries(value);
  const max = QUOTAS.conditionsPerAlternative;
  if (entries.length > max) {
    issues.add(
      at,
      `Cannot use ${entries.length} columns in an alternative of ${what}: at most ${max} are allowed`,
    );
    return IMPOSSIBLE;
  }
  const read = entries.flatMap(([name, given]) => {
    const column = findRuleColumn(columns, name);
    const report = { at: { ...at, column: name }, issues };
    if (column === undefined) {
      issues.add(
        at,
        `Cannot use column ${quote(name)} in ${what}: the table declares no such column`,
      );
      return [];
    }
    const match = readMatch(given, column, { ...report, start: `Cannot use ${what}` });
    return match === undefined ? [] : [[name, match] as const];
  });
  // An alternative that lost a condition would allow more.
  return read.length === entries.length ? toSortedObject(read) : IMPOSSIBLE;
}

/** Stands for an unreadable alternative, whose errors reject the definition. Not `{}`, which allows every row. */
const IMPOSSIBLE: Alternative = Object.freeze({ id: null });

// What a column is compared with.

type Report = { readonly at: IssueLocation; readonly issues: Issues; readonly start: string };

function readMatch(value: unknown, column: NamedColumn, report: Report): Match | undefined {
  const { at, issues, start } = report;
  const { compared } = VALUES[column.kind];
  if (compared === "never")
    return issues.add(at, `${start}: it cannot compare ${column.kind} columns`);
  if (value === null) {
    if (!column.required) return null;
    return issues.add(at, `${start}: the column is required, so it is never null`);
  }
  if (compared === "values") return readValues(value, column, report);
  if (compared === "person" && value === ME) return ME;
  if (compared === "reference" && isObject(value)) return readReference(value, report);
  return issues.add(at, `${start}: must be ${EXPECTED[compared]}, not ${describe(value)}`);
}

function readValues(value: unknown, column: NamedColumn, report: Report): Match | undefined {
  const { at, issues, start } = report;
  if (!Array.isArray(value)) return readConstant(value, column, report);
  if (value.length === 0 || value.length > QUOTAS.valuesPerCondition) {
    const max = QUOTAS.valuesPerCondition;
    return issues.add(at, `${start}: a list must have 1 to ${max} values, not ${value.length}`);
  }
  const read = value.map((item) => readConstant(item, column, report));
  const values = read.filter((item) => item !== undefined);
  if (values.length < read.length) return undefined;
  const sorted = [...new Set(values)].sort(compareValues);
  return sorted.length === 1 ? sorted[0] : sorted;
}

function compareValues(a: RuleValue, b: RuleValue): number {
  return typeof a === "number" && typeof b === "number" ? a - b : compareTexts(`${a}`, `${b}`);
}

function readConstant(
  value: unknown,
  column: NamedColumn,
  { at, issues, start }: Report,
): Exclude<RuleValue, null> | undefined {
  const wanted = `must be ${EXPECTED.values} of this ${column.kind} column, not ${describe(value)}`;
  if (value === null || typeof value === "object") return issues.add(at, `${start}: ${wanted}`);
  const read = VALUES[column.kind].read(value, column);
  if ("value" in read && isScalar(read.value)) return read.value === 0 ? 0 : read.value;
  return issues.add(at, `${start}: ${wanted}`);
}

function isScalar(value: unknown): value is Exclude<RuleValue, null> {
  return ["string", "number", "boolean"].includes(typeof value);
}

function isConstant(value: unknown): value is Exclude<RuleValue, null> {
  if (typeof value === "string") return isStorableText(value);
  return typeof value === "boolean" || (Number.isFinite(value) && !Object.is(value, -0));
}

function readReference(value: object, report: Report): Match | undefined {
  const { at, issues, start } = report;
  const fields = new Map<string, unknown>(Object.entries(value));
  if (fields.size === 1 && fields.get("readable") === true) return { readable: true };
  const table = fields.get("memberOf");
  const extra = [...fields.keys()].find((key) => key !== "memberOf" && key !== "where");
  if (typeof table !== "string" || extra !== undefined) {
    const found = extra === undefined ? "" : `, without the key ${quote(extra)}`;
    return issues.add(at, `${start}: must be ${EXPECTED.reference}${found}`);
  }
  if (findTableNameIssue(table) !== undefined)
    return issues.add(at, `${start}: ${quote(table)} is not the name of a table`);
  if (!fields.has("where")) return { memberOf: table };
  const where = readWhere(fields.get("where"), report);
  if (where === undefined) return undefined;
  return Object.keys(where).length === 0 ? { memberOf: table } : { memberOf: table, where };
}

/** Adds an error if a condition of "where" does not fit the other table. */
export function readWhereValues(
  value: Match,
  { name, table, ...report }: Report & { readonly name: string; readonly table: TableDefinition },
): void {
  const column = findRuleColumn(table.columns, name);
  const start = `${report.start}: ${quote(name)} of "where"`;
  if (column === undefined)
    report.issues.add(report.at, `${start} is no column of ${quote(table.name)}`);
  else if (VALUES[column.kind].compared === "values" || value === null)
    readMatch(value, column, { ...report, start });
  else report.issues.add(report.at, `${start} cannot compare ${column.kind} columns`);
}

/** Conditions on the other table. The check of the whole definition compares them with its columns. */
function readWhere(value: unknown, { at, issues, start }: Report): Alternative | undefined {
  const entries = isObject(value) ? Object.entries(value) : undefined;
  if (entries === undefined || entries.length > QUOTAS.conditionsPerAlternative) {
    const max = QUOTAS.conditionsPerAlternative;
    return issues.add(
      at,
      `${start}: "where" must be { column: value } with at most ${max} columns`,
    );
  }
  const read = entries.flatMap(([name, given]) => {
    const match = readAnyValues(given);
    if (match !== undefined) return [[name, match] as const];
    issues.add(at, `${start}: ${quote(name)} of "where" must be ${EXPECTED.values}`);
    return [];
  });
  return read.length === entries.length ? toSortedObject(read) : undefined;
}

function readAnyValues(value: unknown): Match | undefined {
  if (value === null) return null;
  if (!Array.isArray(value)) return isConstant(value) ? value : undefined;
  const isList = value.length > 0 && value.length <= QUOTAS.valuesPerCondition;
  if (!isList || !value.every(isConstant)) return undefined;
  const sorted = [...new Set(value)].sort(compareValues);
  return sorted.length === 1 ? sorted[0] : sorted;
}
