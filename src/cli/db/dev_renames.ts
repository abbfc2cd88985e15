/** The renames of the tables of `dev`: those of the project's migrations, and those that a person accepts. Pure. @module */
import type { Definition, NamedColumn } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { findReplaced } from "../../std/replaced.ts";
import { type Change, changeDefinition } from "../../tables/plan/change.ts";
import { findColumn, findTable } from "../../tables/plan/declared.ts";
import { type Declared, mergeDeclared } from "../../tables/plan/merge_table.ts";

/** What a person has decided. */
export type Answers = {
  /** The accepted renames. */
  readonly renames: readonly Rename[];
  /** The rejected renames: the name is new, and not that of the removed part. */
  readonly separate: readonly Rename[] | "all";
  /** The tables and columns whose rows can be dropped. */
  readonly drops: readonly string[] | "all";
};
export const NO_ANSWERS: Answers = { renames: [], separate: [], drops: [] };

/** Names as in `todos` and `todos.title`. */
export type Rename = { readonly from: string; readonly to: string };

type RenamePlan = {
  changes: Change[];
  /** Those that a person must decide. */
  open: Rename[];
};

type Schemas = {
  definition: Definition;
  /** The project's migrations, in order. */
  migrations: readonly Declared[];
};

/** The renames of the project's migrations that the tables lack, and those that the person has accepted. */
export function planRenames(
  present: Definition,
  { definition, migrations, answers }: Schemas & { answers: Answers },
): RenamePlan {
  const changes: Change[] = [];
  let now = present;
  const add = (change: Change) => {
    changes.push(change);
    now = changeDefinition(now, change);
  };
  for (const { name } of present.tables) {
    const { table: to } = follow({ table: name }, migrations);
    if (canRename(now.tables, definition.tables, name, to))
      add({ kind: "rename_table", table: name, to });
  }
  for (const { name: table, columns } of now.tables)
    for (const { name: column } of columns) {
      const { column: to = column } = follow({ table, column }, migrations);
      const declared = findTable(definition, table)?.columns ?? [];
      const own = findTable(now, table)?.columns ?? [];
      if (canRename(own, declared, column, to)) add({ kind: "rename_column", table, column, to });
    }
  const committed = mergeDeclared(migrations);
  // A teammate dropped the one and added the other.
  const isDecided = ({ from, to }: Rename) =>
    has(committed, to) && migrations.some((migration) => has(migration.definition, from));
  const isIn = (list: Answers["separate"], rename: Rename) =>
    list === "all" || list.some((other) => canonicalJson(other) === canonicalJson(rename));
  const candidates = findRenames(now, definition).filter((rename) => !isDecided(rename));
  const [accepted = [], others = []] = [true, false].map((wanted) =>
    candidates.filter((rename) => isIn(answers.renames, rename) === wanted),
  );
  for (const rename of accepted) add(toChange(rename));
  return { changes, open: others.filter((rename) => !isIn(answers.separate, rename)) };
}

type Name = { table: string; column?: string };

/** The name of a table or column after the renames of these migrations. */
function follow(name: Name, migrations: readonly Declared[]): Name {
  let { table, column } = name;
  for (const { change } of migrations) {
    if (change?.table !== table) continue;
    if (change.kind === "rename_table") table = change.to;
    if (change.kind === "rename_column" && change.column === column) column = change.to;
  }
  return column === undefined ? { table } : { table, column };
}

type Named = readonly { readonly name: string }[];

function canRename(now: Named, wanted: Named, from: string, to: string): boolean {
  const includes = (list: Named, name: string) => list.some((other) => other.name === name);
  return from !== to && includes(wanted, to) && !includes(wanted, from) && !includes(now, to);
}

/** One removed and one added table with the same columns, or of each kind one removed and one added column. */
function findRenames(now: Definition, { tables }: Definition): Rename[] {
  const table = findReplaced(now.tables, tables, (each) => canonicalJson(each.columns));
  const columns = tables.flatMap(({ name, columns: declared }) => {
    const own = findTable(now, name)?.columns ?? [];
    const isNew = (list: Named) => (column: NamedColumn) =>
      !list.some((other) => other.name === column.name);
    const [removed, added] = [own.filter(isNew(declared)), declared.filter(isNew(own))];
    return Object.values(Object.groupBy(removed, ({ kind }) => kind)).flatMap((ofKind) => {
      const found = findReplaced(
        ofKind,
        added.filter(({ kind }) => kind === ofKind[0]?.kind),
        ({ kind }) => kind,
      );
      if (found === undefined) return [];
      return { from: `${name}.${found.removed.name}`, to: `${name}.${found.added.name}` };
    });
  });
  const renamed = table && { from: table.removed.name, to: table.added.name };
  return [...(renamed === undefined ? [] : [renamed]), ...columns];
}

function has(definition: Definition, name: string): boolean {
  const [table = "", column] = name.split(".");
  if (column === undefined) return findTable(definition, table) !== undefined;
  return findColumn(definition, table, column) !== undefined;
}

function toChange({ from, to }: Rename): Change {
  const [table = "", column] = from.split(".");
  if (column === undefined) return { kind: "rename_table", table, to };
  return { kind: "rename_column", table, column, to: to.slice(to.indexOf(".") + 1) };
}
