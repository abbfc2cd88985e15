/**
 * Rules as sentences, for plans, migrations, the command, the API and the Console. Every text is one line without control
 * characters. Pure.
 *
 * @module
 */
import { isPerson } from "../kinds/mod.ts";
import { escapeUnseen } from "../std/quote.ts";
import type { TableDefinition } from "./definition.ts";
import { findRuleColumn } from "./read_rule.ts";
import {
  ACTIONS,
  type Action,
  type Alternative,
  allowsAll,
  fixedFor,
  hiddenFrom,
  isMemberOf,
  isReadable,
  type Match,
  ME,
  type RoleRules,
  type Rule,
  type RuleValue,
  rulesOf,
} from "./rules.ts";

type Tables = readonly TableDefinition[];

/** What a role can do with the rows of a table. */
export type Explained = {
  readonly role: string;
  readonly table: string;
  /** Such as `read all rows; never creates, changes or deletes`. */
  readonly rights: string;
};

export function listRoles(tables: Tables): string[] {
  const roles = new Set(tables.flatMap(({ rules }) => Object.keys(rules?.allow ?? {})));
  return [...roles].sort();
}

/**
 * What each role can do with each table, by role and then by table.
 *
 * @example
 * ```ts
 * import { defineSchema, explainRules, t, toDefinition } from "rowhouse/schema";
 *
 * const reading = toDefinition(
 *   defineSchema({
 *     todos: t
 *       .model({ title: t.string(), owner: t.uuid().owner() })
 *       .allow("member", { read: true, create: true, update: { owner: "me" } }),
 *   }),
 * );
 * if ("issues" in reading) throw new Error("The schema has errors");
 * expect(explainRules(reading.definition)).toEqual([
 *   {
 *     role: "member",
 *     table: "todos",
 *     rights: "read all rows; create rows; change rows where owner is the person; never deletes; never sets owner",
 *   },
 * ]);
 * ```
 */
export function explainRules(
  { tables }: { readonly tables: Tables },
  roles: readonly string[] = listRoles(tables),
): Explained[] {
  return roles.flatMap((role) =>
    tables.map((table) => ({ role, table: table.name, rights: explainRights(table, role) })),
  );
}

/** What a role can do with the rows of a table. */
export function explainRights(table: TableDefinition, role: string): string {
  return listRights(table, role).join("; ");
}

/** The parts of {@linkcode explainRights}. */
export function listRights(table: TableDefinition, role: string): string[] {
  const rules = rulesOf(table.rules, role);
  const denied = ACTIONS.filter((action) => rules[action] === undefined);
  if (denied.length === ACTIONS.length) return ["no access"];
  const hidden = hiddenFrom(table.rules, role);
  const fixed = fixedFor(table.rules, role);
  const isWriter = rules.create !== undefined || rules.update !== undefined;
  return [
    ...ACTIONS.flatMap((action) => explainAction(table, rules, action) ?? []),
    ...(denied.length === 0
      ? []
      : [
          `never ${joinWords(
            denied.map((action) => THIRD[action]),
            "or",
          )}`,
        ]),
    ...(hidden.length === 0 ? [] : [`never sees ${hidden.join(", ")}`]),
    ...(fixed.length === 0 || !isWriter ? [] : [`never sets ${fixed.join(", ")}`]),
  ];
}

export const VERBS: Readonly<Record<Action, string>> = {
  read: "read",
  create: "create",
  update: "change",
  delete: "delete",
};
const THIRD: Readonly<Record<Action, string>> = {
  read: "reads",
  create: "creates",
  update: "changes",
  delete: "deletes",
};

function explainAction(
  table: TableDefinition,
  rules: RoleRules,
  action: Action,
): string | undefined {
  const rows = explainRows(table, rules, action);
  if (action === "create" && allowsAll(rules.create)) return "create rows";
  return rows && `${VERBS[action]} ${rows}`;
}

/** The rows on which a role can perform an action, such as `rows where status = open`; `undefined` if none. */
export function explainRows(
  table: TableDefinition,
  rules: RoleRules,
  action: Action,
): string | undefined {
  if (action !== "update") {
    const rule = rules[action];
    return rule && explainRule(table, rule);
  }
  if (rules.update === undefined) return undefined;
  const [from, to] = [rules.update.from, rules.update.to].map((rule) => explainRule(table, rule));
  return from === to ? from : `${from}, to ${to}`;
}

function explainRule(table: TableDefinition, rule: Rule): string {
  if (allowsAll(rule)) return "all rows";
  const parts = rule.map((alternative) => explainAlternative(table, alternative));
  const isPlain = rule.every((alternative) => Object.keys(alternative).length === 1);
  return `rows where ${parts.join(isPlain ? " or " : ", or where ")}`;
}

/** The conditions of one alternative, such as `owner is the person and status = open`. */
export function explainAlternative(table: TableDefinition, alternative: Alternative): string {
  const conditions = Object.entries(alternative).map(([column, match]) =>
    explainMatch(table, column, match),
  );
  return conditions.join(" and ");
}

function explainMatch(table: TableDefinition, column: string, match: Match): string {
  if (match === null) return `${column} is null`;
  if (typeof match !== "object")
    return match === ME && isPersonColumn(table, column)
      ? `${column} is the person`
      : `${column} = ${showValue(match)}`;
  if (isMemberOf(match)) return `${column} of the person's ${match.memberOf}${explainWhere(match)}`;
  if (isReadable(match)) return `${column} is readable`;
  return `${column} one of ${sortAsDeclared(table, column, match).map(showValue).join(", ")}`;
}

function isPersonColumn({ columns }: TableDefinition, name: string): boolean {
  const column = findRuleColumn(columns, name);
  return column !== undefined && isPerson(column);
}

function explainWhere({ where }: { readonly where?: Alternative }): string {
  if (where === undefined) return "";
  const conditions = Object.entries(where).map(([column, match]) => {
    if (match === null) return `${column} is null`;
    const values = Array.isArray(match) ? match : [match];
    return `${column} ${values.length === 1 ? "=" : "one of"} ${values.map(showValue).join(", ")}`;
  });
  return ` with ${conditions.join(" and ")}`;
}

/** The values of an enum in the order of its declaration. */
function sortAsDeclared(
  table: TableDefinition,
  column: string,
  list: readonly RuleValue[],
): readonly RuleValue[] {
  const { values } = findRuleColumn(table.columns, column) ?? {};
  if (values === undefined) return list;
  const rank = (value: RuleValue) => values.indexOf(`${value}`);
  return [...list].sort((a, b) => rank(a) - rank(b));
}

const PLAIN = /^[\p{L}\p{N}_.-]+$/u;

function showValue(value: RuleValue): string {
  if (typeof value !== "string" || PLAIN.test(value)) return String(value);
  return escapeUnseen(JSON.stringify(value));
}

/** Words as a list: `a, b and c`. */
export function joinWords(words: readonly string[], last: "and" | "or"): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}
