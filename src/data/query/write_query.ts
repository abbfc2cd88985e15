/** The query string of an update or a delete with conditions. Pure. @module */

import { MAX_ROWS } from "../../std/limits.ts";
import { quote } from "../../std/quote.ts";
import type { RecordedTable } from "../../tables/catalog/mod.ts";
import { type AppTables, type Condition, ID, invalid } from "./filter.ts";
import { readConditions, toProblem } from "./list_query.ts";
import { WHOLE_SET } from "./plan.ts";
import type { ListQuery } from "./query.ts";

/** Parameters that are no conditions. */
const WRITE_PARAMETERS = ["all", "dryRun", "limit"] as const;

export type WriteQuery = {
  /** All of them must be true; none: every row. */
  readonly where: readonly Condition[];
  readonly isDry: boolean;
  /** Max rows to write; without it, more than the max of a request are an error. */
  readonly limit: number | undefined;
};

/** @throws {Problem} invalid_query; unsupported_query — with every issue */
export function readWriteQuery(
  query: string,
  { columns }: Pick<RecordedTable["definition"], "columns">,
  tables: AppTables,
): WriteQuery {
  const { attempt, where, once, issues } = readConditions(query, columns, {
    names: WRITE_PARAMETERS,
    tables,
  });
  const isAll = attempt(() => readFlag("all", once.get("all"))) ?? false;
  const isDry = attempt(() => readFlag("dryRun", once.get("dryRun"))) ?? false;
  const limit = attempt(() => readMost(once.get("limit")));
  if (issues.length === 0 && isAll && where.length > 0)
    issues.push(invalid("Cannot use all together with conditions: send one of them"));
  if (issues.length === 0 && !isAll && where.length === 0) issues.push(withoutCondition());
  if (issues.length > 0) throw toProblem(issues);
  return { where, isDry, limit };
}

export function withoutCondition() {
  return invalid("Cannot write rows without a condition: send one, or ?all=true for every row");
}

function readFlag(name: string, text = "false"): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw invalid(`Cannot read ${name} ${quote(text)}: must be true or false`);
}

function readMost(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const limit = /^\d+$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_ROWS) return limit;
  throw invalid(`Cannot read limit ${quote(text)}: must be a whole number from 1 to ${MAX_ROWS}`);
}

/** The list of the rows: up to `limit` in the order of their ids, or in any order. */
export function toList({ where }: WriteQuery, limit: number, isInOrder: boolean): ListQuery {
  const order = isInOrder ? [{ column: ID, isDescending: false }] : [];
  return { ...WHOLE_SET, where, limit, order };
}
