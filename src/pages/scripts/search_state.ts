/**
 * The search of a table as the fragment of an address: it can be shared and opened again, and no server sees the values. Pure.
 *
 * @module
 */

/** A column of the table, or its id, as the page describes it. */
export type SearchColumn = {
  readonly name: string;
  readonly kind: string;
  readonly required: boolean;
  readonly values?: readonly string[];
  /** Whether an index sorts the table by this column. */
  readonly isSorted?: boolean;
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

export const NO_SEARCH: SearchState = { text: "", conditions: [], order: undefined };

type Operator = {
  readonly label: string;
  /** The condition, for `matches()` and the list endpoint. */
  readonly toTests: (value: unknown) => object;
  readonly hasValue: boolean;
};

const toContained = (value: unknown) => ({ ilike: `*${value}*` });

export const OPERATORS = {
  contains: { label: "contains", toTests: toContained, hasValue: true },
  starts: {
    label: "starts with",
    toTests: (value: unknown) => ({ ilike: `${value}*` }),
    hasValue: true,
  },
  eq: { label: "is", toTests: (value: unknown) => ({ eq: value }), hasValue: true },
  neq: { label: "is not", toTests: (value: unknown) => ({ neq: value }), hasValue: true },
  lt: { label: "is below", toTests: (value: unknown) => ({ lt: value }), hasValue: true },
  lte: { label: "is at most", toTests: (value: unknown) => ({ lte: value }), hasValue: true },
  gt: { label: "is above", toTests: (value: unknown) => ({ gt: value }), hasValue: true },
  gte: { label: "is at least", toTests: (value: unknown) => ({ gte: value }), hasValue: true },
  null: { label: "is null", toTests: () => ({ is: null }), hasValue: false },
  present: { label: "is not null", toTests: () => ({ not: { is: null } }), hasValue: false },
} as const satisfies Readonly<Record<string, Operator>>;
export type OperatorName = keyof typeof OPERATORS;

const RANGES = ["lt", "lte", "gt", "gte"] as const;
const OPERATORS_OF: Readonly<Record<string, readonly OperatorName[]>> = {
  string: ["contains", "starts", "eq", "neq"],
  number: ["eq", "neq", ...RANGES],
  decimal: ["eq", "neq", ...RANGES],
  boolean: ["eq", "neq"],
  uuid: ["eq", "neq"],
  timestamp: [...RANGES, "eq"],
  json: [],
  enum: ["eq", "neq", ...RANGES],
  ref: ["eq", "neq"],
};

/** The operators of a column, the most useful first. */
export function operatorsOf({ kind, required }: SearchColumn): readonly OperatorName[] {
  const operators = OPERATORS_OF[kind] ?? [];
  return required ? operators : [...operators, "null", "present"];
}

/** The state in a fragment. Omits unreadable parts. */
export function readState(fragment: string, columns: readonly SearchColumn[]): SearchState {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ""));
  const find = (name: string) => columns.find((column) => column.name === name);
  const conditions = parameters.getAll("where").flatMap((text): SearchCondition[] => {
    const [, name = "", operator = "", value = ""] = /^([^.]+)\.(\w+)\.?(.*)$/s.exec(text) ?? [];
    const column = find(name);
    const known = column && operatorsOf(column).find((other) => other === operator);
    return known === undefined ? [] : [{ column: name, operator: known, value }];
  });
  const [, name = "", way] = /^([^.]+)(\.desc)?$/.exec(parameters.get("order") ?? "") ?? [];
  const sorted = find(name);
  const order =
    sorted === undefined || sorted.kind === "json"
      ? undefined
      : { column: name, isDescending: way !== undefined };
  return { text: parameters.get("search") ?? "", conditions, order };
}

export function readPageNumber(fragment: string): number {
  const page = new URLSearchParams(fragment.replace(/^#/, "")).get("page") ?? "";
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

const NUMBER = /^-?\d+(\.\d+)?$/;
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
/** Max conditions in a query of the list endpoint. */
const MAX_CONDITIONS = 25;

/** The conditions in the format of the client's `matches()` and the list endpoint. */
export function toWhere(state: SearchState, columns: readonly SearchColumn[]): object {
  const and = state.conditions.map(({ column, operator, value }) => {
    const kind = columns.find(({ name }) => name === column)?.kind;
    return { [column]: OPERATORS[operator].toTests(readValue(kind, value)) };
  });
  const anywhere = state.text === "" ? [] : [{ or: toAnywhere(state.text, columns) }];
  return and.length + anywhere.length === 0 ? {} : { and: [...anywhere, ...and] };
}

/** Finds the text in columns of text; a number or an id also in columns of that kind. */
function toAnywhere(text: string, columns: readonly SearchColumn[]): object[] {
  const found = columns.flatMap(({ name, kind }): object[] => {
    if (kind === "string") return [{ [name]: toContained(text) }];
    if (kind === "number" && NUMBER.test(text)) return [{ [name]: { eq: Number(text) } }];
    if (kind === "decimal" && NUMBER.test(text)) return [{ [name]: { eq: text } }];
    if ((kind === "uuid" || kind === "ref") && UUID.test(text)) return [{ [name]: { eq: text } }];
    return [];
  });
  // No column can contain the text, so no row matches.
  return found.length === 0 ? [{ id: { is: null } }] : found.slice(0, MAX_CONDITIONS);
}

function readValue(kind: string | undefined, text: string): string | number | boolean {
  if (kind === "number") return Number(text);
  if (kind === "boolean") return text === "true";
  return text;
}
