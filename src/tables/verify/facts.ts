/**
 * The expected contents of PostgreSQL for the recorded tables, as facts: a path such as `table todos / column title / type`
 * and its value. Derived only from definitions; snapshot.ts reads the same paths from PostgreSQL's catalogs. Pure.
 *
 * @module
 */

import { READER, TENANT_POLICY } from "../../db/mod.ts";
import { hasOwnType, SQL } from "../../kinds/mod.ts";
import type { NamedColumn, TableDefinition } from "../../schema/mod.ts";
import {
  type ColumnSet,
  callersOf,
  canHaveKey,
  enumTypeName,
  FUNCTION_OWNER,
  type FunctionSite,
  functionsOfSet,
  indexesOf,
  isFormerName,
  isOneServer,
  KEY_PREFIX,
  keyName,
  keysOf,
  listViewSets,
  nameOf,
  printedSignature,
  type RecordedDefinition,
  referencesOf,
  type ServedSet,
  serveSet,
  TABLE_OWNER,
  type TableUse,
} from "../catalog/mod.ts";
import { onDeleteClause } from "../plan/step.ts";
import { toDefaultText } from "../sql/conversions.ts";
import { renderBody } from "../sql/functions/functions.ts";
import { printRows, printTerms } from "../sql/index_terms.ts";

export type Facts = ReadonlyMap<string, string>;
export const THERE = "there";

/** The record of pushes: tables, and the column sets that apps use or used. */
export type Recorded = FunctionSite & {
  tables: readonly RecordedDefinition[];
  sets: readonly ColumnSet[];
  /** Everything that apps with rules use. */
  uses?: readonly TableUse[];
  /** Whether no process before 0.2.0 can use the database any more. */
  isContracted: boolean;
};

/** `found`: until the contract step, a table also has the indexes and keys of earlier releases. */
export function toFacts(
  { tables, sets, uses = [], isContracted, ...site }: Recorded,
  found: Facts,
): Facts {
  const views = [...listViewSets(uses).values()].flat();
  return new Map([
    ...tables.flatMap((table) => [
      ...toTableFacts(table),
      ...(isContracted ? [] : findFormer(table, found)),
      ...toReaderFacts(table),
      // On several nodes, a table of an earlier release cannot get the estimate.
      ...(isOneServer(site) || found.has(toEstimatePath(table)) ? [toEstimateFact(table)] : []),
      ...toTypeFacts(table),
    ]),
    ...[...sets, ...views].flatMap((set) => {
      const table = tables.find(({ name }) => name === set.name) ?? { ...EMPTY, name: set.name };
      return toFunctionFacts(serveSet(set, table), site);
    }),
  ]);
}

/** A table without a record, which has no indexes. */
const EMPTY = { columns: [], indexes: [], uniques: [] };

type Fact = [path: string, value: string];

/** What is found of earlier releases. The check of isolation knows what their expressions can be. */
function findFormer(table: RecordedDefinition, found: Facts): Fact[] {
  const path = `table ${table.name}`;
  const keys = table.columns.filter(({ kind }) => canHaveKey(kind)).map(({ name }) => name);
  const keyPaths = new Set(keys.map((name) => keyPath(path, name)));
  const indexes = [...keysOf(table), ...indexesOf(table)];
  const start = `${path} / index `;
  const isFormer = (name: string) => indexes.some((index) => isFormerName(table.name, index, name));
  return [...found].filter(([at, value]) => {
    if (keyPaths.has(at)) return true;
    if (!at.startsWith(start) || value.endsWith("invalid")) return false;
    return isFormer(at.slice(start.length));
  });
}

function toTableFacts(table: RecordedDefinition): Fact[] {
  const path = `table ${table.name}`;
  return [
    [path, THERE],
    [`${path} / owner`, TABLE_OWNER],
    [`${path} / row security`, "on, forced"],
    [
      `${path} / policy tenant`,
      `permissive for * to public using ${TENANT_POLICY.printed} with check ${TENANT_POLICY.printed}`,
    ],
    [`${path} / grants to rowhouse_tenant`, "DELETE, INSERT, SELECT, UPDATE"],
    ...toColumnFacts(path, { name: "app_id", type: "uuid", required: true, default: "none" }),
    ...toColumnFacts(path, { name: "id", type: "uuid", required: true, default: "none" }),
    ...table.columns.flatMap((column) =>
      toColumnFacts(path, {
        name: column.name,
        type: toType(table, column),
        required: column.required,
        default: toDefaultText(column),
      }),
    ),
    ...toConstraintFacts(path, table),
  ];
}

function toReaderFacts({ name }: TableDefinition): Fact[] {
  return [
    [
      `table ${name} / policy ${READER.policy}`,
      `permissive for r to ${READER.role} using true with check nothing`,
    ],
    [`table ${name} / grants to ${READER.role}`, "SELECT"],
  ];
}

function toEstimatePath({ name }: TableDefinition): string {
  return `table ${name} / options of app_id`;
}

function toEstimateFact(table: TableDefinition): Fact {
  return [toEstimatePath(table), READER.estimate];
}

/** The path of a column's key: its name without the sign that no other column has. */
export function keyPath(path: string, column: string): string {
  return `${path} / key ${keyName(column).slice(KEY_PREFIX.length)}`;
}

function toColumnFacts(
  path: string,
  column: { name: string; type: string; required: boolean; default: string },
): Fact[] {
  const own = `${path} / column ${column.name}`;
  return [
    [own, THERE],
    [`${own} / type`, column.type],
    [`${own} / required`, column.required ? "required" : "optional"],
    [`${own} / default`, column.default],
  ];
}

function toType(table: TableDefinition, column: NamedColumn): string {
  return SQL[column.kind].type?.printed ?? `data.${enumTypeName(table.name, column.name)}`;
}

function toConstraintFacts(path: string, table: RecordedDefinition): Fact[] {
  const list = (columns: readonly string[]) => `(${["app_id", ...columns].join(", ")})`;
  const targets = new Map(table.columns.map((column) => [column.name, column]));
  return [
    [`${path} / constraint ${table.name}__pkey`, "primary key (app_id, id)"],
    ...[...keysOf(table), ...indexesOf(table)].map(
      (index): Fact => [
        `${path} / index ${nameOf(index)}`,
        `btree (${printTerms(index)})${index.kind === "key" ? ", unique" : ""} where ${printRows(index)}`,
      ],
    ),
    ...referencesOf(table).map((reference): Fact => {
      const column = targets.get(reference.columns[0] ?? "");
      const effect = column === undefined ? "" : onDeleteClause(column, (name) => name);
      return [
        `${path} / constraint ${reference.name}`,
        `foreign key ${list(reference.columns)} references ${column?.table} (app_id, id)${effect}`,
      ];
    }),
  ];
}

function toTypeFacts(table: TableDefinition): Fact[] {
  return table.columns
    .filter(hasOwnType)
    .map((column) => [
      `type ${enumTypeName(table.name, column.name)}`,
      JSON.stringify(column.values ?? []),
    ]);
}

function toFunctionFacts(set: ServedSet, site: FunctionSite): Fact[] {
  return functionsOfSet(set, site).flatMap((name): Fact[] => {
    const path = `function ${printedSignature(set, name)}`;
    return [
      [path, THERE],
      [`${path} / owner`, FUNCTION_OWNER],
      [`${path} / security`, "definer"],
      [`${path} / language`, "plpgsql"],
      [`${path} / settings`, "none"],
      [`${path} / argument defaults`, "none"],
      ...callersOf(name).map((role): Fact => [`${path} / executed by ${role}`, "allowed"]),
      [`${path} / body`, renderBody(set, name, site)],
    ];
  });
}
