/**
 * What writes do otherwise on the nodes of a cluster. A node inserts no rows of a query in a larger statement, casts no value in a
 * write, and forwards only the message of an error, which names the constraint.
 *
 * @module
 */

import { quoteLiteral } from "../../../../db/mod.ts";
import {
  type ColumnSet,
  type FunctionSite,
  isOneServer,
  placeholdersOf,
  setName,
} from "../../../catalog/mod.ts";
import { sqlType } from "../../../plan/step.ts";
import { initial, outputs, ROW_TEXT, type SetColumn, target, variable } from "../function_terms.ts";
import { WHO } from "../view_terms.ts";

/** How a batch creates the rows of `"$all"`: the variables, and statements that append the texts of the rows to `"$rows"`. */
export type CreatedRows = { readonly declared: string; readonly create: string };

type Writes = {
  /** The variables of `raiseAgain`. */
  readonly raised: string;
  /** Raises the error of a row of a batch, with its position in the request. */
  readonly raiseAgain: (position: string) => string;
  /** Whether a statement can compute the values that it writes. Otherwise variables have them. */
  readonly canCompute: boolean;
  /** Creates the rows of a batch by a statement for each; `undefined`: one statement creates all. */
  readonly createEach: ((table: ColumnSet) => CreatedRows) | undefined;
};

/** Reads the constraint of an error into the variables of `raised`, of one server. */
export const READ_ERROR = `get stacked diagnostics "$state" = returned_sqlstate, "$constraint" = constraint_name,
        "$column" = column_name, "$table" = table_name;`;

const ONE_SERVER: Writes = {
  raised: `"$state" text;
  "$constraint" text;
  "$column" text;
  "$table" text;`,
  raiseAgain: (position) => `${READ_ERROR}
      raise exception 'a row of a batch breaks a rule' using errcode = "$state", constraint = "$constraint",
        column = "$column", table = "$table", hint = (${position} - 1)::text;`,
  ...{ canCompute: true, createEach: undefined },
};

const NODES: Writes = {
  raised: `"$state" text;
  "$message" text;`,
  raiseAgain: (
    position,
  ) => `get stacked diagnostics "$state" = returned_sqlstate, "$message" = message_text;
    raise exception '%', "$message" using errcode = "$state", hint = (${position} - 1)::text;`,
  ...{ canCompute: false, createEach },
};

export function writesAt(site: FunctionSite): Writes {
  return isOneServer(site) ? ONE_SERVER : NODES;
}

/** How statements have the values that they write, from their expressions. */
export function valuesAt(
  site: FunctionSite,
  table: ColumnSet,
  toValue: (column: SetColumn) => string,
): (column: SetColumn) => string {
  if (writesAt(site).canCompute) return toValue;
  return (column) => (toValue(column) === WHO ? WHO : variable(table, column));
}

/** The variables that statements use, with the values of the columns. */
export function declareUsed(
  table: ColumnSet,
  statements: string,
  toValue: (column: SetColumn) => string,
): string {
  return table.columns
    .filter((column) => statements.includes(variable(table, column)))
    .map((column) => `${variable(table, column)} ${sqlType(table, column)} := ${toValue(column)};`)
    .join("\n  ");
}

/**
 * What a person's batch does besides: all rows are compared before the first insert, and read after the last. After a rejection, the rows
 * are compared one by one, to find the first.
 */
function createAs(table: ColumnSet): { terms: string; reject: string; readRows: string } {
  if (table.view === undefined) return { terms: "", reject: "", readRows: "" };
  const { app, ids } = placeholdersOf("create_many");
  const of = `${app}, ${WHO}, "$terms"`;
  const compare = (
    ids: string,
    bodies: string,
  ) => `perform rowhouse.reject_new_rows(${of}, ${ids}, ${bodies});
    if "$terms" ? 'denied' then
      execute "$terms" ->> 'denied' into "$denied" using ${app}, ${WHO}, ${ids}, ${bodies};
      if "$denied" is not null then
        perform rowhouse.reject_rule(null);
      end if;
    end if;`;
  return {
    terms: `"$terms" jsonb;
  "$denied" uuid[];`,
    reject: `"$terms" := rowhouse.locate_terms(${app}, rowhouse.read_terms(${quoteLiteral(setName(table))}, 2::int2));
  begin
    ${compare(ids, '"$all"')}
  exception when integrity_constraint_violation then
    begin
      while "$count" < cardinality(${ids}) loop
        "$body" := "$all" -> "$count";
        "$count" := "$count" + 1;
        ${compare(`(${ids})["$count":"$count"]`, 'jsonb_build_array("$body")')}
      end loop;
      raise;
    exception when integrity_constraint_violation then
      ${NODES.raiseAgain('"$count"')}
    end;
  end;`,
    readRows: `"$rows" := (rowhouse.read_set_rows(${of}, ${ids})).texts;`,
  };
}

function createEach(table: ColumnSet): CreatedRows {
  const { app, ids } = placeholdersOf("create_many");
  const { terms, reject, readRows } = createAs(table);
  const declared = table.columns.map(
    (column) => `${variable(table, column)} ${sqlType(table, column)};`,
  );
  const read = table.columns.map(
    (column) => `${variable(table, column)} := ${initial(table, column)};`,
  );
  const values = [app, '"$id"', ...table.columns.map((column) => variable(table, column))];
  return {
    declared: ['"$body" jsonb;', '"$id" uuid;', ...declared, '"$row" record;', terms].join("\n  "),
    create: `${reject}
  begin
    while "$count" < cardinality(${ids}) loop
      "$body" := "$all" -> "$count";
      "$count" := "$count" + 1;
      "$id" := (${ids})["$count"];
      ${read.join("\n      ")}
      insert into ${target(table)}
      values (${values.join(", ")})
      returning ${outputs(table)} into "$row";
      "$rows" := array_append("$rows", ${ROW_TEXT});
    end loop;
  exception when integrity_constraint_violation then
    ${NODES.raiseAgain('"$count"')}
  end;
  ${readRows}`,
  };
}
