/**
 * The functions of views in a push. A view is the rights of an app's roles on one table, and depends on the rules of several: a
 * push compares the views of all tables of the app. It drops the functions of a view that no longer exists in its transaction,
 * because they can allow more than the new rules.
 *
 * @module
 */
import {
  checkRules,
  explainRuleChanges,
  findWidenedRules,
  type Issue,
  listRoles,
  listRuleNotices,
  readDefinition,
  type TableDefinition,
} from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { hashColumnSet, listWalks, type ViewSet, viewSetsOf } from "../catalog/mod.ts";
import { type Conflict, RULES } from "../conflicts.ts";
import type { PushingApp } from "../push_key.ts";
import type { PushState, TableState } from "../state.ts";
import { advanceState } from "./advanced_state.ts";
import { type Change, changeTable } from "./change.ts";
import { withoutRules } from "./merge_table.ts";
import { overQuota } from "./rejections.ts";
import { findLongRules } from "./rule_quota.ts";
import type { Plan, Step } from "./step.ts";

/** The plan, and the steps that its changes require of views. */
export function addViews(
  plan: Plan,
  {
    app,
    state,
    change,
  }: { app: Pick<PushingApp, "id" | "slug">; state: PushState; change?: Change | undefined },
): Plan {
  if (plan.conflicts.length > 0) return plan;
  if (plan.steps.length === 0)
    return { ...plan, notes: [...plan.notes, ...describeClosed(app, state)] };
  const next = advanceState(state, app, plan);
  const used = listUsed(app.id, next);
  const conflicts = findRuleConflicts(used);
  if (conflicts.length > 0) return { ...plan, conflicts };
  const long = findLongRules(listUsed(app.id, state), used);
  if (long.length > 0) throw overQuota(long);
  const sentences = planSentences(app.id, state, next);
  const isOwn = state.tables.some(
    ({ name, ownerAppId }) => name === change?.table && ownerAppId === app.id,
  );
  const widened = planWidened(
    // A change of another app's table changes nothing here.
    isOwn ? change : undefined,
    findFormer(change, { used: listUsed(app.id, state), plan }),
    used,
  );
  const find = (name: string) => {
    const table = next.tables.find((known) => known.name === name);
    return table && { definition: table.definition, isOwn: table.ownerAppId === app.id };
  };
  const notices =
    sentences.length === 0
      ? []
      : [
          ...listRuleNotices({ tables: used }, find).map(({ message }) => `RULES: ${message}`),
          ...describeLostRoles(app.id, state, next),
          ...describeClosed(app, next),
        ];
  // The record of a push follows its other steps.
  const isRecord = ({ kind }: Step) => RECORDS.has(kind);
  return {
    ...plan,
    steps: [
      ...plan.steps.filter((step) => !isRecord(step)),
      ...planViews(app.id, state, next),
      ...planWalks(app.id, state, next),
      ...sentences,
      ...widened,
      ...plan.steps.filter(isRecord),
    ],
    notes: [...plan.notes, ...widened.map(describeWidened), ...notices],
  };
}

/** Roles that the rules no longer name, although people have them. */
function describeLostRoles(appId: string, before: PushState, next: PushState): string[] {
  const [former = [], current = []] = [before, next].map((state) =>
    listRoles(listUsed(appId, state)),
  );
  return former
    .filter((role) => !current.includes(role) && next.people.roles.includes(role))
    .map(
      (role) =>
        `RULES: people have the role ${role}, which no rule names anymore: they can neither read nor write rows`,
    );
}

/** Rules that no page can use yet. */
function describeClosed(app: Pick<PushingApp, "id" | "slug">, state: PushState): string[] {
  const hasRules = listUsed(app.id, state).some(({ rules }) => rules !== undefined);
  if (!hasRules || state.people.isOpen) return [];
  return [
    `RULES: browser access is off for ${app.slug}, so no page can use the rules: an operator turns it on with rowhouse admin set-app ${quoteForShell(app.slug)} browser on`,
  ];
}

const RECORDS: ReadonlySet<Step["kind"]> = new Set(["record_table", "register", "record_change"]);

/** What changes for people, for the reviewer of the plan or of the migration. */
function planSentences(appId: string, before: PushState, next: PushState): Step[] {
  const [former, current] = [before, next].map((state) => listUsed(appId, state));
  const tables = [
    ...new Set([former, current].flatMap((used) => used?.map(({ name }) => name) ?? [])),
  ];
  return tables.sort().flatMap((table) => {
    const isThis = ({ name }: TableDefinition) => name === table;
    return explainRuleChanges(former?.filter(isThis) ?? [], current?.filter(isThis) ?? []).map(
      (sentence): Step => ({ kind: "change_rule", table, sentence: toLine(sentence) }),
    );
  });
}

type Widening = Extract<Step, { kind: "widen_rules" }>;

/**
 * The tables before the plan. If a migration drops a column and adds others, its rules count as new: they can compare, also by
 * memberships, the values that the new columns get.
 */
function findFormer(
  change: Change | undefined,
  { used, plan }: { used: readonly TableDefinition[]; plan: Plan },
): readonly TableDefinition[] {
  const replaces =
    change?.kind === "drop_column" && plan.steps.some(({ kind }) => kind === "add_column");
  return replaces ? used.map(withoutRules) : used;
}

/** The rules that give people more than before. Those of renamed parts are the same rules. */
function planWidened(
  change: Change | undefined,
  former: readonly TableDefinition[],
  used: readonly TableDefinition[],
): Widening[] {
  const before =
    change === undefined ? former : former.flatMap((table) => changeTable(table, change) ?? []);
  const findRules = (tables: readonly TableDefinition[], name: string) =>
    tables.find((table) => table.name === name)?.rules;
  return findWidenedRules(before, used).flatMap(({ table, rights }): Widening[] => {
    const after = findRules(used, table);
    if (after === undefined) return [];
    return [
      { kind: "widen_rules", table, rights, before: findRules(before, table) ?? null, after },
    ];
  });
}

function describeWidened({ table, rights }: Widening): string {
  return toLine(`WIDENED: the rules of ${table} give people more: ${rights.join("; ")}`);
}

/** A migration has a line for each step, and constants in rules can be any text. */
function toLine(sentence: string): string {
  return sentence.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ");
}

/** The rules must also fit tables that the app no longer declares, and a table after an explicit change. */
function findRuleConflicts(tables: readonly TableDefinition[]): Conflict[] {
  if (tables.every(({ rules }) => rules === undefined)) return [];
  const others = new Set(findIssues(tables.map(withoutRules)).map(canonicalJson));
  return findIssues(tables)
    .filter((issue) => !others.has(canonicalJson(issue)))
    .map(({ table = "", column, message }) => ({
      table,
      ...(column === undefined ? {} : { column }),
      ...RULES.broken(message),
    }));
}

function findIssues(tables: readonly TableDefinition[]): readonly Issue[] {
  const reading = readDefinition({ version: 1, tables });
  return "issues" in reading ? reading.issues : checkRules(reading.definition);
}

/** Views are named by their hashes, so a view with other rights is another view. */
function planViews(appId: string, before: PushState, next: PushState): Step[] {
  const wanted = listViews(appId, next);
  const dropped = before.tables.flatMap(({ name, views }): Step[] => {
    const known = new Set(wanted.get(name)?.sets.map(hashColumnSet));
    const hashes = ofApp(appId, views)
      .map(({ hash }) => hash)
      .filter((hash) => !known.has(hash));
    return hashes.length === 0 ? [] : [{ kind: "drop_views", table: name, hashes }];
  });
  const created = [...wanted].flatMap(([name, { sets, table }]): Step[] => {
    const recorded = before.tables.find((other) => other.name === name)?.views ?? [];
    const known = new Set(ofApp(appId, recorded).map(({ hash }) => hash));
    const missing = sets.filter((set) => !known.has(hashColumnSet(set)));
    return missing.length === 0
      ? []
      : [{ kind: "create_views", table: name, sets: missing, whole: table.definition }];
  });
  return [...created, ...dropped];
}

/** The views of all tables of the app. */
function listViews(
  appId: string,
  state: PushState,
): ReadonlyMap<string, { sets: ViewSet[]; table: TableState }> {
  const definitions = listUsed(appId, state);
  return new Map(
    state.tables.map((table) => [
      table.name,
      { sets: viewSetsOf(appId, definitions, table.name), table },
    ]),
  );
}

/** The functions of views that remain, of every app, follow the indexes of the table. */
function planWalks(appId: string, before: PushState, next: PushState): Step[] {
  const wanted = listViews(appId, next);
  return next.tables.flatMap(({ name, definition, views }): Step[] => {
    const old = before.tables.find((table) => table.name === name);
    if (old === undefined) return [];
    const left = new Set(wanted.get(name)?.sets.map(hashColumnSet));
    const sets = views
      .filter((view) => view.appId !== appId || left.has(view.hash))
      .map(({ set }) => set)
      .filter(
        (set) =>
          canonicalJson(listWalks(set, old.definition)) !==
          canonicalJson(listWalks(set, definition)),
      );
    return sets.length === 0
      ? []
      : [{ kind: "renew_functions", table: name, sets, whole: definition }];
  });
}

/** Everything that the app uses, with its rules. PostgreSQL stores their keys in another order, which sentences must not show. */
function listUsed(appId: string, { tables }: PushState): TableDefinition[] {
  return tables
    .flatMap(({ uses }) => ofApp(appId, uses))
    .map(({ definition }) => JSON.parse(canonicalJson(definition)) as TableDefinition);
}

function ofApp<Of extends { appId: string }>(appId: string, list: readonly Of[]): Of[] {
  return list.filter((one) => one.appId === appId);
}
