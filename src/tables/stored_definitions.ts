/**
 * Recorded definitions, read as if they were pushed now: the pushing login can write any JSON to the record. Pure.
 *
 * @module
 */
import * as v from "valibot";
import { checkRules, readDefinition, type TableDefinition } from "../schema/mod.ts";
import { anyNames } from "../std/any_names.ts";
import type { RecordedDefinition } from "./catalog/mod.ts";

const Deferred = v.strictObject({
  columns: v.array(v.string()),
  indexes: anyNames(v.pipe(v.string(), v.uuid())),
});

export function readRecorded(recorded: RecordedDefinition): {
  table: RecordedDefinition | undefined;
  issues: string[];
} {
  const { deferred, ...own } = recorded;
  const targets = new Set(own.columns.flatMap(({ table }) => table ?? []));
  targets.delete(own.name);
  const others = [...targets].map((name) => ({ name, columns: [], indexes: [], uniques: [] }));
  const reading = readDefinition({ version: 1, tables: [own, ...others] });
  const parts = v.safeParse(v.optional(Deferred), deferred);
  if ("issues" in reading)
    return {
      table: undefined,
      issues: reading.issues.map(({ message }) => `Table ${own.name}: ${message}`),
    };
  const table = reading.definition.tables.find(({ name }) => name === own.name);
  if (table?.rules !== undefined)
    return { table: undefined, issues: [`Table ${own.name}: the record contains rules of an app`] };
  if (table === undefined || !parts.success)
    return {
      table: undefined,
      issues: [`Table ${own.name}: the record of its deferred parts is invalid`],
    };
  return {
    table: parts.output === undefined ? table : { ...table, deferred: parts.output },
    issues: [],
  };
}

/** The tables that an app uses, as if it declared them now; none if it could not. */
export function readRegistered(registered: readonly unknown[]): readonly TableDefinition[] {
  const reading = readDefinition({ version: 1, tables: registered });
  if ("issues" in reading || checkRules(reading.definition).length > 0) return [];
  return reading.definition.tables;
}
