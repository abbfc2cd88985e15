/** The tables whose rows decide which rows of a view a person sees. Pure. @module */

import { isMemberOf, isReadable, type Match, ownValue, type Rule } from "../../schema/mod.ts";
import type { View } from "./views.ts";

/** By name, sorted: tables of memberships, and the referenced tables that a person must be able to read. */
export function watchedTables({ read, references, others }: View): string[] {
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
