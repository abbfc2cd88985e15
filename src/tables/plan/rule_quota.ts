/**
 * The limit of a rule with the rules that it follows: they become one condition, which doubles with each table that is followed
 * twice. Pure.
 *
 * @module
 */
import type { Detail } from "../../problem.ts";
import {
  type Alternative,
  isMemberOf,
  isReadable,
  listRules,
  type Match,
  QUOTAS,
  type Rule,
  rulesOf,
  type TableDefinition,
} from "../../schema/mod.ts";
import { quote } from "../../std/quote.ts";

type Tables = readonly TableDefinition[];

/** A detail for each rule that a push makes too long. One that was longer before can stay. */
export function findLongRules(before: Tables, now: Tables): Detail[] {
  const [former, current] = [before, now].map(countConditions);
  return [...(current ?? [])]
    .filter(([rule, { count }]) => {
      const earlier = former?.get(rule)?.count ?? 0;
      return count > QUOTAS.conditionsPerRule && count > earlier;
    })
    .map(([, { table, role, action, count }]) => ({
      path: `/${table}`,
      message: `Cannot allow the role ${quote(role)} to ${action} rows by a rule of ${count} conditions: at most ${QUOTAS.conditionsPerRule} are allowed, with those of the rules that it follows; follow fewer references`,
    }));
}

/** The conditions of the longest rule, with those of the rules that it follows. */
export function countLongestRule(tables: Tables): number {
  return Math.max(0, ...[...countConditions(tables).values()].map(({ count }) => count));
}

type Counted = { table: string; role: string; action: string; count: number };

function countConditions(tables: Tables): Map<string, Counted> {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const counted = new Map<string, Counted>();
  for (const role of new Set(tables.flatMap(({ rules }) => Object.keys(rules?.allow ?? {})))) {
    const countRule = makeCount(byName, role);
    for (const table of tables)
      for (const [index, { action, rule }] of listRules(rulesOf(table.rules, role)).entries()) {
        const count = countRule(table, rule);
        counted.set(JSON.stringify([table.name, role, action, index]), {
          ...{ table: table.name, role, action, count },
        });
      }
  }
  return counted;
}

/** Counts each table's rule for reading once, although the rules that follow it contain it many times. */
function makeCount(byName: ReadonlyMap<string, TableDefinition>, role: string) {
  const known = new Map<string, number>();
  const countReads = (name: string): number => {
    const count = known.get(name);
    if (count !== undefined) return count;
    const table = byName.get(name);
    const { read } = rulesOf(table?.rules, role);
    // A cycle is a conflict.
    known.set(name, 0);
    const found = table === undefined || read === undefined ? 0 : countRule(table, read);
    known.set(name, found);
    return found;
  };
  const countMatch = (table: TableDefinition, column: string, match: Match): number => {
    const target = table.columns.find(({ name }) => name === column)?.table;
    if (isReadable(match)) return 1 + (target === undefined ? 0 : countReads(target));
    const members = isMemberOf(match) ? byName.get(match.memberOf) : undefined;
    if (!isMemberOf(match) || members === undefined) return 1;
    return 1 + countAlternative(members, match.where ?? {});
  };
  const countAlternative = (table: TableDefinition, alternative: Alternative): number =>
    Object.entries(alternative).reduce(
      (sum, [column, match]) => sum + countMatch(table, column, match),
      0,
    );
  const countRule = (table: TableDefinition, rule: Rule): number =>
    rule.reduce((sum, alternative) => sum + countAlternative(table, alternative), 0);
  return countRule;
}
