/**
 * Joins diverged histories: a service gets the missing steps and continues the project's history, whose
 * migrations then count as applied. Requires that the app then has exactly the tables and columns that the project declares;
 * otherwise nothing changes, and the error lists every difference. Pure.
 *
 * @module
 */

import type { Problem } from "../../problem.ts";
import type { Definition, NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { type Constraint, indexesOf, keysOf } from "../catalog/mod.ts";
import { type Conflict, REJECTIONS, SURPLUS } from "../conflicts.ts";
import { type CheckedMigration, checkChain, isApplied } from "../history/replayed_migration.ts";
import { renderPlan } from "../sql/ddl.ts";
import { makeMigration } from "../sql/migration.ts";
import type { PushState } from "../state.ts";
import { advanceState } from "./advanced_state.ts";
import { showValues } from "./compare.ts";
import { withoutRules } from "./merge_table.ts";
import { planPush } from "./plan.ts";
import { addViews } from "./plan_views.ts";
import { checkSize, NOTHING, type PreparedPush, type PrepareRequest } from "./prepare.ts";
import { incompatible } from "./rejections.ts";

export type Join = {
  /** The project's migrations after the last common migration, in order; at least one. */
  migrations: readonly CheckedMigration[];
  /** All current and former declarations of the project's schema and migrations. */
  declared: Definition;
};

type JoinRequest = Pick<PrepareRequest, "app" | "definition" | "options"> & { join: Join };

/**
 * The plan with the migration that joins the project's migrations; without a migration if they are already joined.
 *
 * @throws {Problem} incompatible_schema — with every remaining difference; edited_migration; diverged_history — the
 * service has changed since the comparison; journal_full
 */
export function prepareJoin(
  state: PushState,
  { app, definition, join, options }: JoinRequest,
): PreparedPush {
  const last = join.migrations.at(-1);
  if (last === undefined || isKnown(last, state)) {
    for (const migration of join.migrations) isApplied(migration, state.migrations);
    return { ...NOTHING, migration: null };
  }
  const joins = checkChain(join.migrations, state.migrations);
  const wanted = toWanted(app.id, { definition, declared: join.declared }, state);
  const { share, rejectsRules } = options;
  const planned = planPush(app.id, wanted, state, { share, rejectsRules });
  const plan = addViews(planned, { app, state });
  const after = advanceState(state, app, plan);
  const conflicts = [...plan.conflicts, ...findSurplus(app.id, join.declared, after)];
  if (conflicts.length > 0) throw unequal(conflicts);
  const rendered = renderPlan(plan);
  const previous = state.migrations.at(-1);
  const migration = makeMigration(rendered, { definition, joins: joins.at(-1), previous });
  checkSize(migration, { ...options, joins, state });
  return { ...rendered, migration, joins };
}

type Link = Pick<CheckedMigration, "seq" | "checksum">;

function isKnown({ seq, checksum }: Link, { migrations }: PushState): boolean {
  return migrations[seq - 1]?.checksum === checksum;
}

/** For tables of another app, only the project's current declaration; for other tables, all its declarations. */
function toWanted(
  appId: string,
  { definition, declared }: { definition: Definition; declared: Definition },
  state: PushState,
): Definition {
  const foreign = new Set(
    state.tables.filter(({ ownerAppId }) => ownerAppId !== appId).map(({ name }) => name),
  );
  const rules = new Map(definition.tables.map((table) => [table.name, table.rules]));
  const addRules = (table: TableDefinition): TableDefinition => {
    const own = rules.get(table.name);
    return own === undefined ? table : { ...table, rules: own };
  };
  const tables = [
    ...declared.tables
      .filter(({ name }) => !foreign.has(name))
      .map(withoutRules)
      .map(addRules),
    ...definition.tables.filter(({ name }) => foreign.has(name)),
  ];
  return { ...definition, tables: tables.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

/** Everything that the app has at the service but the project does not declare. */
function findSurplus(appId: string, declared: Definition, { tables }: PushState): Conflict[] {
  const uses = tables.flatMap((table) => table.uses.filter((use) => use.appId === appId));
  return uses.flatMap(({ definition: used }) => {
    const wanted = declared.tables.find(({ name }) => name === used.name);
    if (wanted !== undefined) return findSurplusParts(wanted, used);
    return [{ table: used.name, ...SURPLUS.part("no such table") }];
  });
}

function findSurplusParts(wanted: TableDefinition, used: TableDefinition): Conflict[] {
  const table = used.name;
  const columns = new Map(wanted.columns.map((column) => [column.name, column]));
  const constraints = new Set([...keysOf(wanted), ...indexesOf(wanted)].map(({ name }) => name));
  return [
    ...used.columns.flatMap((column) => {
      const declared = columns.get(column.name);
      const at = { table, column: column.name };
      return declared === undefined
        ? [{ ...at, ...SURPLUS.part("no such column") }]
        : findSurplusValues(at, declared, column);
    }),
    ...[...keysOf(used), ...indexesOf(used)]
      .filter(
        ({ name, columns: covered }) =>
          !constraints.has(name) && covered.every((name) => columns.has(name)),
      )
      .map((constraint) => ({ table, ...SURPLUS.part(`no ${showConstraint(constraint)}`) })),
  ];
}

type ColumnPath = Pick<Conflict, "table" | "column">;

function findSurplusValues(at: ColumnPath, wanted: NamedColumn, used: NamedColumn): Conflict[] {
  const values = wanted.values ?? [];
  if ((used.values ?? []).every((value) => values.includes(value))) return [];
  return [{ ...at, ...SURPLUS.values({ wanted: showValues(wanted), found: showValues(used) }) }];
}

function showConstraint({ kind, columns }: Constraint): string {
  return `${kind === "key" ? "unique constraint" : "index"} on (${columns.join(", ")})`;
}

function unequal(conflicts: readonly Conflict[]): Problem {
  const ordered = conflicts.toSorted((a, b) =>
    a.table < b.table ? -1 : a.table > b.table ? 1 : 0,
  );
  return incompatible(ordered, REJECTIONS.differences(conflicts.length));
}
