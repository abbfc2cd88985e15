/**
 * The query string of a list where `PREVIEW` names filters: conditions, order, selection and page, checked against the
 * columns that the app is served. Collects every issue. Pure.
 *
 * @module
 */
import type { RecordedTable } from "../catalog/mod.ts";
import { readParameters } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import {
  type Condition,
  type FilterReader,
  invalid,
  makeFilterReader,
  QUERY_LIMITS,
  type QueryColumn,
  type QueryIssue,
  QueryIssueError,
  toComparable,
  unsupported,
} from "./filter.ts";
import { MAX_OFFSET, MAX_ROWS, type Page, readWhole } from "./query.ts";

export type SortKey = { readonly column: QueryColumn; readonly isDescending: boolean };

export type ListQuery = Page & {
  /** All of them must be true. */
  readonly where: readonly Condition[];
  /** A total order: the last key is the id. Columns that have one value by a condition are left out. */
  readonly order: readonly SortKey[];
  /** Empty: every column. */
  readonly select: readonly QueryColumn[];
  /** The values of the order's keys in the row with which the page begins. */
  readonly after: readonly (string | null)[] | undefined;
  /** Whether only `limit` and `offset` were given. */
  readonly isPlain: boolean;
};

type Columns = Pick<RecordedTable["definition"], "columns">;

const ID: QueryColumn = { name: "id", kind: "uuid", required: true };
const GROUPS: Readonly<Record<string, { op: "and" | "or"; isNegated: boolean }>> = {
  and: { op: "and", isNegated: false },
  or: { op: "or", isNegated: false },
  "not.and": { op: "and", isNegated: true },
  "not.or": { op: "or", isNegated: true },
};
const ONCE = ["order", "select", "limit", "offset", "after"] as const;
type Once = (typeof ONCE)[number];

/**
 * A list as it was asked for.
 *
 * @throws {Problem} invalid_query; unsupported_query — with every issue
 */
export function readListQuery(query: string, { columns }: Columns): ListQuery {
  const reader = makeFilterReader([ID, ...columns]);
  const issues: QueryIssue[] = [];
  const where: Condition[] = [];
  const once = new Map<Once, string>();
  const attempt = <Result>(read: () => Result): Result | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof QueryIssueError)) throw error;
      issues.push(error);
      return undefined;
    }
  };
  checkLength(query, issues);
  for (const [name, text] of readParameters(query)) {
    if (issues.length >= MAX_ISSUES) break;
    if (isOnce(name)) {
      if (once.has(name)) issues.push(invalid(`Cannot read ${name}: it is given twice`));
      once.set(name, text);
    } else {
      const condition = attempt(() => readWhere(reader, name, text));
      if (condition !== undefined) where.push(condition);
    }
  }
  const asked = attempt(() => readOrder(reader, once.get("order"))) ?? [];
  const select = attempt(() => readSelect(reader, once.get("select"))) ?? [];
  const order = toTotalOrder(asked, where);
  const page = readPageOf(once);
  const after = attempt(() => readAfter(once, order));
  if (issues.length > 0) throw toProblem(issues);
  const isPlain = [...once.keys()].every((name) => name === "limit" || name === "offset");
  return { where, order, select, after, ...page, isPlain: isPlain && where.length === 0 };
}

const MAX_ISSUES = 10;

function toProblem(issues: readonly QueryIssue[]): Problem {
  const isInvalid = issues.some(({ code }) => code === "invalid_query");
  return new Problem(isInvalid ? "invalid_query" : "unsupported_query", {
    message: issues.map(({ message }) => message).join("; "),
  });
}

/** A cursor contains values of rows, and may be as long as all the rest. */
function checkLength(query: string, issues: QueryIssue[]): void {
  const lengths = { rest: 0, after: 0 };
  for (const part of query.split("&"))
    lengths[part.startsWith("after=") ? "after" : "rest"] += part.length + 1;
  const { bytes } = QUERY_LIMITS;
  if (Math.max(lengths.rest, lengths.after) > bytes)
    issues.push(unsupported(`A query has at most ${bytes} bytes, and as many in after`));
}

function isOnce(name: string): name is Once {
  return ONCE.some((other) => other === name);
}

function readWhere(reader: FilterReader, name: string, text: string): Condition {
  const group = Object.hasOwn(GROUPS, name) ? GROUPS[name] : undefined;
  if (group === undefined) return reader.readCondition(reader.findColumn(name), text);
  const condition = reader.readList(group.op, text);
  return group.isNegated ? { op: "not", of: [condition] } : condition;
}

function readOrder(reader: FilterReader, text: string | undefined): SortKey[] {
  if (text === undefined) return [];
  const keys = text.split(",").map((key): SortKey => {
    const [, name = "", way] = /^(.*?)(?:\.(asc|desc))?$/s.exec(key) ?? [];
    const column = reader.findColumn(name);
    if (column.kind === "json")
      throw unsupported(`Cannot sort by ${quote(name)}: it is of kind json`);
    return { column, isDescending: way === "desc" };
  });
  if (keys.length > QUERY_LIMITS.keys)
    throw unsupported(`order accepts at most ${QUERY_LIMITS.keys} columns`);
  refuseTwice(
    "order",
    keys.map(({ column }) => column),
  );
  return keys;
}

function readSelect(reader: FilterReader, text: string | undefined): QueryColumn[] {
  if (text === undefined) return [];
  const columns = text.split(",").map(reader.findColumn);
  refuseTwice("select", columns);
  return columns;
}

function refuseTwice(parameter: string, columns: readonly QueryColumn[]): void {
  const twice = columns.find((column, index) => columns.indexOf(column) < index);
  if (twice !== undefined)
    throw invalid(`Cannot read ${parameter}: it names ${quote(twice.name)} twice`);
}

/** The keys, then the id in the direction of the last one. */
function toTotalOrder(keys: readonly SortKey[], where: readonly Condition[]): SortKey[] {
  const id = { column: ID, isDescending: keys.at(-1)?.isDescending ?? false };
  const position = keys.findIndex(({ column }) => column.name === "id");
  const upToId = position === -1 ? [...keys, id] : keys.slice(0, position + 1);
  const hasOneValue = ({ column }: SortKey) =>
    column.name !== "id" &&
    where.some((condition) => condition.op === "eq" && condition.column.name === column.name);
  return upToId.filter((key) => !hasOneValue(key));
}

function readPageOf(once: ReadonlyMap<Once, string>): Page {
  const limit = readWhole("limit", once.get("limit"), Number.MAX_SAFE_INTEGER) ?? MAX_ROWS;
  return {
    limit: Math.min(limit, MAX_ROWS),
    offset: readWhole("offset", once.get("offset"), MAX_OFFSET) ?? 0,
  };
}

/** What a cursor says of the order that it was made for. */
export function describeOrder(order: readonly SortKey[]): string {
  return order
    .map(({ column, isDescending }) => `${column.name}.${isDescending ? "desc" : "asc"}`)
    .join(",");
}

function readAfter(
  once: ReadonlyMap<Once, string>,
  order: readonly SortKey[],
): (string | null)[] | undefined {
  const text = once.get("after");
  if (text === undefined) return undefined;
  if (once.has("offset")) throw invalid("Cannot use after together with offset: send one of them");
  const [described, ...values] = readCursor(text);
  if (described !== describeOrder(order) || values.length !== order.length)
    throw invalid("Cannot read after: it is the next of a list in another order");
  return order.map(({ column }, index) => {
    const value = values[index] ?? null;
    if (value !== null) return toComparable(value, column);
    if (column.required) throw invalid(UNREADABLE_CURSOR);
    return null;
  });
}

const UNREADABLE_CURSOR = "Cannot read after: must be the next of an earlier response";

function readCursor(text: string): (string | null)[] {
  const list = /^[\w-]+$/.test(text)
    ? tryParseJson(Buffer.from(text, "base64url").toString())
    : undefined;
  if (Array.isArray(list) && list.every((value) => value === null || typeof value === "string"))
    return list;
  throw invalid(UNREADABLE_CURSOR);
}
