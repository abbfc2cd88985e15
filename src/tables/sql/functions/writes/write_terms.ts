/**
 * The terms with which functions of all tables write rows of a set. Their statements have the parameters $1 app, $2 person, $3 ids and $4
 * bodies; the body of a row is "$body".
 *
 * @see ../../../../db/code/tables/writes.sql
 * @module
 */

import { quoteLiteral, quoteName } from "../../../../db/mod.ts";
import type { Kind } from "../../../../schema/mod.ts";
import { type ColumnSet, canHaveKey, keyName } from "../../../catalog/mod.ts";
import { sqlType } from "../../../plan/step.ts";
import { callerOf } from "../caller_terms.ts";
import { initial, input, outputs, target } from "../function_terms.ts";
import {
  checkedReferences,
  isAllowed,
  isAllowedNew,
  isVisible,
  onRow,
  type RuleName,
  readsItself,
  rightsOn,
  shownColumns,
} from "../view_terms.ts";
import { comparedByCreate } from "./new_row_terms.ts";
import { closedColumn } from "./sent_terms.ts";
import { type ConflictTerms, renderKind } from "./upsert_index_terms.ts";

type Column = {
  /** The name as an identifier. */
  readonly name: string;
  readonly kind: Kind;
  readonly type: string;
  /** The hidden column of releases before 0.2.0. */
  readonly key?: string;
};

type WriteTerms = {
  /** The names of all columns of the set, and of those that a change sets to its time. */
  readonly names: readonly string[];
  readonly times?: readonly string[];
  /** What a change of a row assigns from its new state "$n". */
  readonly set: string;
  /** The columns that the caller sees, in their order. */
  readonly columns: readonly Column[];
  /** How a unique index has columns of a kind in each form, unless by their values. */
  readonly kinds: Readonly<Record<string, readonly ConflictTerms[]>>;
  /** The columns that a person owns rows by. */
  readonly owner?: readonly string[];
  /** Whether the caller may change the row: as it was, and as it becomes. */
  readonly from: string;
  readonly to: string;
  /** Whether the caller may delete the row. */
  readonly delete: string;
  /** Whether a write can change which rows the caller sees or may change, so that rows are written one by one. */
  readonly isEach?: true;
  /** The first column that the caller cannot set of a new row, and of one that changes. */
  readonly closedNew?: string;
  readonly closed?: string;
  /** Queries that reject a reference of a new row, or of a changed one, to a row that the caller does not read. */
  readonly newReferences?: readonly string[];
  readonly references?: readonly string[];
  /** The query of the ids of new rows that the caller may not create. */
  readonly denied?: string;
  /** A row's text as the caller may see it. */
  readonly text: string;
  /** The statement that inserts rows, for `format`. */
  readonly insert: string;
};

export function writeTerms(table: ColumnSet): WriteTerms {
  const { owner } = rightsOn(table);
  const times = table.columns.filter(({ onUpdate }) => onUpdate).map(({ name }) => name);
  const assigned = table.columns.map(({ name, onUpdate }) => {
    const column = quoteName(name);
    // "$n" has copies of the values that remain: PostgreSQL would store large ones again.
    const otherwise = onUpdate === undefined ? `"$t".${column}` : "$5";
    return `${column} = case when "$body" ? ${quoteLiteral(name)} then "$n".${column} else ${otherwise} end`;
  });
  const shown = shownColumns(table);
  const kinds = [...new Set(shown.map(({ kind }) => kind))];
  const [closedNew, closed] = [true, false].map((isNew) =>
    closedColumn(table, { body: '"$body"', isNew }),
  );
  const [newReferences = [], references = []] = [true, false].map((isNew) =>
    checkedReferences(table).map(({ column, constraint, isReadable }) => {
      const given = isNew ? "" : ` where "$body" ? ${quoteLiteral(column)}`;
      return `select rowhouse.reject_reference(${quoteLiteral(constraint)}) from (
        ${typeSent(table, [column], isNew)}${given}) as "$t"
      where "$t".${quoteName(column)} is not null and not coalesce(${isReadable(onRow())}, false) limit 1`;
    }),
  );
  const allowed = isAllowedNew(table, "create", onRow());
  const rule = (name: RuleName) => isAllowed(table, name);
  return {
    names: table.columns.map(({ name }) => name),
    ...(times.length > 0 ? { times } : {}),
    set: assigned.join(", "),
    columns: shown.map((column) => ({
      name: quoteName(column.name),
      kind: column.kind,
      type: sqlType(table, column),
      ...(canHaveKey(column.kind) ? { key: quoteName(keyName(column.name)) } : {}),
    })),
    kinds: Object.fromEntries(
      kinds.flatMap((kind) => {
        const rendered = renderKind(kind);
        return rendered === undefined ? [] : [[kind, rendered] as const];
      }),
    ),
    ...(owner.length > 0 ? { owner } : {}),
    ...{ from: rule("from"), to: rule("to"), delete: rule("delete") },
    ...(readsItself(table, ["read", "from", "to"]) ? { isEach: true as const } : {}),
    ...(closedNew === undefined ? {} : { closedNew }),
    ...(closed === undefined ? {} : { closed }),
    ...(references.length > 0 ? { newReferences, references } : {}),
    ...(allowed === "true"
      ? {}
      : {
          denied: `select array_agg("$t"."id") as ids from (${typeSent(table, comparedByCreate(table), true)}) as "$t"
      where not coalesce(${allowed}, false)`,
        }),
    text: rowText(table),
    insert: insertStatement(table),
  };
}

const SENT = `from rows from (unnest($3), jsonb_array_elements($4)) with ordinality as "$new" ("$id", "$body", "$nth")`;

/** The ids and the values of some columns of bodies. */
function typeSent(table: ColumnSet, names: readonly string[], isNew: boolean): string {
  const values = table.columns
    .filter(({ name }) => names.includes(name))
    .map((column) => {
      const value = isNew ? initial(table, column) : input(table, column);
      return `${value} as ${quoteName(column.name)}`;
    });
  return `select ${['"$id" as "id"', ...values].join(", ")} ${SENT}`;
}

/** A row as the caller may see it: everyone who wrote it may read its ids. */
function rowText(table: ColumnSet): string {
  const text = `(select row_to_json("$o")::text from (select ${outputs(table)}) as "$o")`;
  const visible = isVisible(table);
  if (visible === "true") return text;
  return `case when ${visible} then ${text} else ${callerOf(table).toShort('"$t"."id"')} end`;
}

/** Inserts rows, and returns their ids and texts. The hole of `format` is for what happens if a row exists. */
function insertStatement(table: ColumnSet): string {
  const values = ["$1", '"$id"', ...table.columns.map((column) => initial(table, column))];
  const parts = [
    `with "$row" as (
  insert into ${target(table)}
  select ${values.join(",\n    ")} ${SENT}`,
    `
  returning ${outputs(table)})
select array_agg("$row"."id"), array_agg(row_to_json("$row")::text) from "$row"`,
  ];
  return parts.map((part) => part.replaceAll("%", "%%")).join(" %1$s");
}
