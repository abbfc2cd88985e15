/**
 * What writes do otherwise on the nodes of a cluster: the only difference of their bodies. A node inserts no rows of a query in a
 * larger statement, computes nothing in the condition of a write, and forwards only the message of an error, which names the
 * constraint.
 *
 * @module
 */

import { quoteName } from "../../../../db/mod.ts";
import {
  type ColumnSet,
  type FunctionSite,
  isOneServer,
  NO_MATCH,
  placeholdersOf,
} from "../../../catalog/mod.ts";
import { sqlType } from "../../../plan/step.ts";
import { initial, isRow, outputs, ROW_TEXT, tagOf, target, variable } from "../function_terms.ts";

/** How a batch creates the rows of `"$all"`: the variables, and statements that append the texts of the rows to `"$rows"`. */
export type CreatedRows = { readonly declared: string; readonly create: string };

type Writes = {
  /** The variables of `raiseAgain`. */
  readonly raised: string;
  /** Raises the error of a row of a batch, with its position in the request. */
  readonly raiseAgain: (position: string) => string;
  /** Whether a write compares the tag of its row. Otherwise the row is locked and compared first. */
  readonly compareFirst: ((table: ColumnSet, endpoint: "update" | "delete") => string) | undefined;
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
  ...{ compareFirst: undefined, createEach: undefined },
};

const NODES: Writes = {
  raised: `"$state" text;
  "$message" text;`,
  raiseAgain: (
    position,
  ) => `get stacked diagnostics "$state" = returned_sqlstate, "$message" = message_text;
    raise exception '%', "$message" using errcode = "$state", hint = (${position} - 1)::text;`,
  compareFirst: rejectUnmatched,
  createEach,
};

export function writesAt(site: FunctionSite): Writes {
  return isOneServer(site) ? ONE_SERVER : NODES;
}

/** Rejects a write of a row without a requested tag, in a separate statement. Locks the row, so that it does not change before the write. */
function rejectUnmatched(table: ColumnSet, endpoint: "update" | "delete"): string {
  const { app, id, match, ...others } = placeholdersOf(endpoint);
  const forget =
    "claim" in others
      ? `
      if ${others.claim} is not null then
        perform rowhouse.forget_key(${app}, ${others.claim});
      end if;`
      : "";
  return `if ${match} is not null then
    select ${outputs(table)} into "$row" from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)} for update;
    if found and ${tagOf(ROW_TEXT)} <> all (string_to_array(${match}, ',')) then${forget}
      return '${NO_MATCH}';
    end if;
  end if;`;
}

function createEach(table: ColumnSet): CreatedRows {
  const { app, ids } = placeholdersOf("create_many");
  const declared = table.columns.map(
    (column, index) => `${variable(index)} ${sqlType(table, column)};`,
  );
  const read = table.columns.map(
    (column, index) => `${variable(index)} := ${initial(table, column)};`,
  );
  const values = [app, '"$id"', ...table.columns.map((_, index) => variable(index))];
  return {
    declared: ['"$body" jsonb;', '"$id" uuid;', ...declared, '"$row" record;'].join("\n  "),
    create: `begin
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
  end;`,
  };
}
