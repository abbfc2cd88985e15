/**
 * The rows that the caller sees, as a query that statements with plans read. A plan numbers only the columns that the caller sees, so no
 * plan names another, even one written by hand.
 *
 * @see ../../db/code/tables/find.sql
 * @module
 */

import { quoteLiteral, quoteName } from "../../../db/mod.ts";
import { allowsAll } from "../../../schema/mod.ts";
import { findRulePaths, placeholdersOf, type ServedSet } from "../../catalog/mod.ts";
import { qualify } from "../../qualify.ts";
import { MEMBER, toPathTerms } from "./rule_path_terms.ts";
import { andAllowed, onRow, type RuleName, renderRule, rightsOn } from "./view_terms.ts";

const APP = placeholdersOf("get").app;
/**
 * PostgreSQL estimates the rows of an average app. Of the id itself it would know how many rows the last statistics counted: for an app
 * that has grown since, one, so that a scan of all its rows would seem as cheap as a search.
 */
const AVERAGE_APP = `(select ${APP})`;
const PERSON = "$5";

type SeenRows = {
  /** The query, as a literal. */
  readonly rows: string;
  /** Whether a rule removes rows, so that nothing of a request may be compared with these before the rule. */
  readonly isFenced: boolean;
};

/**
 * Rows that the caller sees, and that fulfill this rule. Of a person each alternative of the rule is a query, without the rows of earlier
 * ones: PostgreSQL finds the rows of each by an index, which it could not for all together.
 */
export function renderSeenRows(table: ServedSet, rule?: RuleName): SeenRows {
  const { name, view } = table;
  const { read } = rightsOn(table);
  const place = onRow("$t", PERSON);
  const more = rule === undefined ? "" : andAllowed(table, rule, place);
  const select = `select * from data.${quoteName(name)} as "$t" where "$t"."app_id" =`;
  if (view === undefined || allowsAll(read))
    return { rows: toLiteral(`${select} ${AVERAGE_APP}${more}`), isFenced: more !== "" };
  const queries = (read ?? []).flatMap((alternative, at, alternatives) => {
    const earlier = renderRule(table, alternatives.slice(0, at), place);
    return findRulePaths(table, view, alternative).map((path) => {
      const { fixed, terms, values } = toPathTerms(table, path, place);
      const found = terms.map((term, n) =>
        values[n] === MEMBER ? "" : ` and ${term} = ${values[n]}`,
      );
      const isOfPath = renderRule(table, [{ ...path.prefix, ...path.rest }], place);
      return `${select} ${APP}${fixed}${found.join("")} and (${isOfPath}) and (${earlier}) is not true${more}`;
    });
  });
  return {
    rows: toLiteral(`select * from (${queries.join(" union all ")}) as "$t"`),
    isFenced: true,
  };
}

function toLiteral(sql: string): string {
  return quoteLiteral(qualify(sql));
}
