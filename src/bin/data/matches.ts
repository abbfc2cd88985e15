/** References whose values in the file are those of a unique column: looks up their ids in the table. @module */
import type { NamedColumn, TableDefinition } from "../../dsl/mod.ts";
import { type Match, readValue, toMatchKey } from "../../rows/mod.ts";
import { UsageError } from "../cli/command.ts";
import { type App, listAll } from "./app.ts";

const EXPECTED = "must be column=table.column, such as project=projects.name";

/** @throws {UsageError} a text is not column=table.column, or its columns cannot be matched */
export async function readMatches(
  app: App,
  table: TableDefinition,
  texts: readonly string[],
): Promise<ReadonlyMap<string, Match>> {
  const planned = texts.map((text) => planMatch(app, table, text));
  const matches = new Map<string, Match>();
  for (const { reference, target, column } of planned) {
    if (matches.has(reference))
      throw new UsageError(`Flag --match is given twice for ${reference}: must be given once`);
    const ids = await readIds(app, target, column);
    matches.set(reference, { column, find: (key) => ids.get(key) });
  }
  return matches;
}

type Plan = { reference: string; target: string; column: NamedColumn };

function planMatch(app: App, table: TableDefinition, text: string): Plan {
  const [, reference = "", target = "", name = ""] =
    /^([^=.]+)=([^=.]+)\.([^=.]+)$/.exec(text) ?? [];
  if (reference === "") throw new UsageError(`Cannot read --match ${text}: ${EXPECTED}`);
  const source = table.columns.find((column) => column.name === reference);
  if (source?.table === undefined)
    throw new UsageError(`Cannot match ${reference}: it is not a reference of ${table.name}`);
  if (source.table !== target)
    throw new UsageError(`Cannot match ${reference} by ${target}: it references ${source.table}`);
  const column = app.findTable(target).columns.find((column) => column.name === name);
  if (column?.unique !== true)
    throw new UsageError(`Cannot match by ${target}.${name}: it is not a unique column`);
  return { reference, target, column };
}

async function readIds(app: App, table: string, column: NamedColumn): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for await (const rows of listAll(app, table))
    for (const { values } of rows) {
      const read = readValue(values[column.name] ?? null, { ...column, required: false });
      if ("value" in read && read.value !== null)
        ids.set(toMatchKey(read.value), String(values["id"]));
    }
  return ids;
}
