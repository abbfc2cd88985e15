/**
 * The rows and columns that statements with plans read. An API key reads the table. A person reads a query of the columns that the
 * person sees, with a condition for the rows: a plan numbers only these columns, so no plan reads another, even one written by hand.
 *
 * @see ../../db/code/tables/queries.sql
 * @module
 */

import { quoteLiteral, quoteName } from "../../../db/mod.ts";
import {
  type ColumnSet,
  findRulePaths,
  placeholdersOf,
  queryColumns,
  type ServedSet,
} from "../../catalog/mod.ts";
import { qualify } from "../../qualify.ts";
import {
  keepWalk,
  MEMBER,
  renderEnd,
  renderOrder,
  renderSource,
  toPathTerms,
} from "./rule_path_terms.ts";
import { listRuleWalks } from "./seen_walks_terms.ts";
import { andAllowed, isAllowed, onRow, type RuleName, renderRule } from "./view_terms.ts";

const APP = placeholdersOf("get").app;

const PERSON = "$6";

/** The arguments `relation`, `source` and `seen` of `rowhouse.view_statement`: rows that the person reads, and that fulfill this rule. */
export function renderSeen(table: ColumnSet, rule?: RuleName): { source: string; seen: string } {
  const place = onRow("$t", PERSON);
  const rules = ["read" as const, ...(rule === undefined ? [] : [rule])]
    .map((name) => isAllowed(table, name, place))
    .filter((condition) => condition !== "true");
  const isSeen = [...new Set(rules)].map((condition) => `(${condition})`).join(" and ");
  const names = ["app_id", ...queryColumns(table).map(({ name }) => name)];
  const shown = names.map((name) => `"$t".${quoteName(name)}`);
  const columns = [...shown, ...(isSeen === "" ? [] : [`(${isSeen}) as "$s"`])].join(", ");
  // It begins with "(select " for rowhouse.with_keys().
  const source = qualify(`(select ${columns} from data.${quoteName(table.name)} as "$t")`);
  return {
    source: quoteLiteral(hideParameters(source)),
    seen: quoteLiteral(isSeen === "" ? "true" : `"$t"."$s"`),
  };
}

/**
 * The argument `rows_of` of `rowhouse.person_statement`: a query of each alternative of the rule, without the rows of earlier ones. PostgreSQL
 * finds the rows of each by an index, which it could not for all together. Conditions on parts of texts allow that under row security.
 */
export function renderSeenRows(table: ServedSet, rule?: RuleName): string {
  const { view } = table;
  if (view === undefined) throw new Error("Only people see some of the rows");
  const place = onRow("$t", PERSON);
  const columns = queryColumns(table).map(({ name }) => `"$t".${quoteName(name)}`);
  const more = rule === undefined ? "" : andAllowed(table, rule, place);
  const queries = (view.read ?? []).flatMap((alternative, at, all) => {
    const earlier = renderRule(table, all.slice(0, at), place);
    return findRulePaths(table, view, "search", alternative).map((path) => {
      const { fixed, terms, values } = toPathTerms(table, path, place);
      const found = terms.map((term, n) =>
        values[n] === MEMBER ? "" : ` and ${term} = ${values[n]}`,
      );
      const isOfPath = renderRule(table, [{ ...path.prefix, ...path.rest }], place);
      return `select "$t".* from data.${quoteName(table.name)} as "$t"
        where "$t"."app_id" = ${APP}${fixed}${found.join("")} and (${isOfPath}) and (${earlier}) is not true${more}`;
    });
  });
  const sql = `select ${columns.join(", ")} from (${queries.join(" union all ")}) as "$t"`;
  return quoteLiteral(hideParameters(qualify(sql)));
}

/** The argument `walks` of `rowhouse.view_statement`: see `rowhouse.rule_rows`. */
export function renderWalks(table: ServedSet): string {
  const walks = listRuleWalks(table, PERSON);
  if (walks === undefined) return "null";
  const text = (sql: string) => quoteLiteral(hideParameters(qualify(sql)));
  const rows = walks.map(({ index, references, terms, rest }) => {
    const { selected, condition } = keepWalk(terms, "$t");
    return [
      ...[quoteLiteral(index), references === undefined ? "null" : text(references)],
      text(`select "$t"."id"${selected} ${renderSource(table, terms, "$t")}`),
      ...[terms.terms, terms.values].map((list) => text(list.join(", "))),
      ...[false, true].map((isDescending) => text(renderEnd(terms, isDescending))),
      ...[false, true].map((isDescending) =>
        text(renderOrder(terms, { alias: "$t", isDescending })),
      ),
      ...[text(condition), quoteLiteral(terms.hasId ? "id" : "")],
      ...[false, true].map((isDescending) => text(keepWalk(terms, "$t", isDescending).order)),
      text(rest),
    ];
  });
  return `array[${rows.map((row) => `[${row.join(", ")}]`).join(", ")}]::text[]`;
}

/** The statement of a count replaces the parameter of its limit, which a text of a rule can look like. */
function hideParameters(sql: string): string {
  return sql.replaceAll(/e?'(?:[^']|'')*'/gi, (literal) => {
    if (!literal.includes("$")) return literal;
    const [, text] = /^e?('.*)$/is.exec(literal) ?? [];
    return `E${text?.replaceAll("$", "\\x24")}`;
  });
}
