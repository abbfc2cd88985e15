/** The sentences about rules that a push changes. Pure. @module */
import type { TableRules } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";

/** What changes for the roles of the app, one line each. */
export function explainChange(
  table: string,
  before: TableRules | undefined,
  now: TableRules | undefined,
): string[] {
  if (canonicalJson(before ?? null) === canonicalJson(now ?? null)) return [];
  if (before === undefined) return [`add rules of ${table}`];
  return [now === undefined ? `remove the rules of ${table}` : `change the rules of ${table}`];
}
