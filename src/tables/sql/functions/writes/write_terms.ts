/**
 * The terms with which functions of all tables write rows of a set. Their statements have the parameters $1 app, $2 person, $3 ids, $4 bodies
 * and $5 the time of the change; the body of a row is "$body".
 *
 * @see ../../../../db/code/tables/writes.sql
 * @module
 */

import { quoteLiteral, quoteName } from "../../../../db/mod.ts";
import type { Kind } from "../../../../schema/mod.ts";
import { type ColumnSet, canHaveKey, keyName } from "../../../catalog/mod.ts";
import { sqlType } from "../../../plan/step.ts";
import { input, isGiven, isRow, outputs } from "../function_terms.ts";
import {
  checkedReferences,
  isAllowed,
  isVisible,
  onRow,
  type RuleName,
  readsItself,
  rightsOn,
  shownColumns,
} from "../view_terms.ts";
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

export type WriteTerms = {
  /** The names of all columns of the set. */
  readonly names: readonly string[];
  /** The columns that the caller sees, in their order. */
  readonly columns: readonly Column[];
  /** How a unique index has columns of a kind in each form, unless by their values. */
  readonly kinds: Readonly<Record<string, readonly ConflictTerms[]>>;
  /** The columns that a person owns rows by. */
  readonly owner?: readonly string[];
  /** Whether the caller may change, have changed, or delete the row. */
  readonly from: string;
  readonly to: string;
  readonly delete: string;
  /** Whether a write can change which rows the caller sees or may change, so that rows are written one by one. */
  readonly isEach?: true;
  /** The first column that the caller cannot set of a new row, or of a changed one. */
  readonly closedNew?: string;
  readonly closedSent?: string;
  /** Queries that reject a reference of a body to a row that the caller does not read. */
  readonly references?: readonly string[];
  /** The statement that changes rows, for `format`. */
  readonly change: string;
};

export function writeTerms(table: ColumnSet): WriteTerms {
  const { owner } = rightsOn(table);
  const shown = shownColumns(table);
  const kinds = [...new Set(shown.map(({ kind }) => kind))];
  const [closedNew, closedSent] = [true, false].map((isNew) =>
    closedColumn(table, { body: '"$body"', isNew }),
  );
  const references = checkedReferences(table).map(({ column, constraint, isReadable }) => {
    const named = table.columns.filter(({ name }) => name === column);
    const values = named.map((each) => `${input(table, each)} as ${quoteName(column)}`);
    return `select rowhouse.reject_reference(${quoteLiteral(constraint)}) from (
      select "$id" as "id", ${values.join()} ${SENT} where "$body" ? ${quoteLiteral(column)}) as "$t"
    where "$t".${quoteName(column)} is not null and not coalesce(${isReadable(onRow())}, false) limit 1`;
  });
  const rule = (name: RuleName) => isAllowed(table, name);
  return {
    names: table.columns.map(({ name }) => name),
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
    ...(closedSent === undefined ? {} : { closedSent }),
    ...(references.length > 0 ? { references } : {}),
    change: changeStatement(table),
  };
}

const SENT = `from rows from (unnest($3), jsonb_array_elements($4)) with ordinality as "$new" ("$id", "$body", "$nth")`;

/**
 * Changes the rows whose values differ, in the order of the ids, and returns their ids, texts, and whether the caller may have them and sees
 * them. An update promises no order. An insert does, and each of its rows meets its own, which is locked: it never inserts. The hole
 * of `format` is for other columns that must have a value.
 */
function changeStatement(table: ColumnSet): string {
  const { columns } = table;
  if (columns.length === 0) return "";
  const names = columns.map(({ name }) => quoteName(name));
  const list = (render: (name: string) => string) => names.map(render).join(", ");
  const next = columns.map(
    (column) =>
      `case when ${isGiven(column)} then ${input(table, column)} else "$t".${quoteName(column.name)} end`,
  );
  const stored = columns.map(({ name, onUpdate }, index) => {
    const value = `"$n".${names[index]}`;
    return onUpdate === undefined
      ? value
      : `case when "$body" ? ${quoteLiteral(name)} then ${value} else $5 end`;
  });
  const text = `(select row_to_json("$o")::text from (select ${outputs(table)}) as "$o")`;
  const returned = [
    `"$t"."id" as "$id"`,
    `${text} as "$text"`,
    `coalesce(${isAllowed(table, "to")}, false) as "$ok"`,
    `coalesce(${isVisible(table)}, false) as "$seen"`,
  ];
  return toFormat(
    `with "$row" as (
  insert into data.${quoteName(table.name)} as "$t" ("app_id", "id", ${list((name) => name)}${HOLE})
  select "$t"."app_id", "$t"."id", ${stored.join(", ")}${HOLE} ${SENT}
  cross join lateral (select * from data.${quoteName(table.name)} as "$t" where ${isRow("$1", '"$new"."$id"')} offset 0) as "$t"
  cross join lateral (select ${next.join(",\n    ")}) as "$n" (${list((name) => name)})
  where record_image_ne(row(${list((name) => `"$t".${name}`)}), row(${list((name) => `"$n".${name}`)}))
  order by "$new"."$nth"
  on conflict ("app_id", "id") do update set ${list((name) => `${name} = excluded.${name}`)}
  returning ${returned.join(",\n    ")})
select array_agg("$id"), array_agg("$text"), array_agg("$ok"), array_agg("$seen") from "$row"`,
  );
}

/** No column has the name. */
const HOLE = ', "$hole"';

function toFormat(statement: string): string {
  return statement
    .replaceAll("%", "%%")
    .replace(HOLE, () => "%1$s")
    .replace(HOLE, () => "%2$s");
}
