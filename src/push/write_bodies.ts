/** The bodies of write functions. @see function_terms.ts for their parts @module */
import {
  type ColumnSet,
  type FunctionSite,
  NO_MATCH,
  placeholdersOf,
  TAG_LENGTH,
} from "../catalog/mod.ts";
import { quoteLiteral, quoteName } from "../db/mod.ts";
import {
  beginAs,
  declareLive,
  EQUALS,
  initial,
  input,
  isGiven,
  isRow,
  noteChanges,
  outputs,
  outputVariable,
  ROW_TEXT,
  returnText,
  TEXT,
  target,
  variable,
} from "./function_terms.ts";
import { sqlType } from "./types.ts";

export function createBody(table: ColumnSet, site: FunctionSite): string {
  const { app, id, body, bytes, claim } = placeholdersOf("create");
  const values = [app, id, ...table.columns.map((_, index) => variable(index))];
  const declared = table.columns.map(
    (column, index) =>
      `  ${variable(index)} ${sqlType(table, column)} := ${initial(table, column)};`,
  );
  return `declare
  "$body" pg_catalog.jsonb := ${body}::pg_catalog.jsonb;
${declared.map((line) => `${line}\n`).join("")}${declareLive("create", site)}  "$row" record;
  "$text" ${TEXT};
begin
${beginAs("create", site)}
${claimKey({ app, claim, answer: rowOfVariables(table, { app, id }), short: idText(id) })}
  insert into ${target(table)}
  values (${values.join(", ")})
  returning ${outputs(table)} into "$row";
${noteRow(table, site, { app, id })}  "$text" := ${ROW_TEXT};
${returnText(id, bytes)}
end`;
}

/** Records a written row. */
function noteRow(
  table: ColumnSet,
  site: FunctionSite,
  { app, id }: { app: string; id: string },
): string {
  return noteChanges(site, `values (${app}, ${quoteLiteral(table.name)}, ${id})`);
}

type Claim = { app: string; claim: string; answer: string; short: string };

/** With an idempotency key, claims the key before writing. A used key replays its response. */
function claimKey({ app, claim, answer, short }: Claim): string {
  return `  if ${claim} is not null then
    "$text" := rowhouse.claim_key(${app}, ${claim}, ${answer}, ${short});
    if "$text" is not null then
      return "$text";
    end if;
  end if;`;
}

/** Records the response of a write that claimed its key. */
function answerKey({ app, claim }: { app: string; claim: string }): string {
  return `  if ${claim} is not null then
    perform rowhouse.answer_key(${app}, ${claim}, "$text");
  end if;`;
}

/** The text of a row with only its id. */
export function idText(id: string): string {
  return `pg_catalog.concat('{"id":"', ${id}, '"}')`;
}

/** The text of the row before its insert, equal to the later `returning`: recorded with a key. */
function rowOfVariables(table: ColumnSet, { app, id }: { app: string; id: string }): string {
  const own = table.columns.map((column, index) => {
    return `${outputVariable(column, index)} as ${quoteName(column.name)}`;
  });
  const columns = [`${id} as "id"`, `${app} as "app_id"`, ...own].join(", ");
  return `(select pg_catalog.row_to_json("$new")::${TEXT} from (select ${columns}) as "$new")`;
}

/**
 * Inserts all rows by one statement. If a row violates a rule, retries them one by one, because PostgreSQL does not report
 * which row it was. The error's hint contains the number of the first violating row. If no row fails in the retry, all rows are stored.
 */
export function createManyBody(table: ColumnSet, site: FunctionSite): string {
  if (site.isDistributed) return createEachBody(table, site);
  const { app, ids, bodies, bytes, claim } = placeholdersOf("create_many");
  const texts = `pg_catalog.string_agg(${idText('"$one"."$id"')}, ',' order by "$one"."$id")`;
  const short = `(select ${rowsText(texts)} from pg_catalog.unnest(${ids}) as "$one" ("$id"))`;
  const fields = ["constraint", "column", "table"].map((name) => `"$${name}"`);
  const joined = `pg_catalog.string_agg(${ROW_TEXT}, ',' order by "$row"."id") into "$text"`;
  const insert = insertMany(table, joined);
  return `declare
  "$all" pg_catalog.jsonb := ${bodies}::pg_catalog.jsonb;
  "$ids" pg_catalog.uuid[] := ${ids};
  "$bodies" pg_catalog.jsonb := "$all";
  "$count" pg_catalog.int4 := 0;
  "$rows" ${TEXT}[] := '{}';
  "$text" ${TEXT};
  "$state" ${TEXT};
${declareLive("create_many", site)}${fields.map((name) => `  ${name} ${TEXT};\n`).join("")}begin
${beginAs("create_many", site)}
${claimKey({ app, claim, answer: "null", short })}
  begin
    ${insert};
  exception when integrity_constraint_violation then
    begin
      while "$count" operator(pg_catalog.<) pg_catalog.cardinality(${ids}) loop
        "$bodies" := pg_catalog.jsonb_build_array("$all" operator(pg_catalog.->) "$count");
        "$count" := "$count" operator(pg_catalog.+) 1;
        "$ids" := array[(${ids})["$count"]];
        ${insert};
        "$rows" := pg_catalog.array_append("$rows", "$text");
      end loop;
      "$text" := pg_catalog.array_to_string("$rows", ',');
    exception when integrity_constraint_violation then
      get stacked diagnostics "$state" = returned_sqlstate, "$constraint" = constraint_name,
        "$column" = column_name, "$table" = table_name;
      raise exception 'a row of a batch breaks a rule' using errcode = "$state", constraint = "$constraint",
        column = "$column", table = "$table", hint = ("$count" operator(pg_catalog.-) 1)::${TEXT};
    end;
  end;
${noteChanges(site, `select ${app}, ${quoteLiteral(table.name)}, "$new"."$id" from pg_catalog.unnest(${ids}) as "$new" ("$id")`)}  "$text" := ${rowsText('"$text"')};
${answerKey({ app, claim })}
${returnText(`(${ids})[1]`, bytes)}
end`;
}

/** The response to a batch. */
function rowsText(texts: string): string {
  return `pg_catalog.concat('{"rows":[', ${texts}, ']}')`;
}

/**
 * Inserts the rows of `$ids` and `$bodies`, and selects these values of them. `now` is the time of a row, an expression that can
 * use its position `"$new"."$nth"`; by default all rows have the statement's time.
 */
export function insertMany(table: ColumnSet, selected: string, now?: string): string {
  const { app } = placeholdersOf("create_many");
  const columns = table.columns.map((column) => initial(table, column, now));
  const values = [app, '"$new"."$id"', ...columns];
  const [ordinality, nth] = now === undefined ? ["", ""] : [" with ordinality", ', "$nth"'];
  return `with "$row" as (
      insert into ${target(table)}
      select ${values.join(",\n        ")}
      from rows from (pg_catalog.unnest("$ids"), pg_catalog.jsonb_array_elements("$bodies"))${ordinality} as "$new" ("$id", "$body"${nth})
      returning ${outputs(table)})
    select ${selected} from "$row"`;
}

/**
 * The same for distributed tables: one statement per row, because Citus cannot plan an insert of a query in a
 * larger statement. Passes on PostgreSQL's message, which names the constraint, because Citus passes on nothing else.
 */
function createEachBody(table: ColumnSet, site: FunctionSite): string {
  const { app, ids, bodies, bytes, claim } = placeholdersOf("create_many");
  const texts = `pg_catalog.string_agg(${idText('"$one"."$id"')}, ',' order by "$one"."$id")`;
  const short = `(select ${rowsText(texts)} from pg_catalog.unnest(${ids}) as "$one" ("$id"))`;
  const names = table.columns.map((_, index) => variable(index));
  const declared = table.columns.map(
    (column, index) => `  ${variable(index)} ${sqlType(table, column)};\n`,
  );
  const read = table.columns.map(
    (column, index) => `      ${variable(index)} := ${initial(table, column)};\n`,
  );
  return `declare
  "$all" pg_catalog.jsonb := ${bodies}::pg_catalog.jsonb;
  "$body" pg_catalog.jsonb;
  "$id" pg_catalog.uuid;
${declared.join("")}  "$row" record;
  "$count" pg_catalog.int4 := 0;
  "$rows" ${TEXT}[] := '{}';
  "$text" ${TEXT};
  "$state" ${TEXT};
  "$message" ${TEXT};
begin
${beginAs("create_many", site)}
${claimKey({ app, claim, answer: "null", short })}
  begin
    while "$count" operator(pg_catalog.<) pg_catalog.cardinality(${ids}) loop
      "$body" := "$all" operator(pg_catalog.->) "$count";
      "$count" := "$count" operator(pg_catalog.+) 1;
      "$id" := (${ids})["$count"];
${read.join("")}      insert into ${target(table)}
      values (${[app, '"$id"', ...names].join(", ")})
      returning ${outputs(table)} into "$row";
      "$rows" := pg_catalog.array_append("$rows", ${ROW_TEXT});
    end loop;
  exception when integrity_constraint_violation then
    get stacked diagnostics "$state" = returned_sqlstate, "$message" = message_text;
    raise exception '%', "$message" using errcode = "$state", hint = ("$count" operator(pg_catalog.-) 1)::${TEXT};
  end;
  "$text" := ${rowsText(`pg_catalog.array_to_string("$rows", ',')`)};
${answerKey({ app, claim })}
${returnText(`(${ids})[1]`, bytes)}
end`;
}

/** Whether the row has one of the requested tags, computed from its text. Checked again if another write came first. */
function isMatch(table: ColumnSet, match: string): string {
  const text = `(select pg_catalog.row_to_json("$old")::${TEXT} from (select ${outputs(table)}) as "$old")`;
  return `(${match} is null or ${tagOf(text)} ${EQUALS} any (pg_catalog.string_to_array(${match}, ',')))`;
}

/** The tag of a row: the first hex digits of its text's hash, as many as the process uses. */
function tagOf(text: string): string {
  return `pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(${text}, 'UTF8')), 'hex'), ${TAG_LENGTH})`;
}

/** The result of a write without a matching row: empty, or a marker if the row has another tag. */
function notMatched(table: ColumnSet, endpoint: "update" | "delete"): string {
  const { app, id, match } = placeholdersOf(endpoint);
  return `case when ${match} is not null and exists (
    select from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)}) then '${NO_MATCH}' end`;
}

export function updateBody(table: ColumnSet, site: FunctionSite): string {
  const { isDistributed } = site;
  const { app, id, body, bytes, match, claim } = placeholdersOf("update");
  const declared = table.columns.map(
    (column, index) => `  ${variable(index)} ${sqlType(table, column)} := ${input(table, column)};`,
  );
  const assigned = table.columns.map(
    (column, index) =>
      `${quoteName(column.name)} = case when ${isGiven(column)} then ${variable(index)} else "$t".${quoteName(column.name)} end`,
  );
  const rows = `data.${quoteName(table.name)} as "$t"`;
  const condition = isDistributed ? "" : ` and ${isMatch(table, match)}`;
  const rule = `where ${isRow(app, id)}${condition}`;
  // An empty update does not change the row, nor anything derived from its state.
  const read = `select ${outputs(table)} into "$row" from ${rows} ${rule};`;
  const write = `if "$body" ${EQUALS} '{}' then
    ${read}
  else
    update ${rows} set
    ${assigned.join(",\n    ")}
    ${rule}
    returning ${outputs(table)} into "$row";
  end if;`;
  return `declare
  "$body" pg_catalog.jsonb := ${body}::pg_catalog.jsonb;
${declared.map((line) => `${line}\n`).join("")}${declareLive("update", site)}  "$row" record;
  "$text" ${TEXT};
begin
${beginAs("update", site)}
${claimKey({ app, claim, answer: "null", short: idText(id) })}
${isDistributed ? rejectUnmatched(table, "update") : ""}  ${assigned.length === 0 ? read : write}
  if not found then
    if ${claim} is not null then
      perform rowhouse.forget_key(${app}, ${claim});
    end if;
    return ${notMatched(table, "update")};
  end if;
${noteRow(table, site, { app, id })}  "$text" := ${ROW_TEXT};
${answerKey({ app, claim })}
${returnText(id, bytes)}
end`;
}

export function deleteBody(table: ColumnSet, site: FunctionSite): string {
  const { isDistributed } = site;
  const { app, id, match } = placeholdersOf("delete");
  const variables = `${declareLive("delete", site)}${isDistributed ? `  "$row" record;\n` : ""}`;
  const declared = variables === "" ? "" : `declare\n${variables}`;
  const condition = isDistributed ? "" : ` and ${isMatch(table, match)}`;
  return `${declared}begin
${beginAs("delete", site)}
${isDistributed ? rejectUnmatched(table, "delete") : ""}  delete from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)}${condition};
  if found then
${noteDelete(table, site)}    return '';
  end if;
  return ${notMatched(table, "delete")};
end`;
}

/** Records a deleted row, and each table with rows deleted by cascading references. */
function noteDelete(table: ColumnSet, site: FunctionSite): string {
  const { app, id } = placeholdersOf("delete");
  const name = quoteLiteral(table.name);
  const source = quoteLiteral(`data.${quoteName(table.name)}`);
  // Searches pg_depend: constraints have no index by the referenced table.
  const referring = (oid: string) => `select "$k"."conrelid"
        from pg_catalog.pg_depend as "$d"
        join pg_catalog.pg_constraint as "$k" on "$k"."oid" ${EQUALS} "$d"."objid"
        where "$d"."classid" ${EQUALS} 'pg_catalog.pg_constraint'::pg_catalog.regclass
          and "$d"."refclassid" ${EQUALS} 'pg_catalog.pg_class'::pg_catalog.regclass
          and "$d"."refobjid" ${EQUALS} ${oid} and "$k"."confrelid" ${EQUALS} "$d"."refobjid"
          and "$k"."confdeltype" ${EQUALS} 'c'::pg_catalog."char"`;
  return noteChanges(
    site,
    `with recursive "$t" ("$oid") as (
        ${referring(`${source}::pg_catalog.regclass::pg_catalog.oid`)}
        union
        select "$n"."$oid" from "$t" cross join lateral (${referring('"$t"."$oid"')}) as "$n" ("$oid"))
      select ${app}, ${name}, ${id}
      union all
      select ${app}, "$c"."relname", null from "$t"
      join pg_catalog.pg_class as "$c" on "$c"."oid" ${EQUALS} "$t"."$oid"`,
  );
}

/**
 * Rejects a write of a row without a requested tag, in a separate statement: Citus cannot compute tags in the statement that
 * writes. Locks the row, so that it does not change before the write.
 */
function rejectUnmatched(table: ColumnSet, endpoint: "update" | "delete"): string {
  const { app, id, match } = placeholdersOf(endpoint);
  const forget =
    endpoint === "update"
      ? `
      if ${placeholdersOf("update").claim} is not null then
        perform rowhouse.forget_key(${app}, ${placeholdersOf("update").claim});
      end if;`
      : "";
  return `  if ${match} is not null then
    select ${outputs(table)} into "$row" from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)} for update;
    if found and ${tagOf(ROW_TEXT)} operator(pg_catalog.<>) all (pg_catalog.string_to_array(${match}, ',')) then${forget}
      return '${NO_MATCH}';
    end if;
  end if;
`;
}
