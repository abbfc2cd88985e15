/**
 * The tables of `dev`'s database, changed step by step. What would contradict the project is set aside under another name, and
 * what rows do not fit stays looser: no step loses a row.
 *
 * @module
 */
import { Problem } from "../../problem.ts";
import type { Definition, NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { isSubsequence } from "../../std/sort_lists.ts";
import { type Change, changeDefinition, toColumnType } from "../../tables/plan/change.ts";
import { mergeDeclared, withoutRules } from "../../tables/plan/merge_table.ts";
import { findColumn, findTable } from "../db/change_schema.ts";
import type { Pushed, SchemaService } from "../db/schema_service.ts";

export type DevTables = {
  /** All tables of the app, with former columns and values. */
  readonly now: () => Definition;
  /** Whether another app of this `dev` owns the table: no step changes it. */
  readonly isForeign: (table: string) => boolean;
  readonly apply: (change: Change) => Promise<void>;
  /** Whether the change was possible. */
  readonly tryApply: (change: Change) => Promise<boolean>;
  /** Declares these tables, looser where rows do not fit. */
  readonly define: (definition: Definition) => Promise<void>;
  readonly setColumnAside: (table: string, column: string) => Promise<void>;
  readonly setTableAside: (table: string) => Promise<void>;
  /** The steps and what was set aside, since the last call. */
  readonly takeLines: () => DevLines;
  /** The looser definition that a rejection asks for; `undefined` if nothing can be looser. */
  readonly fit: (
    error: unknown,
    definition: Definition,
    committed: Definition,
  ) => Promise<Definition | undefined>;
};

type DevLines = { pushed: Pick<Pushed, "steps" | "notes">[]; aside: string[] };

type DevOptions = {
  service: Pick<SchemaService, "push">;
  tables: Definition;
  foreign: ReadonlySet<string>;
};

/** More than the columns of a table. */
const MAX_TRIES = 250;

export function openDevTables({ service, tables, foreign }: DevOptions): DevTables {
  let state = tables;
  let lines: DevLines = { pushed: [], aside: [] };
  const isForeign = (table: string) => foreign.has(table);

  const push = async (step: Parameters<typeof service.push>[0]["steps"][number]) => {
    const { steps, notes } = await service.push({ steps: [step] });
    lines.pushed.push({ steps, notes });
  };

  const apply = async (change: Change) => {
    await push({ kind: "change", change });
    state = changeDefinition(state, change);
  };

  const tryApply = async (change: Change) => {
    // A column that rules use cannot be changed. The last push of the schema brings its rules.
    if (state.tables.some(({ rules }) => rules !== undefined))
      await declare({ version: 1, tables: state.tables.map(withoutRules) });
    try {
      await apply(change);
      return true;
    } catch (error) {
      if (!isUnfit(error)) throw error;
      return false;
    }
  };

  const declare = async (definition: Definition) => {
    await push({ kind: "define", definition });
    state = mergeDeclared([{ definition: state }, { definition }]);
  };

  const define = async (definition: Definition) => {
    let wanted = definition;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      try {
        return await declare(wanted);
      } catch (error) {
        const looser = loosen(error, { definition: wanted, state, committed: wanted });
        if (looser === undefined) throw error;
        lines.aside.push(...looser.kept);
        wanted = looser.definition;
      }
    }
    throw new Error("A definition that can always be looser");
  };

  const setColumnAside = async (table: string, column: string) => {
    const found = findTable(state, table);
    const to = findFreeName(column, found?.columns ?? [], MAX_COLUMN_CHARS);
    await apply({ kind: "rename_column", table, column, to });
    lines.aside.push(`dev keeps its own ${table}.${column} as ${table}.${to}`);
    const renamed = findColumn(state, table, to);
    // The project's creates do not have it.
    if (renamed?.required === true) await declare(withColumn(state, table, toOptional(renamed)));
  };

  const setTableAside = async (table: string) => {
    const to = findFreeName(table, state.tables, MAX_TABLE_CHARS);
    await apply({ kind: "rename_table", table, to });
    lines.aside.push(`dev keeps its own table ${table} as ${to}`);
  };

  return {
    now: () => state,
    ...{ isForeign, apply, tryApply, define, setColumnAside, setTableAside },
    takeLines: () => {
      const taken = lines;
      lines = { pushed: [], aside: [] };
      return taken;
    },
    fit: async (error, definition, committed) => {
      if (!isUnfit(error)) return undefined;
      const fitted = await retypeBack(definition, committed);
      const looser = loosen(error, { definition, state, committed });
      lines.aside.push(...(looser?.kept ?? []));
      return looser?.definition ?? (fitted ? definition : undefined);
    },
  };

  /** Columns of another type than the project's, such as those of an experiment or of another branch. */
  async function retypeBack(definition: Definition, committed: Definition): Promise<boolean> {
    let isChanged = false;
    for (const { name: table, columns } of definition.tables.filter(({ name }) => !isForeign(name)))
      for (const column of columns) {
        const own = findColumn(state, table, column.name);
        const declared = findColumn(committed, table, column.name);
        if (own === undefined || declared === undefined || isSameType(own, column)) continue;
        if (!isSameType(declared, column)) continue;
        const type = toColumnType(column);
        const change = { kind: "retype_column", table, column: column.name, type } as const;
        if (!(await tryApply(change))) await setColumnAside(table, column.name);
        isChanged = true;
      }
    return isChanged;
  }
}

export function isUnfit(error: unknown): error is Problem {
  return error instanceof Problem && error.code === "incompatible_schema";
}

export function isSameType(one: NamedColumn, other: NamedColumn): boolean {
  return one.kind === other.kind && one.table === other.table;
}

const MAX_COLUMN_CHARS = 63;
const MAX_TABLE_CHARS = 48;

/** `title_dev`, or `title_dev2` if that is in use too. Names can differ in more than case only. */
function findFreeName(name: string, used: readonly { name: string }[], maxChars: number): string {
  const taken = new Set(used.map((other) => other.name.toLowerCase()));
  for (let number = 1; ; number++) {
    const end = `_dev${number === 1 ? "" : number}`;
    // Tables must not contain two underscores in a row.
    const free = name.slice(0, maxChars - end.length).replace(/_+$/, "") + end;
    if (!taken.has(free.toLowerCase())) return free;
  }
}

/** The definition with a change of one table. */
function withTable(
  definition: Definition,
  name: string,
  change: (table: TableDefinition) => TableDefinition,
): Definition {
  const tables = definition.tables.map((table) => (table.name === name ? change(table) : table));
  return { ...definition, tables };
}

/** The definition with another declaration of one column. */
function withColumn(definition: Definition, table: string, column: NamedColumn): Definition {
  return withTable(definition, table, (other) => {
    const isThere = other.columns.some(({ name }) => name === column.name);
    const columns = isThere
      ? other.columns.map((each) => (each.name === column.name ? column : each))
      : [...other.columns, column];
    return { ...other, columns };
  });
}

function toOptional(column: NamedColumn): NamedColumn {
  return { ...column, required: false };
}

type Loosening = { definition: Definition; state: Definition; committed: Definition };
type Looser = { definition: Definition; kept: string[] };

/**
 * The definition, looser at each column that a rejection names, as far as the project's migrations and not an edit of the schema
 * ask for more than the rows have. `undefined` if nothing is looser.
 */
function loosen(error: unknown, { definition, ...known }: Loosening): Looser | undefined {
  if (!isUnfit(error)) return undefined;
  const kept: string[] = [];
  let looser = definition;
  for (const { path } of error.details ?? []) {
    const [table = "", column = ""] = path.split("/").slice(-2);
    const found = loosenColumn({ ...known, definition: looser }, table, column);
    if (found === undefined) continue;
    looser = found.definition;
    kept.push(...found.kept);
  }
  return canonicalJson(looser) === canonicalJson(definition)
    ? undefined
    : { definition: looser, kept };
}

function loosenColumn(
  { definition, state, committed }: Loosening,
  table: string,
  name: string,
): Looser | undefined {
  const own = findColumn(state, table, name);
  const column = findColumn(definition, table, name);
  const project = findTable(committed, table);
  const declared = findColumn(committed, table, name);
  if (project === undefined) return undefined;
  if (column === undefined)
    return own === undefined || declared !== undefined
      ? undefined
      : {
          definition: withColumn(definition, table, toOptional(own)),
          kept: [`${table}.${name} is only in dev, and optional`],
        };
  if (declared === undefined) return undefined;
  if (column.required && declared.required && own?.required !== true)
    return {
      definition: withColumn(definition, table, toOptional(column)),
      kept: [`${table}.${name} stays optional in dev: rows have no value`],
    };
  if (own?.values !== undefined && !isSubsequence(own.values, column.values ?? [])) {
    const values = findColumn(
      mergeDeclared([{ definition: state }, { definition }]),
      table,
      name,
    )?.values;
    return {
      definition: withColumn(definition, table, { ...column, ...(values && { values }) }),
      kept: [`${table}.${name} keeps all its values in dev`],
    };
  }
  return withoutUniques({ definition, state, committed }, table, name);
}

/** Without the project's new unique constraints of a column. */
function withoutUniques(
  { definition, state }: Loosening,
  table: string,
  name: string,
): Looser | undefined {
  const recorded = findTable(state, table);
  const isKept = (list: readonly string[]) =>
    !list.includes(name) ||
    recorded?.uniques.some((other) => canonicalJson(other) === canonicalJson(list)) === true;
  const wasUnique = findColumn(state, table, name)?.unique === true;
  return {
    definition: withTable(definition, table, (other) => ({
      ...other,
      columns: other.columns.map((each) =>
        each.name === name ? { ...each, unique: each.unique && wasUnique } : each,
      ),
      uniques: other.uniques.filter(isKept),
    })),
    kept: [`${table}.${name} is not unique in dev: rows share values`],
  };
}
