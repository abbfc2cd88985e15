/**
 * The finder of a table: for what `find.make()` makes it, and the call of a body. Its statements are in
 * `db/code/tables/finders.sql`.
 *
 * @module
 */

import { quoteLiteral, quoteName } from "../../../db/mod.ts";
import { SQL } from "../../../kinds/mod.ts";
import type { ServedSet, Walk, WalkColumn } from "../../catalog/mod.ts";
import { sqlType } from "../../plan/step.ts";

export function renderMakeFinder(table: ServedSet): string {
  const spec = toSpec(table, table.whole ?? table.walks);
  return spec.walks.length === 0 ? renderDropFinder(table.name) : renderMake(spec);
}

export function renderDropFinder(table: string): string {
  return renderMake({ table, walks: null });
}

function renderMake(spec: object): string {
  return `select find.make(${quoteLiteral(JSON.stringify(spec))})`;
}

/** What a set's body is generated with, so that it changes when the finder has to. */
export function digestFinder(table: ServedSet): string {
  return Bun.CryptoHasher.hash("md5", JSON.stringify(toSpec(table, table.walks)), "hex");
}

/** Whether the table has a finder, which serves the set. */
export function hasFinder({ walks }: ServedSet): boolean {
  return walks.some(({ index }) => index !== "");
}

/** The function of the finder, qualified. */
export function finderOf({ name }: ServedSet): string {
  return `find.${quoteName(`${name}__finder`)}`;
}

function toSpec(table: ServedSet, walks: readonly Walk[]) {
  return {
    table: table.name,
    walks: walks
      .filter(({ index }) => index !== "")
      .map(({ index, appId, isUnique, hasNulls, columns }) => ({
        ...{ index, app: appId, isUnique, hasNulls },
        terms: columns.flatMap((column) => toTerms(table, column)),
      })),
  };
}

/** The terms of a column in an index. */
export function toTerms(
  table: ServedSet,
  column: WalkColumn,
): { column: string; type: string; part?: "start" | "rest" }[] {
  const { name } = column;
  const { parts } = SQL[column.kind];
  if (parts === undefined) return [{ column: name, type: sqlType(table, column) }];
  const { start, rest } = parts;
  return [
    { column: name, type: start.type, part: "start" },
    ...(rest === undefined ? [] : [{ column: name, type: rest.type, part: "rest" } as const]),
  ];
}
