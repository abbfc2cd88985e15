/** The indexes that a table has, next to those of the form at this site. @module */

import { call, type Database } from "../../db/mod.ts";
import {
  builtIn,
  type Constraint,
  type FunctionSite,
  formAt,
  indexesOf,
  isNameOf,
  keysOf,
  type RecordedDefinition,
} from "../catalog/mod.ts";

export type IndexedTable = {
  name: string;
  stamp: number;
  definition: RecordedDefinition;
  /** The names of the built indexes. */
  indexes: string[];
};

/** The indexes of one table, or of all. */
export async function readIndexes(
  db: Database,
  wanted: string | null,
): Promise<FunctionSite & { tables: IndexedTable[] }> {
  return (await call(db, "read_indexes", { wanted })) as FunctionSite & { tables: IndexedTable[] };
}

/** The names of a constraint's indexes: of its form, those of them that are not built, and built ones of another form. */
type IndexState = { index: Constraint; wanted: string[]; missing: string[]; former: string[] };

export function listIndexStates(
  { name: table, definition, indexes }: Omit<IndexedTable, "stamp">,
  site: FunctionSite,
): IndexState[] {
  return [...keysOf(definition), ...indexesOf(definition)].map((index) => {
    const wanted = builtIn(index, formAt(site)).map(({ name }) => name);
    const missing = wanted.filter((name) => !indexes.includes(name));
    const former = indexes.filter((name) => !wanted.includes(name) && isNameOf(table, index, name));
    return { index, wanted, missing, former };
  });
}
