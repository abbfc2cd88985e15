/**
 * The query string of a list for callers with queries: conditions, order, selection and page, checked against the
 * columns that the app is served. Collects every issue. Pure.
 *
 * @module
 */

import {
  type JsonSchema,
  type OperationParameter,
  ofParameter,
  readParameters,
} from "../../http/mod.ts";
import { isSorted, isText, type Kind } from "../../kinds/mod.ts";
import { Problem } from "../../problem.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { tryParseJson } from "../../std/json.ts";
import { quote } from "../../std/quote.ts";
import { isStorableText } from "../../std/text.ts";
import type { RecordedTable } from "../../tables/catalog/mod.ts";
import {
  type AppTables,
  type Attempt,
  type Condition,
  type FilterReader,
  ID,
  invalid,
  listOperators,
  makeFilterReader,
  QUERY_LIMITS,
  type QueryColumn,
  toComparable,
  unsupported,
} from "./filter.ts";
import { givenTwice, type ListQuery, readLimit, readOffset, type SortKey } from "./list_query.ts";
import { joinReferenced, listReferenced } from "./referenced_conditions.ts";
import { fitLimit, parseSelection, readSelection, type SelectionText } from "./related_rows.ts";
import { withRule } from "./rule_conditions.ts";

type Columns = Pick<RecordedTable["definition"], "name" | "columns">;

const GROUP = /^(not\.)?(and|or)$/;
/** Parameters that are no conditions. */
export const LIST_PARAMETERS = ["order", "select", "limit", "offset", "after"] as const;
type Once = (typeof LIST_PARAMETERS)[number];

/**
 * The requested list. `rule`: conditions that all its rows fulfill.
 *
 * @throws {Problem} invalid_query; unsupported_query — with every issue
 */
export function readListQuery(
  query: string,
  { name: table, columns }: Columns,
  tables = NO_TABLES,
  rule: readonly Condition[] = [],
): ListQuery {
  const reading = readConditions(query, columns, {
    names: LIST_PARAMETERS,
    option: OPTION,
    tables,
  });
  const { reader, attempt, within, once, dotted, issues } = reading;
  const where = withRule(reading.where, rule);
  const read = { reader, attempt };
  const asked = within("order", () => attempt(() => readOrder(read, once.get("order")))) ?? [];
  const { items, paths } =
    within("select", () => attempt(() => parseSelect(once.get("select")))) ?? NOTHING;
  for (const name of dotted.keys()) within(name, () => attempt(() => checkOption(name, paths)));
  const { select, related } = within("select", () =>
    readSelection(
      items,
      { name: table, columns },
      {
        ...{ attempt, tables, texts: dotted },
        readOrder: (text, { findColumn, reference: column }) =>
          toTotalOrder(readOrder({ reader: { findColumn }, attempt }, text), [
            { op: "eq", column, values: [] },
          ]),
      },
    ),
  );
  const rows = once.get("limit");
  const limit =
    attempt(() => {
      const asked = rows === undefined && related.length > 0 ? undefined : readLimit(rows);
      return issues.length > 0 ? 0 : fitLimit(asked, related);
    }) ?? 0;
  const offset = attempt(() => readOffset(once.get("offset"))) ?? 0;
  const order = toTotalOrder(asked, where);
  const known = issues.length === 0 ? order : undefined;
  const after = within("after", () => attempt(() => readAfter(once, known)));
  if (issues.length > 0) throw toProblem(issues);
  const isPlain = [...once.keys()].every((name) => name === "limit" || name === "offset");
  return {
    ...{ where, order, select, related, after, offset, limit },
    isPlain: isPlain && reading.where.length === 0,
  };
}

/** The conditions of a query string, its other parameters, each given once, and the issues so far. */
type QueryReading<Name extends string> = ListReader & {
  readonly where: readonly Condition[];
  /** Runs a reader, and names the parameter in the issues that it adds. */
  readonly within: <Result>(parameter: string, read: () => Result) => Result;
  readonly once: ReadonlyMap<Name, string>;
  /** The parameters that `option` matches. */
  readonly dotted: ReadonlyMap<string, string>;
  readonly issues: Problem[];
};

type ReadOptions<Name> = {
  /** Parameters that are not conditions. */
  readonly names: readonly Name[];
  /** Options of related rows; a condition on a referenced row can look the same. */
  readonly option?: RegExp;
  readonly tables: AppTables;
};

export function readConditions<Name extends string>(
  query: string,
  columns: Columns["columns"],
  { names, option, tables }: ReadOptions<Name>,
): QueryReading<Name> {
  const issues: Problem[] = [];
  const attempt: Attempt = (read) => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      issues.push(error);
      return undefined;
    }
  };
  const within: QueryReading<Name>["within"] = (parameter, read) => {
    const known = issues.length;
    const result = read();
    for (const issue of issues.slice(known)) ofParameter(parameter, issue);
    return result;
  };
  const reader = makeFilterReader([ID, ...columns], attempt, { tables });
  const conditions: Condition[] = [];
  const once = new Map<Name, string>();
  const dotted = new Map<string, string>();
  attempt(() => checkLength(query));
  for (const [name, text] of readParameters(query)) {
    if (issues.length >= MAX_ISSUES) break;
    const asked = names.find((other) => other === name);
    if (asked !== undefined) {
      if (once.has(asked)) issues.push(givenTwice(name));
      once.set(asked, text);
    } else if (option?.test(name) && !reader.isPath(name, OPTIONS)) {
      if (dotted.has(name)) issues.push(givenTwice(name));
      dotted.set(name, text);
    } else {
      const condition = within(name, () => attempt(() => readWhere(reader, name, text)));
      if (condition !== undefined) conditions.push(condition);
    }
  }
  const where = joinReferenced("and", conditions.flatMap(toParts));
  attempt(() => {
    if (listReferenced(where).length > QUERY_LIMITS.references)
      throw unsupported(
        `A list accepts conditions on the rows of at most ${QUERY_LIMITS.references} references`,
      );
  });
  return { reader, attempt, within, where, once, dotted, issues };
}

const MAX_ISSUES = 10;

export function toProblem(issues: readonly Problem[]): Problem {
  const isInvalid = issues.some(({ code }) => code === "invalid_query");
  const messages = new Set(issues.map(({ message }) => message));
  const problem = new Problem(isInvalid ? "invalid_query" : "unsupported_query", {
    message: [...messages].slice(0, MAX_ISSUES).join("; "),
  });
  const doubled = issues.filter(({ parameters = [] }) => parameters.length > 1);
  const named = issues.filter((issue) => !doubled.includes(issue));
  problem.parameters = [
    ...new Set(named.flatMap(({ parameters = [] }) => parameters)),
    ...doubled.flatMap(({ parameters = [] }) => parameters),
  ];
  return problem;
}

/** A cursor contains values of rows, and can be as long as the rest of the query string. */
function checkLength(query: string): void {
  const lengths = { rest: 0, after: 0 };
  for (const part of query.split("&"))
    lengths[part.startsWith("after=") ? "after" : "rest"] += part.length + 1;
  const { bytes } = QUERY_LIMITS;
  if (Math.max(lengths.rest, lengths.after) > bytes)
    throw unsupported(`The query string and after can have at most ${bytes} bytes each`);
}

/** A condition on a column as a parameter. Its schema is that of the column's kind. */
export type FilterParameter = Omit<OperationParameter, "schema"> & { readonly kind: Kind };

/** The columns of a table and of its references' rows as parameters, except those that another parameter of the operation hides. */
export function toFilterParameters(
  columns: readonly NamedColumn[],
  others: readonly Pick<OperationParameter, "name">[],
  find: (table: string) => readonly NamedColumn[] | undefined = () => undefined,
): FilterParameter[] {
  const hidden = new Set<string>([...LIST_PARAMETERS, ...others.map(({ name }) => name)]);
  const isShown = (name: string) => !hidden.has(name) && !GROUP.test(name);
  const own = [ID, ...columns].filter(({ name }) => isShown(name));
  const names = new Set(columns.map(({ name }) => toClientName(name)));
  const referenced = columns.flatMap(({ name: reference, table }) =>
    [...(table === undefined ? [] : [ID, ...(find(table) ?? [])])]
      .map(({ name, kind }) => ({ name: `${reference}.${name}`, kind, reference }))
      .filter(({ name }) => isShown(name)),
  );
  const firsts = Map.groupBy(referenced, ({ name }) => toClientName(name));
  const distinct = [...firsts].flatMap(([name, [first]]) =>
    first === undefined || names.has(name) ? [] : [first],
  );
  const toParameter = (name: string, kind: Kind, target: string): FilterParameter => ({
    in: "query",
    name,
    kind,
    description: `A condition on the column${target}, which is of kind ${kind}.`,
  });
  return [
    ...own.map(({ name, kind }) => toParameter(name, kind, "")),
    ...distinct.map(({ name, kind, reference }) =>
      toParameter(name, kind, ` of the row of ${reference}`),
    ),
  ];
}

/** The schema of a condition on a column of this kind. */
export function toConditionSchema(kind: Kind): JsonSchema {
  return {
    type: "string",
    description: `Operators: ${listOperators(kind)}, each also after \`not.\`.`,
    examples: ["not.is.null"],
  };
}

/** Generators of clients make one name of `project.name`, `project_name` and `projectName`. */
function toClientName(name: string): string {
  return name
    .replaceAll(/([a-z\d])(?=[A-Z])/g, "$1_")
    .replace(".", "_")
    .toLowerCase();
}

function readWhere(reader: FilterReader, name: string, text: string): Condition {
  const [, negation, op] = GROUP.exec(name) ?? [];
  if (op === undefined) return reader.readCondition(name, text);
  const condition = reader.readList(op === "or" ? "or" : "and", text);
  return negation === undefined ? condition : { op: "not", of: [condition] };
}

/** The conditions of a group that must all be true: an index serves a condition, and not a group. */
function toParts(condition: Condition): readonly Condition[] {
  if (!("of" in condition)) return [condition];
  const { op, of } = condition;
  if (op !== "not") return op === "and" || of.length === 1 ? of.flatMap(toParts) : [condition];
  const [inner] = of;
  if (inner.op === "not") return toParts(inner.of[0]);
  return inner.op === "or" ? inner.of.flatMap((part) => toParts({ op, of: [part] })) : [condition];
}

/** An option of related rows: `todos.limit`. */
const OPTION = /^(?!not\.(?:and|or)$)(.+)\.(.*)$/s;
const OPTIONS = ["limit", "order"];
export const NO_TABLES: AppTables = { appId: "", find: () => undefined };
const NOTHING: SelectionText = { items: [], paths: new Set() };

function parseSelect(text: string | undefined): SelectionText {
  return text === undefined ? NOTHING : parseSelection(text);
}

function checkOption(name: string, paths: ReadonlySet<string>): void {
  const [, path = "", option = ""] = OPTION.exec(name) ?? [];
  const isOption = OPTIONS.includes(option);
  if (!paths.has(path))
    throw invalid(
      `Cannot read ${quote(name)}: ${isOption ? "" : `the table has no reference ${path}, and `}select has no ${path}(…)`,
    );
  if (!isOption)
    throw invalid(`Cannot read ${quote(name)}: lists of related rows have only .limit and .order`);
}

type ListReader = {
  readonly reader: Pick<FilterReader, "findColumn">;
  readonly attempt: Attempt;
};

function readOrder({ reader, attempt }: ListReader, text: string | undefined): SortKey[] {
  const readKey = (key: string): SortKey => {
    const [name = "", way, ...rest] = key.split(".");
    const column = reader.findColumn(name);
    if (rest.length > 0 || !(way === undefined || way === "asc" || way === "desc"))
      throw invalid(`Cannot read order ${quote(key)}: must be a column, then .asc or .desc`);
    if (!isSorted(column))
      throw unsupported(`Cannot sort by ${quote(name)}: it is of kind ${column.kind}`);
    return { column, isDescending: way === "desc" };
  };
  const keys = (text?.split(",") ?? [])
    .map((key) => attempt(() => readKey(key)))
    .filter((key) => key !== undefined);
  if (keys.length > QUERY_LIMITS.keys)
    throw unsupported(`order accepts at most ${QUERY_LIMITS.keys} columns`);
  rejectTwice(
    "order",
    keys.map(({ column }) => column),
  );
  return keys;
}

function rejectTwice(parameter: string, columns: readonly QueryColumn[]): void {
  const twice = columns.find((column, index) => columns.indexOf(column) < index);
  if (twice !== undefined)
    throw invalid(`Cannot read ${parameter}: it names ${quote(twice.name)} twice`);
}

/** The keys, then the id in the direction of the last key. */
function toTotalOrder(keys: readonly SortKey[], where: readonly Condition[]): SortKey[] {
  const id = { column: ID, isDescending: keys.at(-1)?.isDescending ?? false };
  const position = keys.findIndex(({ column }) => column.name === "id");
  const upToId = position === -1 ? [...keys, id] : keys.slice(0, position + 1);
  const isConstant = ({ column }: SortKey) =>
    column.name !== "id" &&
    where.some(
      (condition) =>
        (condition.op === "eq" || condition.op === "null") && condition.column.name === column.name,
    );
  return upToId.filter((key) => !isConstant(key));
}

export function describeOrder(order: readonly SortKey[]): string {
  return order
    .map(({ column, isDescending }) => `${column.name}.${isDescending ? "desc" : "asc"}`)
    .join(",");
}

/** An unreadable order is undefined: cursors cannot be compared with it. */
function readAfter(
  once: ReadonlyMap<Once, string>,
  order: readonly SortKey[] | undefined,
): (string | null)[] | undefined {
  const text = once.get("after");
  if (text === undefined) return undefined;
  if (once.has("offset")) throw invalid("Cannot use after together with offset: send one of them");
  const [described, ...values] = readCursor(text);
  if (order === undefined) return undefined;
  if (described !== describeOrder(order) || values.length !== order.length)
    throw invalid("Cannot read after: it comes from a list in another order");
  return order.map(({ column }, index) => {
    const value = values[index] ?? null;
    if (value !== null) return isText(column) ? readText(value) : toComparable(value, column);
    if (column.required) throw invalid(UNREADABLE_CURSOR);
    return null;
  });
}

/** The cursor of a long text is its start and digests, which are no address. */
function readText(text: string): string {
  if (isStorableText(text)) return text;
  throw invalid(UNREADABLE_CURSOR);
}

export const UNREADABLE_CURSOR = "Cannot read after: must be the next of an earlier response";

function readCursor(text: string): (string | null)[] {
  const list = /^[\w-]+$/.test(text)
    ? tryParseJson(Buffer.from(text, "base64url").toString())
    : undefined;
  if (Array.isArray(list) && list.every((value) => value === null || typeof value === "string"))
    return list;
  throw invalid(UNREADABLE_CURSOR);
}
