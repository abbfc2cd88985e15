/**
 * The query string of groups: the columns by which rows are grouped, the values that are computed of each group, and the
 * conditions of lists. Collects every issue. Pure.
 *
 * @module
 */

import { ofParameter } from "../../http/mod.ts";
import { AGGREGATES, type Aggregate, isSorted, VALUES } from "../../kinds/mod.ts";
import { Problem } from "../../problem.ts";
import { MAX_GROUP_KEY_BYTES, MAX_GROUPS } from "../../std/limits.ts";
import { quote } from "../../std/quote.ts";
import type { RecordedTable } from "../../tables/catalog/mod.ts";
import { type Condition, invalid, type QueryColumn, unsupported } from "./filter.ts";
import { type FindOptions, type Planned, planGrouped } from "./find_plan.ts";
import { LIST_PARAMETERS, NO_TABLES, readConditions, toProblem } from "./read_list_query.ts";

export type GroupQuery = {
  /** All of them must be true. */
  readonly where: readonly Condition[];
  /** Without any, all rows are one group. */
  readonly by: readonly QueryColumn[];
  readonly aggregates: Readonly<Record<Aggregate, readonly QueryColumn[]>>;
};

export const GROUP_LIMITS = { by: 2, aggregates: 10 } as const;

/** @throws {Problem} invalid_query; unsupported_query — with every issue */
export function readGroupQuery(
  query: string,
  table: Pick<RecordedTable["definition"], "columns">,
  tables = NO_TABLES,
): GroupQuery {
  const names = ["by", ...AGGREGATES, ...LIST_PARAMETERS] as const;
  const { reader, attempt, within, where, once, issues } = readConditions(query, table.columns, {
    names,
    tables,
  });
  const readColumns = (name: "by" | Aggregate): QueryColumn[] => {
    const columns = (once.get(name)?.split(",") ?? []).flatMap(
      (text) => attempt(() => reader.findColumn(text)) ?? [],
    );
    const twice = columns.find((column, index) => columns.indexOf(column) < index);
    if (twice !== undefined)
      throw invalid(`Cannot read ${name}: it names ${quote(twice.name)} twice`);
    return columns;
  };
  for (const name of LIST_PARAMETERS)
    if (once.has(name))
      issues.push(
        ofParameter(
          name,
          unsupported(
            `Cannot use ${name} with groups: a response has all groups, at most ${MAX_GROUPS}, sorted by their columns`,
          ),
        ),
      );
  const by = within("by", () => attempt(() => readBy(readColumns("by")))) ?? [];
  const aggregates = Object.fromEntries(
    AGGREGATES.map((name) => [
      name,
      within(name, () => attempt(() => checkAggregates(name, readColumns(name)))) ?? [],
    ]),
  ) as Record<Aggregate, QueryColumn[]>;
  attempt(() => {
    if (Object.values(aggregates).flat().length > GROUP_LIMITS.aggregates)
      throw unsupported(
        `Groups have at most ${GROUP_LIMITS.aggregates} values of ${AGGREGATES.join(", ")}`,
      );
  });
  if (issues.length > 0) throw toProblem(issues);
  return { where, by, aggregates };
}

function readBy(columns: readonly QueryColumn[]): readonly QueryColumn[] {
  if (columns.length > GROUP_LIMITS.by)
    throw unsupported(`by accepts at most ${GROUP_LIMITS.by} columns`);
  for (const { name, kind } of columns)
    if (!isSorted({ kind }))
      throw unsupported(`Cannot group by ${quote(name)}: it is of kind ${kind}`);
  return columns;
}

function checkAggregates(
  aggregate: Aggregate,
  columns: readonly QueryColumn[],
): readonly QueryColumn[] {
  for (const { name, kind } of columns) {
    const { aggregates = [] } = VALUES[kind];
    if (aggregates.includes(aggregate)) continue;
    const instead = aggregates.length === 0 ? "" : `: it supports ${aggregates.join(", ")}`;
    throw unsupported(
      `Cannot use ${aggregate} on ${quote(name)}, which is of kind ${kind}${instead}`,
    );
  }
  return columns;
}

/** Groups as arguments of their function, as `find.groups` reads them. */
export function planGroups(query: GroupQuery, table: RecordedTable, options: FindOptions): Planned {
  const { where, by, aggregates } = query;
  return planGrouped(where, table, {
    ...options,
    grouped: {
      by: listNames(by),
      ...Object.fromEntries(
        Object.entries(aggregates).map(([name, columns]) => [name, listNames(columns)]),
      ),
    },
  });
}

function listNames(columns: readonly QueryColumn[]): string[] {
  return [...new Set(columns.map(({ name }) => name))];
}

/** Why rows cannot be grouped. */
export function explainGroups({ by }: GroupQuery, cut: string | undefined): Problem | undefined {
  const keys = by.map((column) => column.name).join(", ");
  switch (cut) {
    case "groups":
      return new Problem("too_many_groups", {
        message: `Cannot group by ${keys}: there are more than ${MAX_GROUPS} groups. Group by a column with fewer values, or add conditions`,
      });
    case "key":
      return unsupported(
        `Cannot group by ${keys}: a text of a matching row has more than ${MAX_GROUP_KEY_BYTES} bytes. Add a condition that excludes it`,
      );
    case "bytes":
      return new Problem("response_too_large", {
        message: "The groups are too large for a response: add conditions, or use fewer columns",
      });
    default:
      return undefined;
  }
}
