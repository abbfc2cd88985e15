/**
 * The rows and columns that statements with plans read. An API key reads the table. A person reads a query of the columns that the
 * person sees, with a condition for the rows: a plan numbers only these columns, so no plan reads another, even one written by hand.
 *
 * @see ../../db/code/tables/queries.sql
 * @module
 */

import { quoteLiteral, quoteName } from "../../db/mod.ts";
import { type ColumnSet, queryColumns, type ServedSet } from "../catalog/mod.ts";
import { qualify } from "../qualify.ts";
import { keepWalk, renderEnd, renderOrder, renderSource } from "./rule_path_terms.ts";
import { listRuleWalks } from "./seen_walks_terms.ts";
import { isAllowed, onRow, type RuleName } from "./view_terms.ts";

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
