/** Definitions with rules for tests, from short declarations. Unlike the builders, rules are data here. @module */
import { readDefinition, type TableDefinition } from "../../src/schema/mod.ts";

type Declared = {
  /** The columns by name: a kind, or its parts. */
  readonly columns: Readonly<Record<string, string | object>>;
  readonly rules?: object;
  readonly indexes?: readonly (readonly string[])[];
  readonly uniques?: readonly (readonly string[])[];
};

/** The tables of an app. @throws if a declaration is not valid */
export function declareRules(tables: Readonly<Record<string, Declared>>): TableDefinition[] {
  const list = Object.entries(tables).map(([name, { columns, ...rest }]) => ({
    ...{ name, indexes: [], uniques: [], ...rest },
    columns: Object.entries(columns).map(([column, parts]) => ({
      ...{ name: column, required: false, unique: false, index: false },
      ...(typeof parts === "string" ? { kind: parts } : parts),
    })),
  }));
  const reading = readDefinition({ version: 1, tables: list });
  if ("issues" in reading) throw new Error(JSON.stringify(reading.issues, null, 2));
  return [...reading.definition.tables];
}

/** The table with this name. */
export function tableOf(tables: readonly TableDefinition[], name: string): TableDefinition {
  const table = tables.find((each) => each.name === name);
  if (table === undefined) throw new Error(`No table ${name}`);
  return table;
}
