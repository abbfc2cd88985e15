/** Groups as arguments of their function: columns and values by number, and the values. Pure. @module */

import type { Person } from "../../principal.ts";
import { Problem } from "../../problem.ts";
import { MAX_COUNTED, MAX_GROUP_KEY_BYTES, MAX_GROUPS, MAX_VISITS } from "../../std/limits.ts";
import type { RecordedTable } from "../../tables/catalog/mod.ts";
import { type QueryColumn, unsupported } from "./filter.ts";
import type { GroupQuery } from "./group_query.ts";
import { NARROW } from "./needed_index.ts";
import { isWhole, type PathOptions, type QueryPath } from "./path.ts";
import { hasRule, listReads, planRows, planSets, type SetParts, WHOLE_SET } from "./plan.ts";

type GroupOptions = PathOptions & {
  readonly visits: number;
  /** Max rows that are visited for a condition on referenced rows. */
  readonly setVisits?: number;
  readonly work: number;
  readonly person?: Person | undefined;
};
type GroupPlan = {
  /** The JSON argument of `rowhouse.query_statement`, which returns its visits, and of `rowhouse.group_statement`. */
  readonly plan: string;
  readonly values: readonly string[];
  readonly index: string | undefined;
  /** @see planQuery() */
  readonly canMerge: boolean;
};

/** The work of grouping by a text, which hashes it. */
const KEY_WORK = 2;

export function planGroups(
  query: GroupQuery,
  table: RecordedTable,
  options: GroupOptions,
): GroupPlan {
  const { setVisits = MAX_VISITS, ...limits } = options;
  const { plan, values, path } = planSets(
    { ...WHOLE_SET, where: query.where, limit: 0 },
    { ...limits, visits: setVisits, table },
    { toPlan: (chosen, parts) => toGroupPlan(chosen, query, { ...options, ...parts, table }) },
  );
  const { index = path.branches[0]?.index } = path;
  const canMerge = !isWhole(path) && hasRule(path, { ...options, table });
  return { plan: JSON.stringify(plan), values, index, canMerge };
}

function toGroupPlan(
  path: QueryPath,
  { where, by, aggregates }: GroupQuery,
  options: GroupOptions & SetParts & { readonly table: RecordedTable },
) {
  const { rows, numberOf, toTexts } = planRows(path, where, options);
  const keys = by
    .filter(isText)
    .map((column) => ({ column, work: KEY_WORK, maxBytes: MAX_GROUP_KEY_BYTES }));
  const toNumbers = (columns: readonly QueryColumn[]) => [...new Set(columns.map(numberOf))];
  const used = [...by, ...Object.values(aggregates).flat()];
  return {
    ...rows,
    ...toTexts(keys, used),
    ...{ grouped: toNumbers(used), by: toNumbers(by) },
    ...Object.fromEntries(
      Object.entries(aggregates).map(([name, columns]) => [name, toNumbers(columns)]),
    ),
  };
}

function isText({ kind }: QueryColumn): boolean {
  return kind === "string";
}

/** Why rows cannot be grouped, by what ended their visits. */
export function explainGroups(
  { by, where }: GroupQuery,
  { name }: RecordedTable,
  cut: string | undefined,
): Problem {
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
    default: {
      const texts = [...where.flatMap(listReads).map(({ column }) => column), ...by.filter(isText)];
      const names = [...new Set(texts.map((column) => column.name))].join(", ");
      const few =
        cut === "text"
          ? `too much text of ${names} would be read`
          : `more than ${MAX_COUNTED.toLocaleString("en-US")} rows of ${name} would be read`;
      return new Problem("needs_index", {
        message: `Cannot group these rows, because ${few}: ${NARROW}`,
      });
    }
  }
}
