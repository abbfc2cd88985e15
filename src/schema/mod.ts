/**
 * The schema language: apps declare their tables, the compiler derives types, and the declarations are checked. Runs
 * anywhere and has no dependencies.
 *
 * @example
 * ```ts
 * import { defineSchema, type Insert, t } from "rowhouse/schema";
 *
 * const schema = defineSchema({
 *   projects: { name: t.string().required() },
 *   todos: t
 *     .model({
 *       title: t.string().required(),
 *       status: t.enum(["open", "done"]).required().default("open"),
 *       project: t.ref("projects", { onDelete: "cascade" }),
 *     })
 *     .index("project", "status"),
 * });
 * const todo: Insert<typeof schema, "todos"> = { title: "Water the plants" };
 * expect(todo.title).toBe("Water the plants");
 * ```
 * @module
 */
export {
  type Id,
  type IsoDate,
  type IsoTime,
  isDroppedValue,
  type Json,
  KINDS,
  type Kind,
  toDroppedValue,
} from "../kinds/mod.ts";
export { renameMembersColumn, renameRuleColumn, renameRuleTable } from "./changed_rules.ts";
export { checkRules } from "./check_rules.ts";
export type { AnyColumn, Column, Columns, DeclaredColumn, OptionalReference } from "./column.ts";
export * from "./definition.ts";
export {
  type Explained,
  explainRights,
  explainRules,
  listRights,
  listRoles,
} from "./explain_rules.ts";
export type { Insert, Row, TablesOf, Unique, Update } from "./infer.ts";
export type { AnyModel, Model } from "./model.ts";
export { findColumnNameIssue, findTableNameIssue } from "./names.ts";
export { sumDefaults } from "./read_column.ts";
export { readDefinition } from "./read_definition.ts";
export { findRuleColumn } from "./read_rule.ts";
export { countUpdated } from "./read_table.ts";
export { explainRuleChanges } from "./rule_changes.ts";
export { listRuleNotices } from "./rule_notices.ts";
export type {
  Action,
  Alternative,
  Change,
  Match,
  MemberOf,
  Readable,
  RoleRules,
  Rule,
  RuleValue,
  TableRules,
} from "./rules.ts";
export {
  ACTIONS,
  allowsAll,
  fixedFor,
  hiddenFrom,
  isMemberOf,
  isReadable,
  listRules,
  ME,
  ownValue,
  rulesOf,
} from "./rules.ts";
export type { Schema, TableSources } from "./schema.ts";
export { defineSchema } from "./schema.ts";
export { t } from "./t.ts";
export { toDefinition } from "./to_definition.ts";
export { findWidenedRules } from "./widened_rules.ts";
