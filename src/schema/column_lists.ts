/** The column lists of a table's composite indexes and unique constraints. The order within a list is significant. @module */
import { VALUES } from "../kinds/mod.ts";
import { describe, quote } from "../std/quote.ts";
import { sortLists } from "../std/sort_lists.ts";
import { type NamedColumn, QUOTAS } from "./definition.ts";
import { readList } from "./fields.ts";
import type { IssueLocation, Issues } from "./issues.ts";

/** PostgreSQL allows 32 columns per index; the first is always `app_id`. */
const COLUMNS_PER_INDEX = 31;

type Wanted = {
  readonly what: "an index" | "a unique constraint";
  readonly columns: readonly NamedColumn[];
  readonly at: IssueLocation;
};

/**
 * Lists of column names, sorted, because the order of the `.index(…)` lines has no meaning. Omits unreadable lists and adds
 * errors for them.
 */
export function readColumnLists(value: unknown, wanted: Wanted, issues: Issues): string[][] {
  const { at } = wanted;
  const bounds = { what: "lists of columns", max: QUOTAS.indexesPerTable, at };
  const lists = readList(value, bounds, issues) ?? [];
  const read = lists.map((list) => readColumnList(list, wanted, issues));
  return sortLists(read.filter((list) => list.length > 0));
}

function readColumnList(value: unknown, wanted: Wanted, issues: Issues): string[] {
  const { what, at } = wanted;
  const bounds = { what: `columns of ${what}`, max: COLUMNS_PER_INDEX, at };
  const list = readList(value, bounds, issues);
  if (list?.length === 0) {
    issues.add(at, `Cannot create ${what} on no columns: must name at least one`);
  }
  const names: string[] = [];
  for (const item of list ?? []) {
    const isLast = names.length > 0 && names.length + 1 === list?.length;
    const issue =
      isLast && item === "id" && what === "an index" ? undefined : findIssue(item, names, wanted);
    if (issue === undefined && typeof item === "string") names.push(item);
    else issues.add(at, `Cannot create ${what} on ${describe(item)}: ${issue}`);
  }
  const kinds = wanted.columns.flatMap(({ name, kind }) => (names.includes(name) ? kind : []));
  for (const kind of new Set(kinds)) {
    const count = kinds.filter((other) => other === kind).length;
    const { maxPerIndex: max = count } = VALUES[kind];
    if (count > max)
      issues.add(
        at,
        `Cannot create ${what} on ${count} ${kind} columns: at most ${max} are allowed`,
      );
  }
  return names.length === list?.length ? names : [];
}

function findIssue(value: unknown, earlier: readonly string[], wanted: Wanted): string | undefined {
  if (typeof value !== "string") return "must be the name of a column";
  if (earlier.includes(value)) return "the list names it twice";
  if (value === "id")
    return "the id is in the primary key: only an index can name it, as its last column";
  const column = wanted.columns.find(({ name }) => name === value);
  if (column === undefined) return `the table declares no column ${quote(value)}`;
  return VALUES[column.kind].unindexed;
}
