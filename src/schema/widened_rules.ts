/**
 * Which rules give people more rights on the rows of existing tables. Whatever is not certain to give the same or less counts as
 * more. Pure.
 *
 * @module
 */
import { canonicalJson } from "../std/json.ts";
import type { TableDefinition } from "./definition.ts";
import { listRoles } from "./explain_rules.ts";
import {
  ACTIONS,
  type Action,
  type Alternative,
  fixedFor,
  hiddenFrom,
  type Match,
  type RoleRules,
  type Rule,
  rulesOf,
  type TableRules,
} from "./rules.ts";

type Tables = readonly TableDefinition[];

/** A table whose rules give more; `rights`: such as `member reads more rows`. */
export type WidenedRules = {
  readonly table: string;
  readonly rights: readonly string[];
};

/**
 * The tables whose rules widen. A table without a counterpart is new and has no rows; one without rules has given people nothing. A
 * new column has no values yet.
 *
 * @example
 * ```ts
 * const columns = [{ name: "owner", kind: "uuid", required: false, unique: false, index: false }] as const;
 * const todos = { name: "todos", columns, indexes: [], uniques: [] };
 * const own = { ...todos, rules: { allow: { member: { read: [{ owner: "me" }] } } } };
 * const all = { ...todos, rules: { allow: { member: { read: [{}] } } } };
 * expect(findWidenedRules([own], [all])).toEqual([{ table: "todos", rights: ["member reads more rows"] }]);
 * expect(findWidenedRules([all], [own])).toEqual([]);
 * ```
 */
export function findWidenedRules(before: Tables, after: Tables): WidenedRules[] {
  const former = new Map(before.map((table) => [table.name, table]));
  return after.flatMap((table) => {
    const was = former.get(table.name);
    if (was === undefined) return [];
    const rights = listRoles([table]).flatMap((role) => [
      ...findMoreRows(was, table, role),
      ...findMoreColumns(was, table, role),
    ]);
    return rights.length === 0 ? [] : [{ table: table.name, rights }];
  });
}

const MORE: Readonly<Record<Action, string>> = {
  read: "reads more rows",
  create: "creates more rows",
  update: "changes more rows",
  delete: "deletes more rows",
};

function findMoreRows(before: TableDefinition, after: TableDefinition, role: string): string[] {
  const [was, now] = [before, after].map(({ rules }) => rulesOf(rules, role));
  return ACTIONS.filter((action) => {
    const former = toParts(was, action);
    return toParts(now, action).some((rule, part) => !isWithin(rule, former[part]));
  }).map((action) => `${role} ${MORE[action]}`);
}

/** The rules of an action; those before and after a change of a row separately. */
function toParts(rules: RoleRules | undefined, action: Action): readonly Rule[] {
  if (action === "update") return rules?.update ? [rules.update.from, rules.update.to] : [];
  const rule = rules?.[action];
  return rule === undefined ? [] : [rule];
}

/** Whether each row of a rule is certain to be one of another rule. */
function isWithin(rule: Rule, other: Rule | undefined): boolean {
  return rule.every((each) => other?.some((wider) => implies(each, wider)) === true);
}

/** Whether an alternative has every condition of another one, or a stricter one. */
function implies(alternative: Alternative, wider: Alternative): boolean {
  return Object.entries(wider).every(
    ([column, match]) =>
      Object.hasOwn(alternative, column) && isStricter(alternative[column] ?? null, match),
  );
}

function isStricter(match: Match, wider: Match): boolean {
  if (canonicalJson(match) === canonicalJson(wider)) return true;
  if (!Array.isArray(wider) || match === null) return false;
  const known = new Set(wider.map(canonicalJson));
  return [match].flat().every((value) => known.has(canonicalJson(value)));
}

/** A role that did not read or write before gets more rows, with all their columns. */
function findMoreColumns(before: TableDefinition, after: TableDefinition, role: string): string[] {
  const names = before.columns.map(({ name }) => name);
  const was = rulesOf(before.rules, role);
  const listAdded = (close: typeof hiddenFrom) => {
    const [closed, left] = [before, after].map(({ rules }) => close(rules, role));
    return names.filter((name) => closed?.includes(name) && !left?.includes(name)).join(", ");
  };
  const read = was.read === undefined ? "" : listAdded(hiddenFrom);
  const isWriter = was.create !== undefined || was.update !== undefined;
  const set = isWriter ? listAdded(listUnset) : "";
  return [
    ...(read === "" ? [] : [`${role} reads ${read}`]),
    ...(set === "" ? [] : [`${role} sets ${set}`]),
  ];
}

function listUnset(rules: TableRules | undefined, role: string): string[] {
  return [...hiddenFrom(rules, role), ...fixedFor(rules, role)];
}
