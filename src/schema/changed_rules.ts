/** Rules after an explicit change of a table. @module */
import {
  type Alternative,
  compareTexts,
  isMemberOf,
  type MemberOf,
  normalizeRule,
  type RoleRules,
  type Rule,
  type TableRules,
  toSortedObject,
} from "./rules.ts";

export function renameRuleColumn(rules: TableRules, from: string, to: string): TableRules {
  const rename = (name: string) => (name === from ? to : name);
  const renameKeys = <Value>(object: Readonly<Record<string, Value>>) =>
    toSortedObject(Object.entries(object).map(([name, value]) => [rename(name), value] as const));
  return {
    ...mapAlternatives(rules, renameKeys),
    ...(rules.owner && { owner: rules.owner.map(rename).sort(compareTexts) }),
    ...(rules.only && { only: renameKeys(rules.only) }),
    ...(rules.setBy && { setBy: renameKeys(rules.setBy) }),
  };
}

export function renameRuleTable(rules: TableRules, from: string, to: string): TableRules {
  return mapMemberships(rules, (match) =>
    match.memberOf === from ? { ...match, memberOf: to } : match,
  );
}

export function renameMembersColumn(
  rules: TableRules,
  { table, from, to }: { readonly table: string; readonly from: string; readonly to: string },
): TableRules {
  return mapMemberships(rules, (match) => {
    if (match.memberOf !== table || match.where === undefined) return match;
    const where = Object.entries(match.where).map(
      ([name, value]) => [name === from ? to : name, value] as const,
    );
    return { ...match, where: toSortedObject(where) };
  });
}

function mapMemberships(rules: TableRules, map: (match: MemberOf) => MemberOf): TableRules {
  return mapAlternatives(rules, (alternative) =>
    Object.fromEntries(
      Object.entries(alternative).map(
        ([name, match]) => [name, isMemberOf(match) ? map(match) : match] as const,
      ),
    ),
  );
}

function mapAlternatives(
  rules: TableRules,
  map: (alternative: Alternative) => Alternative,
): TableRules {
  const mapRule = (rule: Rule) => normalizeRule(rule.map(map));
  const mapRole = ({ read, create, update, delete: remove }: RoleRules): RoleRules => ({
    ...(read && { read: mapRule(read) }),
    ...(create && { create: mapRule(create) }),
    ...(update && { update: { from: mapRule(update.from), to: mapRule(update.to) } }),
    ...(remove && { delete: mapRule(remove) }),
  });
  const allow = Object.entries(rules.allow).map(([role, of]) => [role, mapRole(of)] as const);
  return { ...rules, allow: Object.fromEntries(allow) };
}
