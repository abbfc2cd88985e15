/** Tables and errors of files of rows. @module */

import type { RowsRead } from "../../src/rows/mod.ts";
import type { Kind, NamedColumn, TableDefinition } from "../../src/schema/mod.ts";

export const column = (name: string, kind: Kind, more: Partial<NamedColumn> = {}): NamedColumn => ({
  name,
  kind,
  required: false,
  unique: false,
  index: false,
  ...more,
});

export const tableOf = (...columns: NamedColumn[]): TableDefinition => ({
  name: "todos",
  columns,
  indexes: [],
  uniques: [],
});

/** Returns the issues as a command prints them. */
export const listIssues = ({ issues }: RowsRead) =>
  issues.map(({ line, column, message }) => [line, column, message].filter(Boolean).join(": "));
