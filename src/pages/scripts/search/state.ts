/**
 * The search of a table as the fragment of an address: it can be shared and opened again, and no server sees the values. Pure.
 *
 * @module
 */
import { escapePattern, FIELDS, type Kind } from "../../../kinds/mod.ts";
import { toConditionParameters } from "../../../sdk/query_text.ts";
import type { Parameter } from "../../../sdk/related.ts";
import { listSpellings } from "../../../std/letter_case.ts";
import { listSameTimes, toNextSecond } from "../times.ts";

/** A column of the table, or its id, as the page describes it. */
export type SearchColumn = {
  readonly name: string;
  /** Shown instead of the name. */
  readonly title?: string;
  readonly kind: Kind;
  readonly required: boolean;
  readonly values?: readonly string[];
  /** The column with the labels of the rows of a reference, and the address of these rows. */
  readonly label?: string;
  /** The columns by which these rows are found, beginning with the label. */
  readonly finders?: readonly string[];
  readonly rows?: string;
};

export type SearchCondition = {
  readonly column: string;
  readonly operator: OperatorName;
  readonly value: string;
};

export type SearchState = {
  /** The text to find in any column. */
  readonly text: string;
  readonly conditions: readonly SearchCondition[];
  readonly order: { readonly column: string; readonly isDescending: boolean } | undefined;
};

/** When a row was created, by the time in its id. No column of a table has this name. */
export const CREATED = "$created";

export const NO_SEARCH: SearchState = { text: "", conditions: [], order: undefined };

type Operator = {
  readonly label: string;
  /** The condition, as the client has it. */
  readonly toTests: (value: unknown) => object;
  readonly hasValue: boolean;
};

export const OPERATORS = {
  contains: {
    label: "contains",
    toTests: (value: unknown) => ({ ilike: `*${escapePattern(`${value}`)}*` }),
    hasValue: true,
  },
  starts: {
    label: "starts with",
    toTests: (value: unknown) => ({ ilike: `${escapePattern(`${value}`)}*` }),
    hasValue: true,
  },
  eq: { label: "is", toTests: (value: unknown) => ({ eq: value }), hasValue: true },
  in: {
    label: "is one of",
    toTests: (value: unknown) => ({ in: `${value}`.split(/[\s,]+/).filter((part) => part !== "") }),
    hasValue: true,
  },
  neq: { label: "is not", toTests: (value: unknown) => ({ neq: value }), hasValue: true },
  lt: { label: "is below", toTests: (value: unknown) => ({ lt: value }), hasValue: true },
  lte: { label: "is at most", toTests: (value: unknown) => ({ lte: value }), hasValue: true },
  gt: { label: "is above", toTests: (value: unknown) => ({ gt: value }), hasValue: true },
  gte: { label: "is at least", toTests: (value: unknown) => ({ gte: value }), hasValue: true },
  null: { label: "is null", toTests: () => ({ is: null }), hasValue: false },
  present: { label: "is not null", toTests: () => ({ not: { is: null } }), hasValue: false },
} as const satisfies Readonly<Record<string, Operator>>;
export type OperatorName = keyof typeof OPERATORS;

/** Operators that ignore case and spelling. */
const SPELLED: readonly OperatorName[] = ["contains", "starts"];

/** The operators of a column, the most useful first. */
export function operatorsOf({ kind, required }: SearchColumn): readonly OperatorName[] {
  const { operators } = FIELDS[kind].search;
  return required ? operators : [...operators, "null", "present"];
}

/** The state in a fragment. Omits unreadable parts. */
export function readState(fragment: string, columns: readonly SearchColumn[]): SearchState {
  const parameters = toSearchParams(fragment);
  const find = (name: string) => columns.find((column) => column.name === name);
  const conditions = parameters.getAll("where").flatMap((text) => readWhere(text, columns));
  const [, name = "", way] = /^([^.]+)(\.desc)?$/.exec(parameters.get("order") ?? "") ?? [];
  const sorted = find(name);
  const order =
    sorted === undefined || !FIELDS[sorted.kind].search.operators.includes("eq")
      ? undefined
      : { column: name, isDescending: way !== undefined };
  return { text: parameters.get("search") ?? "", conditions, order };
}

function toSearchParams(fragment: string): URLSearchParams {
  return new URLSearchParams(fragment.replace(/^#/, ""));
}

function readWhere(text: string, columns: readonly SearchColumn[]): SearchCondition[] {
  const [, name = "", operator = "", value = ""] = /^([^.]+)\.(\w+)\.?(.*)$/s.exec(text) ?? [];
  const column = columns.find((other) => other.name === name);
  const known = column && operatorsOf(column).find((other) => other === operator);
  return known === undefined ? [] : [{ column: name, operator: known, value }];
}

/** The conditions in a fragment that the state omits, such as those on a column that was dropped. */
export function listUnread(fragment: string, columns: readonly SearchColumn[]): string[] {
  const wheres = toSearchParams(fragment).getAll("where");
  return wheres.filter((text) => readWhere(text, columns).length === 0);
}

export function readPageNumber(fragment: string): number {
  const page = toSearchParams(fragment).get("page") ?? "";
  return /^[1-9]\d{0,6}$/.test(page) ? Number(page) : 1;
}

/** The fragment of a state; empty without a search. */
export function toFragment({ text, conditions, order }: SearchState, page = 1): string {
  const parameters = new URLSearchParams();
  if (text !== "") parameters.set("search", text);
  for (const { column, operator, value } of conditions)
    parameters.append("where", [column, operator, ...(value === "" ? [] : [value])].join("."));
  if (order !== undefined)
    parameters.set("order", order.column + (order.isDescending ? ".desc" : ""));
  if (page > 1) parameters.set("page", String(page));
  const fragment = parameters.toString();
  return fragment === "" ? "" : `#${fragment}`;
}

/** The row that is open over the rows. */
export function readOpened(fragment: string): string | undefined {
  const name = toSearchParams(fragment).get("row") ?? "";
  return /^(?:\w+\/)?[\da-f-]{36}$/.test(name) ? name : undefined;
}

/** An address with another open row, or without one. */
export function withOpened(url: string, name: string | undefined): string {
  const { pathname, search, hash } = new URL(url);
  const parameters = toSearchParams(hash);
  parameters.delete("row");
  if (name !== undefined) parameters.set("row", name);
  const fragment = parameters.toString();
  return pathname + search + (fragment === "" ? "" : `#${fragment}`);
}

/** The query of the list endpoint for a search, with the text in all columns or in these. */
export function toParameters(
  state: SearchState,
  columns: readonly SearchColumn[],
  searched = columns,
): Parameter[] {
  const { order } = state;
  const direction = order?.isDescending === true ? "desc" : "asc";
  return [
    ...toConditionParameters(toWhere(state, columns, searched)),
    ...(order === undefined ? [] : [["order", `${toName(order)}.${direction}`] as Parameter]),
  ];
}

function toName({ column }: { readonly column: string }): string {
  return column === CREATED ? "id" : column;
}

/**
 * The queries of a search, the fastest first: a text is searched in texts and exact values, then also in JSON, then also in the
 * texts of referenced rows. The last one searches all.
 */
export function listQueries(
  state: SearchState,
  columns: readonly SearchColumn[],
): readonly [Parameter[], ...Parameter[][]] {
  const own = columns.map(({ label, ...column }) => column);
  const quick = own.filter(({ kind }) => FIELDS[kind].cell !== "json");
  const [first, ...more] = [quick, own, columns].map((searched) =>
    toParameters(state, columns, searched),
  );
  const texts = new Set([String(first)]);
  const others = more.filter((query) => {
    const isKnown = texts.has(String(query));
    texts.add(String(query));
    return !isKnown;
  });
  return [first ?? [], ...others];
}

/** The conditions in the format of the client. */
export function toWhere(
  state: SearchState,
  columns: readonly SearchColumn[],
  searched = columns,
): object {
  const and = state.conditions.map((condition) => {
    const { column, operator } = condition;
    const known = columns.find(({ name }) => name === column);
    const test = toTest(condition, known?.kind);
    // A comparison with null is never true, but an empty cell is not the value.
    const isEmptyFound = operator === "neq" && known?.required === false;
    return isEmptyFound ? { or: [test, { [column]: { is: null } }] } : test;
  });
  const anywhere = state.text === "" ? [] : [{ or: toAnywhere(state.text, searched) }];
  return and.length + anywhere.length === 0 ? {} : { and: [...anywhere, ...and] };
}

function toTest({ column, operator, value }: SearchCondition, kind: Kind | undefined): object {
  if (kind && FIELDS[kind].cell === "moment" && OPERATORS[operator].hasValue)
    return toTimeTest(column, operator, value);
  const { toTests } = OPERATORS[operator];
  const spellings = SPELLED.includes(operator) ? listSpellings(value) : [value];
  const [only, ...others] = spellings.map((text) => ({
    [column]: toTests(readValue(kind, text)),
  }));
  return others.length === 0 ? { ...only } : { or: [only, ...others] };
}

/** A time is displayed to the second: the conditions treat all of its second as equal. */
function toTimeTest(column: string, operator: OperatorName, value: string): object {
  const name = toName({ column });
  const toValue = column === CREATED ? toFirstId : (time: string) => time;
  const isTime = !Number.isNaN(Date.parse(value));
  if (!isTime) return { [name]: OPERATORS[operator].toTests(value) };
  const next = toValue(toNextSecond(value));
  if (operator === "eq")
    return {
      or: listSameTimes(value).map((same) => ({
        [name]: { gte: toValue(same), lt: toValue(toNextSecond(same)) },
      })),
    };
  if (operator === "gt") return { [name]: { gte: next } };
  if (operator === "lte") return { [name]: { lt: next } };
  return { [name]: OPERATORS[operator].toTests(toValue(value)) };
}

/** The lowest id of rows that were created at a time or later. */
function toFirstId(time: string): string {
  const digits = Math.max(Date.parse(time), 0).toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-0000-0000-000000000000`;
}

/** The rest of the conditions that the list endpoint accepts is for filters. */
const MAX_TESTS = 24;
const MAX_LABELED = 3;

function toAnywhere(text: string, columns: readonly SearchColumn[]): object[] {
  const found = listTests(text, columns);
  // No column can contain the text, so no row matches.
  return found.length === 0 ? [{ id: { is: null } }] : found.slice(0, MAX_TESTS);
}

/** Whether a text is searched in all columns and all labels of references. */
export function isWhole({ text }: SearchState, columns: readonly SearchColumn[]): boolean {
  const labeled = columns.filter(({ label }) => label !== undefined);
  const isFew = labeled.length <= MAX_LABELED && listTests(text, columns).length <= MAX_TESTS;
  return text === "" || isFew;
}

/** A text in texts, JSON, choices, numbers, dates and times, and then in labels of references. */
function listTests(text: string, columns: readonly SearchColumn[]): object[] {
  const folded = text.toLowerCase();
  const own = columns.flatMap((column): object[] => {
    if (column.name === CREATED) return [];
    const { toTests } = FIELDS[column.kind].search;
    const choices = FIELDS[column.kind].choices?.(column) ?? [];
    const chosen = choices.filter((value) => value.toLowerCase().includes(folded));
    const tests = toTests?.(text) ?? chosen.map((value) => ({ eq: readValue(column.kind, value) }));
    return tests.map((test) => ({ [column.name]: test }));
  });
  const labeled = columns.filter(({ label }) => label !== undefined).slice(0, MAX_LABELED);
  const labels = labeled.flatMap(({ name, label }) =>
    (FIELDS.string.search.toTests?.(text) ?? []).map((test) => ({ [`${name}.${label}`]: test })),
  );
  return [...own, ...labels];
}

/** A text that is no exact value of the kind stays as typed, so that the endpoint explains the error. */
function readValue(kind: Kind | undefined, text: string): string | number | boolean {
  const value = (kind && FIELDS[kind].search.toValue)?.(text) ?? text;
  const isExact =
    typeof value !== "number" ||
    (Number.isFinite(value) && (!/^-?\d+$/.test(text) || Number.isSafeInteger(value)));
  return isExact ? value : text;
}
