/** The differences between two sets of rules as sentences, for the plan of a push. Pure. @module */
import { explainColumns } from "./column_changes.ts";
import type { TableDefinition } from "./definition.ts";
import { explainRows, listRoles, VERBS } from "./explain_rules.ts";
import { ACTIONS, rulesOf } from "./rules.ts";

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
