/** The bodies of functions that create rows. @see function_terms.ts for their parts @module */

import { dialectOf, quoteName } from "../../db/mod.ts";
import { type ColumnSet, type FunctionSite, placeholdersOf } from "../catalog/mod.ts";
import { sqlType } from "../plan/step.ts";
import {
  beginAs,
  claimKey,
  completeKey,
  declareListens,
  idText,
  initial,
  isRow,
  outputs,
  outputVariable,
  ROW_TEXT,
  raiseAgain,
  raisedVariables,
  returnText,
  rowsText,
  target,
  variable,
} from "./function_terms.ts";
import { updateManyBlock } from "./update_many_block.ts";
import { andVisible, declareWho, WHO } from "./view_terms.ts";
import {
  claimOf,
  declareField,
  fromNew,
  newText,
  rejectNew,
  rejectNewRows,
  replayOf,
  shortText,
  shownOfNew,
  writtenText,
} from "./view_write_terms.ts";

export function createBody(table: ColumnSet, site: FunctionSite): string {
  const { app, proof, id, body, bytes, claim: sent } = placeholdersOf("create");
  const values = [app, id, ...table.columns.map((_, index) => variable(index))];
  const owners = table.columns.map(({ name }) => table.view?.owner.includes(name) === true);
  const declared = table.columns.map((column, index) => {
    const value = owners[index] ? "" : ` := ${initial(table, column)}`;
    return `${variable(index)} ${sqlType(table, column)}${value};`;
  });
  const filled = owners.flatMap((isOwner, index) =>
    isOwner ? [`${variable(index)} := ${WHO};`] : [],
  );
  const { claim, ...claimed } = claimOf(table, sent);
  // What a person reads of the row is known after the insert.
  const isKnown = table.view === undefined;
  const response = isKnown ? rowOfVariables(table, { app, id }) : "null";
  const short = shortText(table, id);
  return `declare
  "$body" jsonb := ${body}::jsonb;
  ${declareWho(table)}
  ${declared.join("\n  ")}
  ${claimed.declared}
  ${declareListens("create", site)}
  "$row" record;
  "$text" text;
begin
  ${beginAs(table, "create", site)}
  ${filled.join("\n  ")}
  ${claimed.read}
  ${claimKey({ app, proof, claim, response, short, replay: replayOf(table) })}
  ${rejectNew(table, id)}
  insert into ${target(table)}
  values (${values.join(", ")})
  returning ${outputs(table)} into "$row";
  "$text" := ${newText(table, id)};
  ${isKnown ? "" : completeKey({ app, claim })}
  ${returnText(id, bytes)}
end`;
}

/** The row's text before its insert, equal to the later `returning`. It is recorded with an idempotency key. */
function rowOfVariables(table: ColumnSet, { app, id }: { app: string; id: string }): string {
  const own = table.columns.map((column, index) => {
    return `${outputVariable(column, index)} as ${quoteName(column.name)}`;
  });
  const columns = [`${id} as "id"`, `${app} as "app_id"`, ...own].join(", ");
  return `(select row_to_json("$new")::text from (select ${columns}) as "$new")`;
}

/**
 * Inserts all rows by one statement. If a row violates a rule, retries them one by one, because PostgreSQL does not report
 * the row. The error's hint contains the number of the first violating row. If no row fails in the retry, all rows are
 * stored.
 */
export function createManyBody(table: ColumnSet, site: FunctionSite): string {
  if (!dialectOf(site).insertsQueries) return createEachBody(table, site);
  const { app, proof, ids, bodies, bytes, claim: sent } = placeholdersOf("create_many");
  const { claim, ...claimed } = claimOf(table, sent);
  const texts = `string_agg(${shortText(table, '"$one"."$id"')}, ',' order by "$one"."$id")`;
  const short = `(select ${rowsText(texts)} from unnest(${ids}) as "$one" ("$id"))`;
  const insert = insertNew(
    table,
    (text) => `string_agg(${text}, ',' order by "$row"."id") into "$text"`,
  );
  return `declare
  "$all" jsonb := ${bodies}::jsonb;
  "$ids" uuid[] := ${ids};
  "$bodies" jsonb := "$all";
  "$count" int4 := 0;
  "$isEach" bool := false;
  "$rows" text[] := '{}';
  "$text" text;
  ${declareWho(table)}
  ${declareField(table)}
  ${claimed.declared}
  ${raisedVariables(site)}
  ${declareListens("create_many", site)}
begin
  ${beginAs(table, "create_many", site)}
  ${claimed.read}
  if jsonb_typeof("$all") = 'object' then
    ${isAllowedAction(table, "update") ? updateManyBlock(table, site) : REJECT_ROLE}
  end if;
  ${isAllowedAction(table, "create") ? "" : REJECT_ROLE}
  ${claimKey({ app, proof, claim, response: "null", short, replay: replayOf(table) })}
  loop
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
        ${raiseAgain(site, '"$count"')}
      end if;
      "$isEach" := true;
    end;
  end loop;
  "$text" := array_to_string("$rows", ',');
  "$text" := ${rowsText('"$text"')};
  ${completeKey({ app, claim })}
  ${returnText(`(${ids})[1]`, bytes)}
end`;
}

/** Ends a function of people whose roles allow only its other action. */
const REJECT_ROLE = "return rowhouse.reject_role();";

function isAllowedAction({ view }: ColumnSet, action: "create" | "update"): boolean {
  return view === undefined || view[action] !== undefined;
}

const NEW = { ids: '"$ids"', bodies: '"$bodies"' } as const;

/**
 * Inserts the rows of `"$ids"` and `"$bodies"`, and selects what a response has of them; `toSelected` gets the text of a row of
 * `"$row"`. For people, checks the rows first.
 */
export function insertNew(
  table: ColumnSet,
  toSelected: (text: string) => string,
  options: Pick<Inserted, "now"> = {},
): string {
  const shown = shownOfNew(table);
  const checks = rejectNewRows(table, { ...NEW, ...options });
  const written = writtenText('"$row"."id"');
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
  readonly ids?: string;
  readonly bodies?: string;
  /** What happens if a row exists; by default an error. */
  readonly onConflict?: string;
};

/** Inserts the rows of `ids` and `bodies`, and selects these values of them. */
export function insertMany(
  table: ColumnSet,
  selected: string,
  { onConflict = "", ...rows }: Inserted = {},
): string {
  return `with "$row" as (
      ${insertRows(table, rows)}
      ${onConflict}
      returning ${outputs(table)})
    select ${selected} from "$row"`;
}

function insertRows(
  table: ColumnSet,
  { now, ids = NEW.ids, bodies = NEW.bodies }: Omit<Inserted, "onConflict">,
): string {
  const { app } = placeholdersOf("create_many");
  const columns = table.columns.map((column) => initial(table, column, now));
  const values = [app, '"$new"."$id"', ...columns];
  return `insert into ${target(table)}
      select ${values.join(",\n        ")}
      ${fromNew({ ids, bodies, ...(now === undefined ? {} : { now }) })}`;
}

/** Creates the rows with one statement per row. */
function createEachBody(table: ColumnSet, site: FunctionSite): string {
  const { app, proof, ids, bodies, bytes, claim } = placeholdersOf("create_many");
  const texts = `string_agg(${idText('"$one"."$id"')}, ',' order by "$one"."$id")`;
  const short = `(select ${rowsText(texts)} from unnest(${ids}) as "$one" ("$id"))`;
  const names = table.columns.map((_, index) => variable(index));
  const declared = table.columns.map(
    (column, index) => `${variable(index)} ${sqlType(table, column)};`,
  );
  const read = table.columns.map(
    (column, index) => `${variable(index)} := ${initial(table, column)};`,
  );
  return `declare
  "$all" jsonb := ${bodies}::jsonb;
  "$body" jsonb;
  "$id" uuid;
  ${declared.join("\n  ")}
  "$row" record;
  "$count" int4 := 0;
  "$rows" text[] := '{}';
  "$text" text;
  ${raisedVariables(site)}
begin
  ${beginAs(table, "create_many", site)}
  if jsonb_typeof("$all") = 'object' then
    ${updateManyBlock(table, site)}
  end if;
  ${claimKey({ app, proof, claim, response: "null", short })}
  begin
    while "$count" < cardinality(${ids}) loop
      "$body" := "$all" -> "$count";
      "$count" := "$count" + 1;
      "$id" := (${ids})["$count"];
      ${read.join("\n      ")}
      insert into ${target(table)}
      values (${[app, '"$id"', ...names].join(", ")})
      returning ${outputs(table)} into "$row";
      "$rows" := array_append("$rows", ${ROW_TEXT});
    end loop;
  exception when integrity_constraint_violation then
    ${raiseAgain(site, '"$count"')}
  end;
  "$text" := ${rowsText(`array_to_string("$rows", ',')`)};
  ${completeKey({ app, claim })}
  ${returnText(`(${ids})[1]`, bytes)}
end`;
}
