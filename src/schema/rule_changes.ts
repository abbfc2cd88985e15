/** The differences between two sets of rules as sentences, for the plan of a push. Pure. @module */
import type { TableDefinition } from "./definition.ts";
import { explainRows, joinWords, listRoles, VERBS } from "./explain_rules.ts";
import { ACTIONS, ownValue, rulesOf, type TableRules } from "./rules.ts";

type Tables = readonly TableDefinition[];

/**
 * A line for each right that a push adds (`+`), changes (`~`) or removes (`-`), in the order of the tables. Tables without a
 * counterpart count as tables without rules.
 *
 * @example
 * ```ts
 * const columns = [{ name: "owner", kind: "uuid", required: false, unique: false, index: false }] as const;
 * const before = { name: "todos", columns, indexes: [], uniques: [] };
 * const after = { ...before, rules: { allow: { member: { read: [{ owner: "me" }] } } } };
 * expect(explainRuleChanges([before], [after])).toEqual(["+ member can read todos where owner is the person"]);
 * expect(explainRuleChanges([after], [before])).toEqual(["- member can no longer read todos (was: where owner is the person)"]);
 * ```
 */
export function explainRuleChanges(before: Tables, after: Tables): string[] {
  const former = new Map(before.map((table) => [table.name, table]));
  const current = new Map(after.map((table) => [table.name, table]));
  const names = [...new Set([...former.keys(), ...current.keys()])].sort();
  return names.flatMap((name) => explainTable(former.get(name), current.get(name)));
}

function explainTable(
  before: TableDefinition | undefined,
  after: TableDefinition | undefined,
): string[] {
  const name = after?.name ?? before?.name ?? "";
  const roles = listRoles([before, after].flatMap((table) => table ?? []));
  const lines = ACTIONS.flatMap((action) =>
    joinRoles(
      roles.flatMap((role) => {
        const [was, now] = [before, after].map(
          (table) => table && explainRows(table, rulesOf(table.rules, role), action),
        );
        const line = was === now ? undefined : explainRight(`${VERBS[action]} ${name}`, was, now);
        return line === undefined ? [] : [{ role, ...line }];
      }),
    ),
  );
  return [...lines, ...explainColumns(name, before?.rules, after?.rules)];
}

type Line = { readonly sign: "+" | "~" | "-"; readonly text: string };

function explainRight(what: string, was: string | undefined, now: string | undefined): Line {
  if (now === undefined)
    return { sign: "-", text: `can no longer ${what} (was: ${toWhere(was ?? "")})` };
  const text = now === ALL ? `can ${what}` : `can ${what} ${toWhere(now)}`;
  if (was === undefined) return { sign: "+", text };
  return { sign: "~", text: `${text} (was: ${toWhere(was)})` };
}

const ALL = "all rows";
/** The rows without the word that the table's name replaces. */
function toWhere(rows: string): string {
  return rows.replace(/^rows /, "");
}

/** Roles with the same change share a line. */
function joinRoles(lines: readonly (Line & { readonly role: string })[]): string[] {
  const roles = new Map<string, string[]>();
  const keyOf = ({ sign, text }: Line) => `${sign}${text}`;
  for (const line of lines) roles.set(keyOf(line), [...(roles.get(keyOf(line)) ?? []), line.role]);
  return [...new Map(lines.map((line) => [keyOf(line), line]))].map(
    ([key, { sign, text }]) => `${sign} ${(roles.get(key) ?? []).join(", ")} ${text}`,
  );
}

// Columns that only some roles read or write.

function explainColumns(
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
