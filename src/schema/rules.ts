/**
 * The rules of a table as plain data: who reads, creates, updates and deletes which rows. Everything without a rule is denied.
 * Rules belong to one app's declaration of a table, never to the table.
 *
 * @module
 */
import { canonicalJson } from "../std/json.ts";

/** The person who calls, as a value of a uuid column. A uuid column is compared with no other value, except null. */
export const ME = "me";

export const ACTIONS = ["read", "create", "update", "delete"] as const;
export type Action = (typeof ACTIONS)[number];

export type RuleValue = string | number | boolean | null;
/** On a reference: the person has a row in the other table with the same reference, on which `where` holds. */
export type MemberOf = { readonly memberOf: string; readonly where?: Alternative };
/** On a reference: the person can read the referenced row. */
export type Readable = { readonly readable: true };
/** A list of values has no null. */
export type Match = RuleValue | readonly RuleValue[] | MemberOf | Readable;
/** All columns match. Without columns: every row of the app. */
export type Alternative = { readonly [column: string]: Match };
/** Any alternative, at least one. `[{}]` is every row of the app. */
export type Rule = readonly Alternative[];
/** `from` holds before the change, `to` after it. */
export type Change = { readonly from: Rule; readonly to: Rule };
/** The rules of one role. An absent action is denied. */
export type RoleRules = {
  readonly read?: Rule;
  readonly create?: Rule;
  readonly update?: Change;
  readonly delete?: Rule;
};
/** In its normal form: every list is sorted. Look names up with {@linkcode ownValue}: a role can be called `constructor`. */
export type TableRules = {
  /** By role. */
  readonly allow: Readonly<Record<string, RoleRules>>;
  /** The columns that the service fills with the person's id. */
  readonly owner?: readonly string[];
  /** The roles that read and write a column, by column. Other roles do neither. */
  readonly only?: Readonly<Record<string, readonly string[]>>;
  /** The roles that write a column, by column. Other roles only read it. */
  readonly setBy?: Readonly<Record<string, readonly string[]>>;
};

export function isMemberOf(match: Match): match is MemberOf {
  return isMatchObject(match) && Object.hasOwn(match, "memberOf");
}

export function isReadable(match: Match): match is Readable {
  return isMatchObject(match) && Object.hasOwn(match, "readable");
}

function isMatchObject(match: Match): match is MemberOf | Readable {
  return typeof match === "object" && match !== null && !Array.isArray(match);
}

/** Returns whether a rule allows every row of the app. */
export function allowsAll(rule: Rule | undefined): boolean {
  return rule?.some((alternative) => Object.keys(alternative).length === 0) === true;
}

/** The value of an object's own key. */
export function ownValue<Value>(
  object: Readonly<Record<string, Value>> | undefined,
  key: string,
): Value | undefined {
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The rules of a role; without any, all actions are denied. */
export function rulesOf(rules: TableRules | undefined, role: string): RoleRules {
  return ownValue(rules?.allow, role) ?? {};
}

/** The columns that a role neither reads nor writes. */
export function hiddenFrom(rules: TableRules | undefined, role: string): string[] {
  return listClosed(rules?.only, role);
}

/** The columns that a role reads and never sets: owners, and columns that only other roles set. */
export function fixedFor(rules: TableRules | undefined, role: string): string[] {
  const hidden = hiddenFrom(rules, role);
  const fixed = [...(rules?.owner ?? []), ...listClosed(rules?.setBy, role)];
  return [...new Set(fixed)].filter((column) => !hidden.includes(column)).sort(compareTexts);
}

function listClosed(protect: TableRules["only"], role: string): string[] {
  return Object.entries(protect ?? {}).flatMap(([column, roles]) =>
    roles.includes(role) ? [] : column,
  );
}

/** All rules of a role with the name of their action, in the order of the actions. */
export function listRules({
  read,
  create,
  update,
  delete: remove,
}: RoleRules): { readonly action: Action; readonly rule: Rule }[] {
  return [
    ...toRules("read", read),
    ...toRules("create", create),
    ...toRules("update", update?.from),
    ...toRules("update", update?.to),
    ...toRules("delete", remove),
  ];
}

function toRules(action: Action, rule: Rule | undefined) {
  return rule === undefined ? [] : [{ action, rule }];
}

export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The alternatives in their normal form: sorted, each once, and alone if one allows every row. */
export function normalizeRule(alternatives: readonly Alternative[]): Rule {
  if (allowsAll(alternatives)) return [{}];
  const texts = new Map(
    alternatives.map((alternative) => [canonicalJson(alternative), alternative]),
  );
  return [...texts].sort(([a], [b]) => compareTexts(a, b)).map(([, alternative]) => alternative);
}

/** An object with its keys sorted. A key can be `__proto__`. */

export function toSortedObject<Value>(
  entries: readonly (readonly [string, Value])[],
): Record<string, Value> {
  return Object.fromEntries([...entries].sort(([a], [b]) => compareTexts(a, b)));
}
