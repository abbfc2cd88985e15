/**
 * The parts of the functions' bodies, as plain SQL without schemas of `pg_catalog`: see `qualify()`. They expect hostile column
 * names: parameters are `$n`, and every variable and alias contains a `$`, which no column can.
 *
 * @module
 */

import { quoteLiteral, quoteName } from "../../../db/mod.ts";
import { SQL } from "../../../kinds/mod.ts";
import {
  type ColumnSet,
  type Endpoint,
  placeholdersOf,
  scopeOf,
  TAG_LENGTH,
} from "../../catalog/mod.ts";
import { sqlDefault, sqlType } from "../../plan/step.ts";
import { callerOf } from "./caller_terms.ts";
import { isOwner, shownColumns, WHO } from "./view_terms.ts";

export type SetColumn = ColumnSet["columns"][number];

/** The call that raises why a call has no proof. For a write it can return a replay. */
function rejectCall(table: ColumnSet, endpoint: Endpoint): string {
  const { app, proof, ...others } = placeholdersOf(endpoint);
  const { name } = table;
  if (scopeOf(endpoint) !== "data:write")
    return `rowhouse.reject_call(${[app, proof, quoteLiteral(name)].join(", ")})`;
  const claim = "claim" in others ? others.claim : "null";
  return callerOf(table).rejectWrite(name, claim);
}

/**
 * The start of a body: sets the tenant, and rejects calls without a proof. Reads the person of a view into `"$who"`, and sets what the
 * listeners of the table hear of a write.
 *
 * @see ../../../db/code/tables/calls.sql
 */
export function beginAs(table: ColumnSet, endpoint: Endpoint): string {
  const scope = scopeOf(endpoint) === "data:write" ? "write" : "read";
  return `${callerOf(table).prove(scope, table.name)} then
    return ${rejectCall(table, endpoint)};
  end if;`;
}

const LISTENS = "current_setting('rowhouse.listens')";

/**
 * Before a delete: names the rows of the request, as text with commas. What else the delete writes is the effect of a reference.
 */
export function nameDeleted(table: ColumnSet, ids: string): string {
  return `if ${LISTENS} <> '' then
    perform set_config('rowhouse.listens', concat(${LISTENS}, chr(10), ${quoteLiteral(`${table.name} `)}, ${ids}), true);
  end if;`;
}

/** 10% faster than json_agg of the same rows, and without its line breaks. */
export const ROW_TEXT = `row_to_json("$row")::text`;

/** The tag of a row: the first hex digits of its text's hash, as many as the process uses. */
export function tagOf(text: string): string {
  return `left(encode(sha256(convert_to(${text}, 'UTF8')), 'hex'), ${TAG_LENGTH})`;
}

export function isTooLarge(text: string, bytes: string): string {
  return `octet_length("${text}") > ${bytes}`;
}

/** The approximate size of a row's text: as stored, except compressed JSON. */
export function rowSize(table: ColumnSet, alias: string): string {
  const columns = shownColumns(table);
  const names = columns.reduce((bytes, { name }) => bytes + name.length, 0);
  const fixed = OWN_COLUMNS_BYTES + names + columns.length * COLUMN_BYTES;
  return sumOf([...unboundedSizes(table, alias), `${fixed}::int8`]);
}

/** The bytes of both ids. */
const OWN_COLUMNS_BYTES = 98;
/** The bytes of another column, without its name and without an unbounded value. */
const COLUMN_BYTES = 16;

/** The sizes of a row's unbounded values, without decompression. */
function unboundedSizes(table: ColumnSet, alias: string): string[] {
  return shownColumns(table).flatMap(({ name, kind }) => {
    const { size } = SQL[kind];
    if (size === undefined) return [];
    return `coalesce(${size}("${alias}".${quoteName(name)}), 0)::int8`;
  });
}

function sumOf(sizes: readonly string[]): string {
  return sizes.length === 0 ? "0" : `(${sizes.join(" + ")})`;
}

/** The end of a body that returns one row. Undoes a write of an oversized row. */
export function returnText(id: string, bytes: string): string {
  return `if ${isTooLarge("$text", bytes)} then
    return rowhouse.reject_row(${id});
  end if;
  return "$text";`;
}

/** The target of an insert: the table and its columns, in the order of their values. */
export function target(table: ColumnSet): string {
  const names = ["app_id", "id", ...table.columns.map((column) => column.name)].map(quoteName);
  return `data.${quoteName(table.name)} as "$t" (${names.join(", ")})`;
}

export function isRow(app: string, id: string): string {
  return `"$t"."app_id" = ${app} and "$t"."id" = ${id}`;
}

/** Columns in the response format that the caller sees: decimals as text, because JSON numbers would lose digits. */
export function outputs(table: ColumnSet): string {
  const own = ownValues(shownColumns(table));
  return [`"$t"."id"`, `"$t"."app_id"`, ...(own === "" ? [] : [own])].join(", ");
}

/** The values of some columns of "$t" in the response format. */
function ownValues(columns: ColumnSet["columns"]): string {
  return columns
    .map((column) => {
      const name = quoteName(column.name);
      return SQL[column.kind].isSentAsText ? `"$t".${name}::text as ${name}` : `"$t".${name}`;
    })
    .join(", ");
}

/** The variable with the sent value of a column. */
export function variable({ columns }: ColumnSet, { name }: SetColumn): string {
  return `"$v${columns.findIndex((column) => column.name === name)}"`;
}

export function isGiven(column: SetColumn): string {
  return `"$body" ? ${quoteLiteral(column.name)}`;
}

/** A column's value in a new row: from the body, or its default. An owner column has the person who calls. */
export function initial(table: ColumnSet, column: SetColumn, now?: string): string {
  if (isOwner(table, column)) return WHO;
  const given = input(table, column);
  if (column.default === undefined) return given;
  return `case when ${isGiven(column)} then ${given} else ${sqlDefault(table, column, now)} end`;
}

/** A column's value from the body, in the column's type; JSON null and an absent key are both SQL NULL. */
export function input(table: ColumnSet, column: SetColumn): string {
  const text = `("$body" ->> ${quoteLiteral(column.name)})`;
  return SQL[column.kind].isJson
    ? `case when ${text} is not null then "$body" -> ${quoteLiteral(column.name)} end`
    : `${text}::${sqlType(table, column)}`;
}

/** The response to a batch, from the texts of its rows, joined by commas. */
export function rowsText(texts: string): string {
  return `concat('{"rows":[', ${texts}, ']}')`;
}
