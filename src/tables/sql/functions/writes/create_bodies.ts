/** The bodies of functions that create rows. @see function_terms.ts for their parts @module */

import { quoteLiteral, quoteName } from "../../../../db/mod.ts";
import { SQL } from "../../../../kinds/mod.ts";
import {
  type ColumnSet,
  calledName,
  type FunctionSite,
  placeholdersOf,
  setName,
  UPDATES,
} from "../../../catalog/mod.ts";
import { callerOf } from "../caller_terms.ts";
import {
  initial,
  isRow,
  outputs,
  ROW_TEXT,
  returnText,
  rowsText,
  type SetColumn,
  target,
} from "../function_terms.ts";
import { andVisible, rightsOn, shownColumns } from "../view_terms.ts";
import { beginWrite, shortRows } from "./claim_terms.ts";
import {
  declareField,
  fromNew,
  newText,
  rejectNew,
  rejectNewRows,
  shownOfNew,
} from "./new_row_terms.ts";
import { type CreatedRows, declareUsed, valuesAt, writesAt } from "./node_writes.ts";

export function createBody(table: ColumnSet, site: FunctionSite): string {
  const { app, id, body, bytes } = placeholdersOf("create");
  const toInitial = (column: SetColumn) => initial(table, column);
  const toNew = valuesAt(site, table, toInitial);
  const text = newText(table, id);
  // Otherwise what a person reads of the row is known after the insert.
  const isKnown = text === ROW_TEXT;
  const write = beginWrite(table, "create", {
    ...(isKnown ? { response: rowOfNew(table, { app, id }, toNew) } : {}),
    short: callerOf(table).toShort(id),
  });
  const statements = `begin
  ${write.begin}
  ${rejectNew(table, id)}
  insert into ${target(table)}
  values (${[app, id, ...table.columns.map(toNew)].join(", ")})
  returning ${outputs(table)} into "$row";
  "$text" := ${text};
  ${isKnown ? "" : write.complete}
  ${returnText(id, bytes)}
end`;
  return `declare
  "$body" jsonb := ${body}::jsonb;
  ${declareUsed(table, statements, toInitial)}
  ${write.declared}
  "$row" record;
  "$text" text;
${statements}`;
}

/** The row's text before its insert, equal to the later `returning`. It is recorded with an idempotency key. */
function rowOfNew(
  table: ColumnSet,
  { app, id }: { app: string; id: string },
  toNew: (column: SetColumn) => string,
): string {
  const own = shownColumns(table).map((column) => {
    const value = `(${toNew(column)})${SQL[column.kind].isSentAsText ? "::text" : ""}`;
    return `${value} as ${quoteName(column.name)}`;
  });
  const columns = [`${id} as "id"`, `${app} as "app_id"`, ...own].join(", ");
  return `(select row_to_json("$new")::text from (select ${columns}) as "$new")`;
}

export function createManyBody(table: ColumnSet, site: FunctionSite): string {
  const { app, proof, ids, bodies, bytes, claim: sent } = placeholdersOf("create_many");
  const { raised, raiseAgain, createEach } = writesAt(site);
  const { declared, create } = createEach?.(table) ?? createAll(table, raiseAgain('"$count"'));
  const { create: mayCreate, update: mayUpdate } = rightsOn(table);
  const set = quoteLiteral(setName(table));
  const updated = [app, proof, set, ids, `("$all" -> '${UPDATES}')::text`, bytes, sent];
  const updateMany = `${calledName(table, "update_many")}(${updated.join(", ")})`;
  const write = beginWrite(table, "create_many", {
    short: shortRows(table, ids),
    first: `-- From a process of 0.1.
  if jsonb_typeof("$all") = 'object' then
    return ${mayUpdate === undefined ? REJECT_ROLE : updateMany};
  end if;
  ${mayCreate === undefined ? `return ${REJECT_ROLE};` : ""}`,
  });
  return `declare
  "$all" constant jsonb := ${bodies}::jsonb;
  "$count" int4 := 0;
  "$rows" text[] := '{}';
  "$text" text;
  ${[write.declared, declared, raised].join("\n  ")}
begin
  ${write.begin}
  ${create}
  "$text" := ${rowsText(`array_to_string("$rows", ',')`)};
  ${write.complete}
  ${returnText(`(${ids})[1]`, bytes)}
end`;
}

/** For a role that has only the function's other action. */
const REJECT_ROLE = "rowhouse.reject_role()";

/**
 * Inserts all rows by one statement. If a row violates a rule, retries them one by one, because PostgreSQL does not report
 * the row. The error's hint contains the number of the first violating row. If no row fails in the retry, all rows are
 * stored.
 */
function createAll(table: ColumnSet, raiseAgain: string): CreatedRows {
  const { ids } = placeholdersOf("create_many");
  const insert = insertNew(
    table,
    (text) => `string_agg(${text}, ',' order by "$row"."id") into "$text"`,
  );
  return {
    declared: [
      `"$ids" uuid[] := ${ids};`,
      '"$bodies" jsonb := "$all";',
      '"$isEach" bool := false;',
      declareField(table),
    ].join("\n  "),
    create: `loop
    begin
      loop
        if "$isEach" then
          "$bodies" := jsonb_build_array("$all" -> "$count");
          "$count" := "$count" + 1;
          "$ids" := array[(${ids})["$count"]];
        end if;
        ${insert};
        "$rows" := array_append("$rows", "$text");
        exit when not "$isEach" or "$count" = cardinality(${ids});
      end loop;
      exit;
    exception when integrity_constraint_violation then
      if "$isEach" then
        ${raiseAgain}
      end if;
      "$isEach" := true;
    end;
  end loop;`,
  };
}

const NEW = { ids: '"$ids"', bodies: '"$bodies"' } as const;

/**
 * Inserts the rows of `"$ids"` and `"$bodies"`, and selects what a response has of them; `toSelected` gets the text of a row of
 * `"$row"`. For people, checks the rows first.
 */
export function insertNew(
  table: ColumnSet,
  toSelected: (text: string) => string,
  options: Inserted = {},
): string {
  const shown = shownOfNew(table);
  const checks = rejectNewRows(table, { ...NEW, ...options });
  const written = callerOf(table).toShort('"$row"."id"');
  if (shown !== "each") {
    const insert = insertMany(table, toSelected(shown === "whole" ? ROW_TEXT : written), options);
    return checks === "" ? insert : `${checks}\n    ${insert}`;
  }
  const read = `(select ${ROW_TEXT} from (select ${outputs(table)} from data.${quoteName(table.name)} as "$t"
        where ${isRow(placeholdersOf("create_many").app, '"$new"."$id"')}${andVisible(table)}) as "$row") as "$text"`;
  return `${checks}
    ${insertRows(table, options)};
    select ${toSelected(`coalesce("$row"."$text", ${written})`)}
    from (select "$new"."$id" as "id", ${read} from unnest("$ids") as "$new" ("$id")) as "$row"`;
}

type Inserted = {
  /** The time of a row, an expression that can use its position `"$new"."$nth"`; by default all rows have the statement's time. */
  readonly now?: string;
};

/** Inserts the rows of `"$ids"` and `"$bodies"`, and selects these values of them. */
function insertMany(table: ColumnSet, selected: string, rows: Inserted): string {
  return `with "$row" as (
      ${insertRows(table, rows)}
      returning ${outputs(table)})
    select ${selected} from "$row"`;
}

function insertRows(table: ColumnSet, { now }: Inserted): string {
  const { app } = placeholdersOf("create_many");
  const columns = table.columns.map((column) => initial(table, column, now));
  const values = [app, '"$new"."$id"', ...columns];
  return `insert into ${target(table)}
      select ${values.join(",\n        ")}
      ${fromNew({ ...NEW, ...(now === undefined ? {} : { now }) })}`;
}
