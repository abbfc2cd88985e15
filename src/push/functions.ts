/**
 * The bodies of the six functions of a set of columns: each runs one statement and returns finished JSON text. They expect
 * hostile column names: parameters are `$n`, every variable and alias contains a `$`, which no column can, and every
 * name, type and operator is qualified, so that no session's schemas are searched.
 *
 * @module
 */

import {
  type ColumnSet,
  ENDPOINTS,
  type Endpoint,
  FUNCTION_CALLERS,
  FUNCTION_OWNER,
  functionSignature,
  hashColumnSet,
  NO_MATCH,
  placeholdersOf,
  type RecordedName,
  SCOPE_BIT,
  TAG_LENGTH,
} from "../catalog/mod.ts";
import { APP_SETTING, quoteBody, quoteLiteral, quoteName } from "../db/mod.ts";
import { sqlDefault, sqlType } from "./types.ts";

type SetColumn = ColumnSet["columns"][number];

const TEXT = "pg_catalog.text";

const BODIES: Readonly<Record<Endpoint, (table: ColumnSet) => string>> = {
  list: listBody,
  get: getBody,
  create: createBody,
  create_many: createManyBody,
  update: updateBody,
  delete: deleteBody,
};

/** A list looks twice, and must see one state of its table. */
const VOLATILITY: Readonly<Record<Endpoint, "stable" | "volatile">> = {
  list: "stable",
  get: "volatile",
  create: "volatile",
  create_many: "volatile",
  update: "volatile",
  delete: "volatile",
};

/** The statements that create or replace the functions of a set, and grant their execution. */
export function renderFunctions(table: ColumnSet): string[] {
  return ENDPOINTS.flatMap((endpoint) => {
    const signature = functionSignature(table, endpoint);
    // A default may contain any text, even a dollar quote.
    const body = quoteBody(renderBody(table, endpoint));
    return [
      `create or replace function ${signature} returns ${TEXT} language plpgsql ${VOLATILITY[endpoint]} security definer as ${body}`,
      `alter function ${signature} owner to ${FUNCTION_OWNER}`,
      `revoke all on function ${signature} from public`,
      `grant execute on function ${signature} to ${FUNCTION_CALLERS.join(", ")}`,
    ];
  });
}

/** The statements that drop the functions of a set. */
export function renderDropFunctions(set: RecordedName): string[] {
  return ENDPOINTS.map((endpoint) => `drop function if exists ${functionSignature(set, endpoint)}`);
}

/** A function's body, as PostgreSQL stores it between line ends. */
export function renderBody(table: ColumnSet, endpoint: Endpoint): string {
  return BODIES[endpoint](table);
}

/**
 * The tenant and UTC, for this transaction only; one plan serves every tenant. A plan that a session makes while a table is
 * small would read it whole, and stay while the table grows: so indexes are always used, for cascades too.
 */
function setTenant(app: string): string {
  return `  perform pg_catalog.set_config('${APP_SETTING}', ${app}::${TEXT}, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);`;
}

const EQUALS = "operator(pg_catalog.=)";

/**
 * Whether a live key of the calling app, with the scope that the endpoint asks for, was proved. Looked up after the
 * settings, which keep it on its index however few keys there were when the session first planned it.
 */
function isProved(endpoint: Endpoint): string {
  const { app, proof } = placeholdersOf(endpoint);
  const small = (value: number) => `${value}::pg_catalog.int2`;
  return `exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" ${EQUALS} ${app} and "$p"."digest" ${EQUALS} pg_catalog.sha256(${proof})
      and ("$p"."scopes" operator(pg_catalog.&) ${small(SCOPE_BIT[endpoint])}) operator(pg_catalog.<>) ${small(0)}
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp())`;
}

/** The start of a body: sets the tenant, and refuses without a proof. */
function beginAs(endpoint: Endpoint): string {
  return `${setTenant(placeholdersOf(endpoint).app)}
  if not ${isProved(endpoint)} then
    return rowhouse.refuse_key();
  end if;`;
}

/** Up to this many stored bytes, perhaps compressed, a page is built in one go and measured afterwards. */
const STORED_BYTES = 524_288;
/** A tenth faster than what json_agg makes of the same rows, and without its line breaks. */
const ROW_TEXT = `pg_catalog.row_to_json("$row")::${TEXT}`;

/**
 * The tag of the page, followed by the page unless the caller knows that tag. An ordinary page is built in one go; one that
 * may be large is built row by row. It ends at the limit, and before a row that is larger than the limit. If that row is
 * the first one, its id is reported. All is read from one state of the table, because the function is stable.
 */
function listBody(table: ColumnSet): string {
  const { app, limit, offset, bytes, known } = placeholdersOf("list");
  const mine = `from data.${quoteName(table.name)} as "$t" where "$t"."app_id" ${EQUALS} ${app} order by "$t"."id"`;
  const page = `select ${outputs(table)} ${mine} limit ${limit} offset ${offset}`;
  return `declare
  "$tag" ${TEXT};
  "$found" pg_catalog.int8;
  "$stored" pg_catalog.int8;
  "$text" ${TEXT};
  "$one" record;
  "$rows" ${TEXT}[] := '{}';
  "$count" pg_catalog.int8 := 0;
  "$bytes" pg_catalog.int8 := 0;
begin
${beginAs("list")}
  ${lookAtPage(table, mine)};
  if "$tag" ${EQUALS} any (pg_catalog.string_to_array(${known}, ',')) then
    return "$tag";
  end if;
  if "$stored" operator(pg_catalog.<=) ${STORED_BYTES} then
    select pg_catalog.concat("$tag", '{"rows":[', pg_catalog.string_agg(${ROW_TEXT}, ','), ${envelopeEnd(limit)})
    into "$text" from (${page}) as "$row";
    if pg_catalog.octet_length("$text") operator(pg_catalog.<=) ${bytes} then
      return "$text";
    end if;
  end if;
  for "$one" in ${page} loop
    exit when "$bytes" operator(pg_catalog.>) ${bytes};
    "$text" := case when ${leastBytes(table)} operator(pg_catalog.<=) ${bytes} then pg_catalog.row_to_json("$one")::${TEXT} end;
    if "$text" is null or ${isTooLarge("$text", bytes)} then
      if "$count" ${EQUALS} 0 then
        return rowhouse.refuse_row("$one"."id");
      end if;
      exit;
    end if;
    "$rows" := pg_catalog.array_append("$rows", "$text");
    "$count" := "$count" operator(pg_catalog.+) 1;
    "$bytes" := "$bytes" operator(pg_catalog.+) pg_catalog.octet_length("$text");
  end loop;
  return pg_catalog.concat("$tag", '{"rows":[', pg_catalog.array_to_string("$rows", ','), ${envelopeEnd('"$count"')});
end`;
}

/** The end of a page's text, after `counted` of the rows that were found: one more than the page's, if there are. */
function envelopeEnd(counted: string): string {
  const { limit, offset } = placeholdersOf("list");
  return `'],"limit":', ${limit}, ',"offset":', ${offset}, ',"hasMore":',
      case when "$found" operator(pg_catalog.>) ${counted} then 'true' else 'false' end, '}'`;
}

/**
 * One look at the page and the row that follows it, without building any text: its tag, how many rows there are, and how
 * many bytes their variable-length columns take as stored. The tag changes with everything that shapes the page. A row's
 * `xmin` and `ctid` change whenever the row does; after a restore, and in another database, they may come again, so the
 * start of the server and a random value of the database are part of it too.
 */
function lookAtPage(table: ColumnSet, mine: string): string {
  const { limit, offset, bytes } = placeholdersOf("list");
  const sizes = unboundedColumns(table).map(
    ({ name }) => `coalesce(pg_catalog.pg_column_size("$t".${quoteName(name)}), 0)`,
  );
  const size = sizes.length === 0 ? "0" : sizes.join(" operator(pg_catalog.+) ");
  const bytesOf = (name: string) => `pg_catalog.int4send(${name})`;
  const parts = [
    `(select "$seed"."value" from rowhouse."tag_seed" as "$seed")`,
    `pg_catalog.timestamptz_send(pg_catalog.pg_postmaster_start_time())`,
    `${quoteLiteral(hashColumnSet(table))}::pg_catalog.bytea`,
    ...[limit, offset, bytes].map(bytesOf),
    `coalesce(pg_catalog.string_agg("$row"."$state", ''::pg_catalog.bytea), ''::pg_catalog.bytea)`,
  ];
  const state = ['uuid_send("$t"."id")', 'xidsend("$t"."xmin")', 'tidsend("$t"."ctid")'];
  return `select pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(${parts.join(CONCAT)}), 'hex'), ${TAG_LENGTH}),
    pg_catalog.count(*), coalesce(pg_catalog.sum("$row"."$size"), 0)
  into "$tag", "$found", "$stored" from (
    select ${state.map((part) => `pg_catalog.${part}`).join(CONCAT)} as "$state", ${size} as "$size"
    ${mine} limit ${limit} operator(pg_catalog.+) 1 offset ${offset}) as "$row"`;
}

const CONCAT = " operator(pg_catalog.||) ";

function isTooLarge(text: string, bytes: string): string {
  return `pg_catalog.octet_length("${text}") operator(pg_catalog.>) ${bytes}`;
}

/** A lower bound of a row's size, without decompressing it: a row far too large is not built just to be measured. */
function leastBytes(table: ColumnSet): string {
  const sizes = unboundedColumns(table).map(({ name, kind }) => {
    const size = kind === "string" ? "octet_length" : "pg_column_size";
    return `coalesce(pg_catalog.${size}("$one".${quoteName(name)}), 0)::pg_catalog.int8`;
  });
  return sizes.length === 0 ? "0" : `(${sizes.join(" operator(pg_catalog.+) ")})`;
}

function unboundedColumns(table: ColumnSet): SetColumn[] {
  return table.columns.filter(({ kind }) => kind === "string" || kind === "json");
}

function getBody(table: ColumnSet): string {
  const { app, id, bytes } = placeholdersOf("get");
  return `declare
  "$text" ${TEXT};
begin
${setTenant(app)}
  "$text" := case when ${isProved("get")} then (
    select pg_catalog.row_to_json("$row")::${TEXT}
    from (select ${outputs(table)} from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)}) as "$row"
  ) else rowhouse.refuse_key() end;
${returnText(id, bytes)}
end`;
}

/** The end of a body whose answer is one row; a write of one that is too large is undone. */
function returnText(id: string, bytes: string): string {
  return `  if ${isTooLarge("$text", bytes)} then
    return rowhouse.refuse_row(${id});
  end if;
  return "$text";`;
}

function createBody(table: ColumnSet): string {
  const { app, id, body, bytes, claim } = placeholdersOf("create");
  const values = [app, id, ...table.columns.map((_, index) => variable(index))];
  const declared = table.columns.map(
    (column, index) =>
      `  ${variable(index)} ${sqlType(table, column)} := ${initial(table, column)};`,
  );
  return `declare
  "$body" pg_catalog.jsonb := ${body}::pg_catalog.jsonb;
${declared.map((line) => `${line}\n`).join("")}  "$row" record;
  "$text" ${TEXT};
begin
${beginAs("create")}
${claimKey({ app, claim, answer: rowOfVariables(table, { app, id }), short: idText(id) })}
  insert into ${target(table)}
  values (${values.join(", ")})
  returning ${outputs(table)} into "$row";
  "$text" := ${ROW_TEXT};
${returnText(id, bytes)}
end`;
}

type Claim = { app: string; claim: string; answer: string; short: string };

/** With an idempotency key, nothing is written before the key is claimed; one that was used before is answered. */
function claimKey({ app, claim, answer, short }: Claim): string {
  return `  if ${claim} is not null then
    "$text" := rowhouse.claim_key(${app}, ${claim}, ${answer}, ${short});
    if "$text" is not null then
      return "$text";
    end if;
  end if;`;
}

/** Records what a write was answered that has claimed its key. */
function answerKey({ app, claim }: { app: string; claim: string }): string {
  return `  if ${claim} is not null then
    perform rowhouse.answer_key(${app}, ${claim}, "$text");
  end if;`;
}

/** The text of a row with its id alone. */
function idText(id: string): string {
  return `pg_catalog.concat('{"id":"', ${id}, '"}')`;
}

/** The text of the row that is about to be inserted, as `returning` will give it: the one that is recorded with a key. */
function rowOfVariables(table: ColumnSet, { app, id }: { app: string; id: string }): string {
  const own = table.columns.map((column, index) => {
    const value = column.kind === "decimal" ? `${variable(index)}::${TEXT}` : variable(index);
    return `${value} as ${quoteName(column.name)}`;
  });
  const columns = [`${id} as "id"`, `${app} as "app_id"`, ...own].join(", ");
  return `(select pg_catalog.row_to_json("$new")::${TEXT} from (select ${columns}) as "$new")`;
}

/** Where new rows go: the table and its columns, in the order of their values. */
function target(table: ColumnSet): string {
  const names = ["app_id", "id", ...table.columns.map((column) => column.name)].map(quoteName);
  return `data.${quoteName(table.name)} as "$t" (${names.join(", ")})`;
}

/**
 * All rows by one statement. If one breaks a rule, all are tried again one by one, because PostgreSQL does not say which row
 * it was: the number of the first one at fault is passed on as the error's hint. Should they all be good by then, they stay.
 */
function createManyBody(table: ColumnSet): string {
  const { app, ids, bodies, bytes, claim } = placeholdersOf("create_many");
  const texts = `pg_catalog.string_agg(${idText('"$one"."$id"')}, ',' order by "$one"."$id")`;
  const short = `(select ${rowsText(texts)} from pg_catalog.unnest(${ids}) as "$one" ("$id"))`;
  const fields = ["constraint", "column", "table"].map((name) => `"$${name}"`);
  const insert = insertMany(table);
  return `declare
  "$all" pg_catalog.jsonb := ${bodies}::pg_catalog.jsonb;
  "$ids" pg_catalog.uuid[] := ${ids};
  "$bodies" pg_catalog.jsonb := "$all";
  "$count" pg_catalog.int4 := 0;
  "$rows" ${TEXT}[] := '{}';
  "$text" ${TEXT};
  "$state" ${TEXT};
${fields.map((name) => `  ${name} ${TEXT};\n`).join("")}begin
${beginAs("create_many")}
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
  "$text" := ${rowsText('"$text"')};
${answerKey({ app, claim })}
${returnText(`(${ids})[1]`, bytes)}
end`;
}

/** The answer to a batch. */
function rowsText(texts: string): string {
  return `pg_catalog.concat('{"rows":[', ${texts}, ']}')`;
}

/** Inserts the rows of `$ids` and `$bodies`; their texts, in the order of their ids, go to `$text`. */
function insertMany(table: ColumnSet): string {
  const { app } = placeholdersOf("create_many");
  const values = [app, '"$new"."$id"', ...table.columns.map((column) => initial(table, column))];
  return `with "$row" as (
      insert into ${target(table)}
      select ${values.join(",\n        ")}
      from rows from (pg_catalog.unnest("$ids"), pg_catalog.jsonb_array_elements("$bodies")) as "$new" ("$id", "$body")
      returning ${outputs(table)})
    select pg_catalog.string_agg(${ROW_TEXT}, ',' order by "$row"."id") into "$text" from "$row"`;
}

/** Whether the row has one of the tags asked for, which follow from its text; looked at again if another write was first. */
function isMatch(table: ColumnSet, match: string): string {
  const text = `(select pg_catalog.row_to_json("$old")::${TEXT} from (select ${outputs(table)}) as "$old")`;
  return `(${match} is null or ${tagOf(text)} ${EQUALS} any (pg_catalog.string_to_array(${match}, ',')))`;
}

/** The tag of a row: as many hex digits of the hash of its text as the process takes. */
function tagOf(text: string): string {
  return `pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(${text}, 'UTF8')), 'hex'), ${TAG_LENGTH})`;
}

/** What a write that found no row to write returns: nothing, unless there is a row, whose tag was not asked for. */
function notMatched(table: ColumnSet, endpoint: "update" | "delete"): string {
  const { app, id, match } = placeholdersOf(endpoint);
  return `case when ${match} is not null and exists (
    select from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)}) then '${NO_MATCH}' end`;
}

function updateBody(table: ColumnSet): string {
  const { app, id, body, bytes, match, claim } = placeholdersOf("update");
  const declared = table.columns.map(
    (column, index) => `  ${variable(index)} ${sqlType(table, column)} := ${input(table, column)};`,
  );
  const assigned = table.columns.map(
    (column, index) =>
      `${quoteName(column.name)} = case when ${isGiven(column)} then ${variable(index)} else "$t".${quoteName(column.name)} end`,
  );
  // A table without columns has nothing to set: the key is set to itself, so that the statement still finds the row.
  const set = assigned.length === 0 ? `"id" = "$t"."id"` : assigned.join(",\n    ");
  return `declare
  "$body" pg_catalog.jsonb := ${body}::pg_catalog.jsonb;
${declared.map((line) => `${line}\n`).join("")}  "$row" record;
  "$text" ${TEXT};
begin
${beginAs("update")}
${claimKey({ app, claim, answer: "null", short: idText(id) })}
  update data.${quoteName(table.name)} as "$t" set
    ${set}
  where ${isRow(app, id)} and ${isMatch(table, match)}
  returning ${outputs(table)} into "$row";
  if not found then
    if ${claim} is not null then
      perform rowhouse.forget_key(${app}, ${claim});
    end if;
    return ${notMatched(table, "update")};
  end if;
  "$text" := ${ROW_TEXT};
${answerKey({ app, claim })}
${returnText(id, bytes)}
end`;
}

function deleteBody(table: ColumnSet): string {
  const { app, id, match } = placeholdersOf("delete");
  return `begin
${beginAs("delete")}
  delete from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)} and ${isMatch(table, match)};
  if found then
    return '';
  end if;
  return ${notMatched(table, "delete")};
end`;
}

function isRow(app: string, id: string): string {
  return `"$t"."app_id" ${EQUALS} ${app} and "$t"."id" ${EQUALS} ${id}`;
}

/** Columns as they are returned: decimals as text, because the receiver's JSON numbers would lose digits. */
function outputs(table: ColumnSet): string {
  const own = table.columns.map((column) => {
    const name = quoteName(column.name);
    return column.kind === "decimal" ? `"$t".${name}::${TEXT} as ${name}` : `"$t".${name}`;
  });
  return [`"$t"."id"`, `"$t"."app_id"`, ...own].join(", ");
}

function variable(index: number): string {
  return `"$v${index}"`;
}

function isGiven(column: SetColumn): string {
  return `"$body" operator(pg_catalog.?) ${quoteLiteral(column.name)}`;
}

/** A column's value in a new row: that of the body, or else its default. */
function initial(table: ColumnSet, column: SetColumn): string {
  const given = input(table, column);
  if (column.default === undefined) return given;
  return `case when ${isGiven(column)} then ${given} else ${sqlDefault(table, column)} end`;
}

/** A column's value from the body, in the column's type; JSON null and an absent key are both SQL NULL. */
function input(table: ColumnSet, column: SetColumn): string {
  const text = `("$body" operator(pg_catalog.->>) ${quoteLiteral(column.name)})`;
  if (column.kind !== "json") return `${text}::${sqlType(table, column)}`;
  return `case when ${text} is not null then "$body" operator(pg_catalog.->) ${quoteLiteral(column.name)} end`;
}
