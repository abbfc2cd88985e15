/**
 * The errors of rules that no table has alone: other tables, other roles, and rights that would reach further than they say. Pure.
 * Never reads an app's earlier declarations.
 *
 * @module
 */
import { isPerson, isReference } from "../kinds/mod.ts";
import { quote } from "../std/quote.ts";
import type { Issue, NamedColumn, TableDefinition } from "./definition.ts";
import { type IssueLocation, type Issues, makeIssues } from "./issues.ts";
import { findRuleColumn, readWhereValues } from "./read_rule.ts";
import {
  type Action,
  allowsAll,
  compareTexts,
  isMemberOf,
  isReadable,
  listRules,
  type Match,
  type MemberOf,
  ownValue,
  type RoleRules,
  rulesOf,
  type TableRules,
} from "./rules.ts";

type Tables = readonly TableDefinition[];

/**
 * All errors of the rules of an app's tables, which a push rejects. The tables are those of one declaration, read before by
 * `readDefinition`, or those of an app after the declaration: a column that is no longer declared can make a membership ambiguous.
 *
 * @example
 * ```ts
 * import { checkRules, defineSchema, t, toDefinition } from "rowhouse/schema";
 *
 * const reading = toDefinition(
 *   defineSchema({ todos: t.model({ title: t.string() }).allow("member", { delete: true }) }),
 * );
 * expect(reading).toEqual({
 *   issues: [{ table: "todos", message: 'Cannot allow the role "member" to delete rows that it cannot read: add the rule "read"' }],
 * });
 * ```
 */
export function checkRules({ tables }: { readonly tables: Tables }): readonly Issue[] {
  const issues = makeIssues();
  if (tables.every(({ rules }) => rules === undefined)) return [];
  const all = makeRuleTables(tables);
  for (const table of tables)
    if (table.rules !== undefined) checkTable(table, table.rules, all, issues);
  checkCascades(all, issues);
  checkCycles(all, issues);
  return issues.list();
}

function checkTable(
  table: TableDefinition,
  rules: TableRules,
  all: RuleTables,
  issues: Issues,
): void {
  const at = { table: table.name };
  for (const [role, allowed] of Object.entries(rules.allow)) {
    checkNeedsRead(role, allowed, at, issues);
    checkCreates(role, allowed, table, issues);
    for (const { column, match } of listMatches(table, allowed))
      if (isMemberOf(match))
        checkMembership(match, column, { ...at, column: column.name }, all, issues);
  }
  for (const key of ["only", "setBy"] as const)
    for (const [column, roles] of Object.entries(rules[key] ?? {}))
      for (const role of roles)
        if (!all.roles.has(role))
          issues.add(
            { ...at, column },
            `Cannot use the role ${quote(role)} in .${key}(): no .allow() of this schema names it`,
          );
}

/** A row that a person cannot read does not exist for that person. */
function checkNeedsRead(role: string, rules: RoleRules, at: IssueLocation, issues: Issues): void {
  if (rules.read !== undefined) return;
  for (const action of ["update", "delete"] as const)
    if (rules[action] !== undefined)
      issues.add(
        at,
        `Cannot allow the role ${quote(role)} to ${action} rows that it cannot read: add the rule "read"`,
      );
}

/** A required column that the role never sets, and that nothing else fills. */
function checkCreates(
  role: string,
  rules: RoleRules,
  table: TableDefinition,
  issues: Issues,
): void {
  if (rules.create === undefined) return;
  const { owner = [], only, setBy } = table.rules ?? {};
  for (const { name, required, default: initial } of table.columns) {
    if (!required || initial !== undefined || owner.includes(name)) continue;
    const key = (["only", "setBy"] as const).find(
      (key) => ownValue({ only, setBy }[key], name)?.includes(role) === false,
    );
    if (key === undefined) continue;
    issues.add(
      { table: table.name, column: name },
      `Cannot allow the role ${quote(role)} to create rows: the column is required, has no default, and .${key}() prevents the role from setting it`,
    );
  }
}

// Memberships.

/** The table of a membership with its columns for the person and for the reference; `undefined` if it has not exactly one of each. */
function findMembership(
  tables: Tables,
  column: Pick<NamedColumn, "table">,
  { memberOf }: Pick<MemberOf, "memberOf">,
): { table: TableDefinition; person: string; ref: string } | undefined {
  const table = tables.find(({ name }) => name === memberOf);
  const [person, secondPerson] = table?.columns.filter(isPerson) ?? [];
  const [ref, secondRef] =
    table?.columns.filter((each) => isReference(each) && each.table === column.table) ?? [];
  if (table === undefined || person === undefined || ref === undefined) return undefined;
  if (secondPerson !== undefined || secondRef !== undefined) return undefined;
  return { table, person: person.name, ref: ref.name };
}

function checkMembership(
  match: MemberOf,
  column: NamedColumn,
  at: IssueLocation,
  { byName }: RuleTables,
  issues: Issues,
): void {
  const start = `Cannot use memberOf ${quote(match.memberOf)}`;
  const table = byName.get(match.memberOf);
  if (table === undefined) {
    issues.add(at, `${start}: this schema declares no such table`);
    return;
  }
  const found = findMembership([table], column, match);
  if (found === undefined) {
    const people = table.columns.filter(isPerson).length;
    const refs = table.columns.filter((each) => each.table === column.table).length;
    const target = quote(column.table ?? "");
    issues.add(
      at,
      `${start}: the table must have exactly one uuid column, the person, and one reference to ${target}, not ${people} and ${refs}`,
    );
    return;
  }
  for (const [name, value] of Object.entries(match.where ?? {}))
    readWhereValues(value, { name, table, at, start, issues });
}

// Readable rows.

/** A rule "read" that follows a reference reads the rule of the other table: a cycle has no end. Reports one cycle for each role. */
function checkCycles(all: RuleTables, issues: Issues): void {
  for (const role of [...all.roles].sort(compareTexts)) {
    const cycle = findCycle(role, all);
    if (cycle === undefined) continue;
    const [table = ""] = cycle;
    const path = cycle.length > CYCLE_MAX ? [...cycle.slice(0, CYCLE_MAX), "…", table] : cycle;
    issues.add(
      { table },
      `Cannot use readable for the role ${quote(role)}: ${path.join(" → ")} is a cycle`,
    );
  }
}

/** Max tables of a cycle in a message. */
const CYCLE_MAX = 8;

function findCycle(role: string, { tables, byName }: RuleTables): string[] | undefined {
  const done = new Set<string>();
  // In the order of the visits.
  const path = new Set<string>();
  const visit = (table: TableDefinition): string[] | undefined => {
    if (path.has(table.name)) {
      const names = [...path];
      return [...names.slice(names.indexOf(table.name)), table.name];
    }
    if (done.has(table.name)) return undefined;
    done.add(table.name);
    path.add(table.name);
    const { read } = rulesOf(table.rules, role);
    for (const { column, match } of listMatches(table, read === undefined ? {} : { read })) {
      const target = byName.get(column.table ?? "");
      const cycle = isReadable(match) && target !== undefined ? visit(target) : undefined;
      if (cycle !== undefined) return cycle;
    }
    path.delete(table.name);
    return undefined;
  };
  for (const table of tables) {
    const cycle = visit(table);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

/** Deletes that reach further than the deleted row: a delete must not delete rows that the person could not delete. */
function checkCascades({ tables, references }: RuleTables, issues: Issues): void {
  for (const { name, rules } of tables)
    for (const [role, { delete: remove }] of Object.entries(rules?.allow ?? {})) {
      if (remove === undefined) continue;
      for (const { table, column } of references.get(name) ?? []) {
        if (column.onDelete !== "cascade") continue;
        if (mayDeleteAll(rulesOf(table.rules, role), { table, column })) continue;
        issues.add(
          { table: name },
          `Cannot allow the role ${quote(role)} to delete rows: the delete also deletes rows of ${table.name} by ${quote(column.name)}, which the role must be allowed to read and delete without a condition`,
        );
      }
    }
}

/** Rows that inherit from the deleted row are readable, because the deleted row is. */
function mayDeleteAll({ read, delete: remove }: RoleRules, { column }: Reference): boolean {
  const inherits = read?.some((alternative) => {
    const [[name, match] = ["", null], second] = Object.entries(alternative);
    return second === undefined && name === column.name && isReadable(match);
  });
  return allowsAll(remove) && (allowsAll(read) || inherits === true);
}

export type RuleTables = {
  readonly tables: readonly TableDefinition[];
  readonly byName: ReadonlyMap<string, TableDefinition>;
  /** Every role that a rule allows something. */
  readonly roles: ReadonlySet<string>;
  readonly references: ReadonlyMap<string, readonly Reference[]>;
};
export type Reference = { readonly table: TableDefinition; readonly column: NamedColumn };

export function makeRuleTables(tables: readonly TableDefinition[]): RuleTables {
  const references = new Map<string, Reference[]>();
  for (const table of tables)
    for (const column of table.columns) {
      if (column.table === undefined) continue;
      const found = references.get(column.table) ?? [];
      found.push({ table, column });
      references.set(column.table, found);
    }
  return {
    tables,
    byName: new Map(tables.map((table) => [table.name, table])),
    roles: new Set(tables.flatMap(({ rules }) => Object.keys(rules?.allow ?? {}))),
    references,
  };
}

/** Each column that a role's rules compare, once for each comparison. */
export function listMatches(
  table: TableDefinition,
  rules: RoleRules,
): { readonly action: Action; readonly column: NamedColumn; readonly match: Match }[] {
  return listRules(rules).flatMap(({ action, rule }) =>
    rule.flatMap((alternative) =>
      Object.entries(alternative).flatMap(([name, match]) => {
        const column = findRuleColumn(table.columns, name);
        return column === undefined ? [] : [{ action, column, match }];
      }),
    ),
  );
}
