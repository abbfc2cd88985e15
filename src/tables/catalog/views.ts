/**
 * Views: what the roles of an app with equal rights may do with a table, and which parts of it they see. Each view has functions
 * of its own, so a function has one rule for each action, and no role in a condition. The rules of other tables are part of a
 * view as far as its rules follow references to them: a change of them is another view, with other names of functions. Pure.
 *
 * @module
 */

import { isPerson } from "../../kinds/mod.ts";
import {
  type Alternative,
  type Change,
  fixedFor,
  hiddenFrom,
  isMemberOf,
  isReadable,
  type Kind,
  listRules,
  type Match,
  type NamedColumn,
  ownValue,
  type RoleRules,
  type Rule,
  rulesOf,
  type TableDefinition,
} from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";

export type ViewColumn = { readonly name: string; readonly kind: Kind; readonly table?: string };

/** A table that the rules of a view reach, as the roles of the view see it. */
type OtherTable = {
  /** Absent: these roles cannot read it. */
  readonly read?: Rule;
  /** The columns that rules compare, by name. */
  readonly columns: readonly ViewColumn[];
};

export type View = {
  readonly app: string;
  readonly roles: readonly string[];
  /** An absent action is denied. */
  readonly read?: Rule;
  readonly create?: Rule;
  readonly update?: Change;
  readonly delete?: Rule;
  /** The columns that the service fills with the person's id. */
  readonly owner: readonly string[];
  /** The columns that these roles neither read nor set. */
  readonly hidden: readonly string[];
  /** The columns that these roles read and cannot set, with the owner columns. */
  readonly fixed: readonly string[];
  /** The referenced tables, by the reference. */
  readonly references: Readonly<Record<string, string>>;
  /** Every table that the rules and references of these roles reach, also through other tables. */
  readonly others: Readonly<Record<string, OtherTable>>;
};

/** The view of a role on a table, one of the app's tables. `undefined`: the role can do nothing with it. */
export function viewOf(
  app: string,
  tables: readonly TableDefinition[],
  table: TableDefinition,
  role: string,
): View | undefined {
  return viewsOf(app, tables, table).find(({ roles }) => roles.includes(role));
}

export function viewsOf(
  app: string,
  tables: readonly TableDefinition[],
  table: TableDefinition,
): View[] {
  const byRights = new Map<string, { rights: Rights; roles: string[] }>();
  for (const role of Object.keys(table.rules?.allow ?? {}).sort()) {
    const rights = rightsOf(tables, table, role);
    if (rights === undefined) continue;
    const text = canonicalJson(rights);
    const same = byRights.get(text) ?? { rights, roles: [] };
    same.roles.push(role);
    byRights.set(text, same);
  }
  return [...byRights.values()].map(({ rights, roles }) => ({ app, roles, ...rights }));
}

/** What a caller may do with a table, and which parts of it the caller sees. */
export type Rights = Omit<View, "app" | "roles">;

function rightsOf(
  tables: readonly TableDefinition[],
  table: TableDefinition,
  role: string,
): Rights | undefined {
  const rules = ruled(table, role);
  if (Object.keys(rules).length === 0) return undefined;
  const references = Object.fromEntries(
    table.columns.flatMap(({ name, table: target }) =>
      target === undefined ? [] : [[name, target] as const],
    ),
  );
  const used = new Map<string, Map<string, ViewColumn>>();
  const reach: Reach = { tables, role, used };
  for (const { rule } of listRules(rules)) reachRule(reach, table, rule);
  for (const target of Object.values(references)) reachTable(reach, target);
  const others = [...used]
    .map(([name, columns]) => [name, describe(reach, name, columns)] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    ...rules,
    owner: table.rules?.owner ?? [],
    hidden: hiddenFrom(table.rules, role).sort(),
    fixed: fixedFor(table.rules, role),
    references,
    others: Object.fromEntries(others),
  };
}

/** The rules of a role. An update or a delete also needs to read the row. */
function ruled(table: TableDefinition, role: string): RoleRules {
  const { read, create, update, delete: remove } = rulesOf(table.rules, role);
  return {
    ...(isOpenTo(read) ? { read } : {}),
    ...(isOpenTo(create) ? { create } : {}),
    ...(isOpenTo(read) && update !== undefined ? { update } : {}),
    ...(isOpenTo(read) && isOpenTo(remove) ? { delete: remove } : {}),
  };
}

function isOpenTo(rule: Rule | undefined): rule is Rule {
  return rule !== undefined && rule.length > 0;
}

type Reach = {
  readonly tables: readonly TableDefinition[];
  readonly role: string;
  /** The reached tables, and their compared columns. */
  readonly used: Map<string, Map<string, ViewColumn>>;
};

function describe({ tables, role }: Reach, name: string, columns: Map<string, ViewColumn>) {
  const table = tables.find((known) => known.name === name);
  const { read } = table === undefined ? {} : ruled(table, role);
  return {
    ...(read === undefined ? {} : { read }),
    columns: [...columns.values()].sort((one, other) => (one.name < other.name ? -1 : 1)),
  };
}

/** Reaches a table, and everything that its rule for reading compares. */
function reachTable(reach: Reach, name: string): Map<string, ViewColumn> {
  const known = reach.used.get(name);
  if (known !== undefined) return known;
  const columns = new Map<string, ViewColumn>();
  reach.used.set(name, columns);
  const table = reach.tables.find((other) => other.name === name);
  if (table === undefined) return columns;
  const { read = [] } = ruled(table, reach.role);
  reachRule(reach, table, read);
  useColumns(
    reach,
    table,
    read.flatMap((alternative) => Object.keys(alternative)),
  );
  return columns;
}

function reachRule(reach: Reach, table: TableDefinition, rule: Rule): void {
  for (const alternative of rule)
    for (const [name, match] of Object.entries(alternative)) {
      const column = table.columns.find((known) => known.name === name);
      if (column !== undefined) reachMatch(reach, column, match);
    }
}

function reachMatch(reach: Reach, { table: target }: NamedColumn, match: Match): void {
  if (isReadable(match) && target !== undefined) reachTable(reach, target);
  if (!isMemberOf(match)) return;
  reachTable(reach, match.memberOf);
  const members = reach.tables.find(({ name }) => name === match.memberOf);
  if (members === undefined) return;
  const { where = {} } = match;
  const found = members.columns.filter(
    (column) => isPerson(column) || (column.table !== undefined && column.table === target),
  );
  useColumns(reach, members, [...found.map(({ name }) => name), ...Object.keys(where)]);
  reachRule(reach, members, [where]);
}

function useColumns({ used }: Reach, table: TableDefinition, names: readonly string[]): void {
  for (const { name, kind, table: target } of table.columns)
    if (names.includes(name))
      used
        .get(table.name)
        ?.set(name, { name, kind, ...(target === undefined ? {} : { table: target }) });
}

/** The columns of a table of memberships that name the person and the reference to `target`. A push rejects a table with several. */
export function membershipOf(
  { others }: Pick<View, "others">,
  members: string,
  target: string | undefined,
): { readonly person: string; readonly reference: string } {
  const columns = ownValue(others, members)?.columns ?? [];
  const [person, secondPerson] = columns.filter(isPerson);
  const [reference, secondReference] = columns.filter(
    ({ table }) => table !== undefined && table === target,
  );
  if (person === undefined || reference === undefined)
    throw new Error(`The table ${members} has no memberships`);
  if (secondPerson !== undefined || secondReference !== undefined)
    throw new Error(`The table ${members} has several columns of a membership`);
  return { person: person.name, reference: reference.name };
}

/** The columns that a caller sees. */
export type ServedDefinition = TableDefinition & {
  /** For people: the columns of the functions, with their view. */
  readonly served?: Served;
  /** For people: the columns that they do not see. A body that names one is forbidden, not unknown. */
  readonly hidden?: readonly string[];
};

type Served = Pick<TableDefinition, "name" | "columns"> & { readonly view: View };

/**
 * The definition by which requests of these roles are read: without hidden columns, and without rules. The service fills the
 * owner columns, so a body can omit them.
 */
export function definitionFor(definition: TableDefinition, view: View): ServedDefinition {
  const { rules: _, ...table } = definition;
  const isShown = (name: string) => !view.hidden.includes(name);
  const isWhole = (names: readonly string[]) => names.every(isShown);
  return {
    ...table,
    columns: table.columns
      .filter(({ name }) => isShown(name))
      .map((column) =>
        view.owner.includes(column.name) ? { ...column, required: false } : column,
      ),
    indexes: table.indexes.filter(isWhole),
    uniques: table.uniques.filter(isWhole),
    served: { name: table.name, columns: table.columns, view },
    hidden: view.hidden,
  };
}

/** The alternatives of a rule, without conditions that `isTrue` knows to be true. `undefined`: the rule holds on every row. */
export function withoutTrue(
  rule: Rule,
  isTrue: (column: string, match: Match) => boolean,
): Rule | undefined {
  const left = rule.map((alternative): Alternative => {
    const entries = Object.entries(alternative).filter(([name, match]) => !isTrue(name, match));
    return Object.fromEntries(entries);
  });
  return left.some((alternative) => Object.keys(alternative).length === 0) ? undefined : left;
}

/** By name, sorted: tables of memberships, and the referenced tables that a person must be able to read. */
export function watchedTables({ read, references, others }: Rights): string[] {
  const found = new Set<string>();
  /** The tables whose rules for reading were followed: those of memberships are not. */
  const followed = new Set<string>();
  /** `targetOf`: the table that a column refers to. */
  const follow = (rule: Rule | undefined, targetOf: (column: string) => string | undefined) => {
    for (const alternative of rule ?? [])
      for (const [column, match] of Object.entries(alternative)) reach(match, targetOf(column));
  };
  const reach = (match: Match, target: string | undefined) => {
    if (isMemberOf(match)) {
      found.add(match.memberOf);
      follow([match.where ?? {}], (column) => findTarget(match.memberOf, column));
    }
    if (!isReadable(match) || target === undefined || followed.has(target)) return;
    found.add(target);
    followed.add(target);
    follow(ownValue(others, target)?.read, (column) => findTarget(target, column));
  };
  const findTarget = (table: string, column: string) =>
    ownValue(others, table)?.columns.find(({ name }) => name === column)?.table;
  follow(read, (column) => ownValue(references, column));
  return [...found].sort();
}
