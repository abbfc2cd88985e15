/**
 * The rows that a person sees, as a query that statements with plans read. A plan numbers only the columns that the caller sees, so no
 * plan names another, even one written by hand.
 *
 * @see ../../../db/code/tables/find.sql
 * @module
 */

import { quoteName } from "../../../db/mod.ts";
import { allowsAll } from "../../../schema/mod.ts";
import { findRulePaths, placeholdersOf, type ServedSet } from "../../catalog/mod.ts";
import { MEMBER, toPathTerms } from "./rule_path_terms.ts";
import { onRow, renderRule } from "./view_terms.ts";

const APP = placeholdersOf("get").app;

/**
 * Each alternative of the rule is a query, without the rows of earlier ones: PostgreSQL finds the rows of each by an index, which it could
 * not for all together. `undefined`: the caller sees all rows.
 */
export function renderSeenRows(table: ServedSet): string | undefined {
  const { name, view } = table;
  if (view === undefined || allowsAll(view.read)) return undefined;
  const place = onRow();
  const queries = (view.read ?? []).flatMap((alternative, at, alternatives) => {
    const earlier = renderRule(table, alternatives.slice(0, at), place);
    return findRulePaths(table, view, alternative).map((path) => {
      const { fixed, terms, values } = toPathTerms(table, path, place);
      const found = terms.map((term, n) =>
        values[n] === MEMBER ? "" : ` and ${term} = ${values[n]}`,
      );
      const isOfPath = renderRule(table, [{ ...path.prefix, ...path.rest }], place);
      return `select * from data.${quoteName(name)} as "$t" where "$t"."app_id" = ${APP}${fixed}${found.join("")} and (${isOfPath}) and (${earlier}) is not true`;
    });
  });
  if (queries.length === 0) return `select * from data.${quoteName(name)} as "$t" where false`;
  return `select * from (${queries.join(" union all ")}) as "$t"`;
}
