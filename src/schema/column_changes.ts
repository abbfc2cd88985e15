/** Columns that only some roles read or write. @module */
import { joinWords } from "./explain_rules.ts";
import { ownValue, type TableRules } from "./rules.ts";

export function explainColumns(
  table: string,
  before: TableRules | undefined,
  after: TableRules | undefined,
): string[] {
  const names = [before, after].flatMap((rules) => [
    ...(rules?.owner ?? []),
    ...Object.keys(rules?.only ?? {}),
    ...Object.keys(rules?.setBy ?? {}),
  ]);
  return [...new Set(names)].sort().flatMap((column) => {
    const [was, now] = [before, after].map((rules) => explainColumn(rules, column));
    if (was === now) return [];
    const former = before === undefined ? "" : ` (was: ${was})`;
    return [`${before === undefined ? "+" : "~"} ${table}.${column}: ${now}${former}`];
  });
}

/** A column that is no longer declared has no role. */
function showRoles(roles: readonly string[]): string {
  return roles.length === 0 ? "no role" : `only ${joinWords(roles, "and")}`;
}

function explainColumn(rules: TableRules | undefined, column: string): string {
  const only = ownValue(rules?.only, column);
  const setBy = ownValue(rules?.setBy, column);
  const parts = [
    ...(rules?.owner?.includes(column) ? ["is the person who creates the row"] : []),
    ...(only === undefined ? [] : [`${showRoles(only)} can read or set it`]),
    ...(setBy === undefined ? [] : [`only ${joinWords(setBy, "and")} can set it`]),
  ];
  return parts.length === 0 ? "no restriction" : parts.join("; ");
}
