/**
 * The bodies of the functions that run queries. Lists have conditions, an order or a selection: the ids are found with one statement, whose text
 * `rowhouse.query_statement` builds from this function's constants and a plan of numbers. The rest is constant, and reads rows
 * by their ids. Both read the table under row security.
 *
 * @see function_terms.ts for the parts of the body
 * @see ../db/code/tables/queries.sql
 * @module
 */

import { quoteLiteral, quoteName, SIGNALS } from "../../../db/mod.ts";
import { AGGREGATES, SQL, type SqlKind, VALUES } from "../../../kinds/mod.ts";
import { isMemberOf } from "../../../schema/mod.ts";
import { MAX_COUNTED, MAX_VISITS, MIN_WORK } from "../../../std/limits.ts";
import {
  type ColumnSet,
  type FunctionSite,
  hashColumnSet,
  NO_MEMBER,
  placeholdersOf,
  queryColumns,
  type ServedSet,
  TAG_LENGTH,
} from "../../catalog/mod.ts";
import { sqlType } from "../../plan/step.ts";
import { qualify } from "../../qualify.ts";
import { declareWho, usingWho } from "./caller_terms.ts";
import { beginAs, isTooLarge, rowSize, type SetColumn, startOf } from "./function_terms.ts";
import { ROW_STATE, STATE_SEED } from "./list_body.ts";
import {
  buildRows,
  ENVELOPE,
  eachRow,
  findRelated,
  PAGE_VARIABLES,
  readKeys,
  referencesOfRow,
  rowOf,
  setNext,
} from "./page_rows.ts";
import { renderSeen, renderSeenRows, renderWalks } from "./seen_rows.ts";
import { listRuleWalks } from "./seen_walks_terms.ts";
import { andVisible, type RuleName, renderRule, WHO } from "./view_terms.ts";

/**
 * The tag of the page, followed by the rows unless the caller has that tag. All reads see one state of the table,
 * because the function is stable.
 */
export function queryBody(table: ServedSet, site: FunctionSite): string {
  const { app, proof, plan, values, bytes, known } = placeholdersOf("find");
  const number = (name: string) => `("$plan" ->> '${name}')::int4`;
  const most = readVisits(table);
  const isMerged = listRuleWalks(table, "") !== undefined;
  const execute = (visits: string) => `execute ${renderQueryStatement(table)}
  into "$ids", "$cut", "$total"
  using ${app}, "$values", "$offset" + "$limit" + 1, ${visits}, ${readWork(table)}${usingWho(table)};`;
  return `declare
  ${declareWho(table)}
  ${declareQuery({ plan, values })}
  "$limit" constant int4 := ${number("limit")};
  "$offset" constant int4 := ${number("offset")};
  "$picked" constant int4[] := array(select "$p"."$v"::int4
    from jsonb_array_elements_text("$plan" -> 'picked') as "$p" ("$v"));
  "$cut" text;
  ${
    isMerged
      ? `"$most" constant int4 := ${most};
  "$visits" int4;`
      : ""
  }
  "$total" int8;
  "$found" int4;
  "$states" bytea;
  "$tag" text;
  "$refs" uuid[];
  ${PAGE_VARIABLES}
begin
  ${beginAs(table, "find", site)}
  ${fillSets(table, { app, proof })}
  ${isMerged ? findMerged(execute) : execute(most)}
  -- The ids of a set, for the query function of another table.
  if "$plan" ? 'set' then
    if "$cut" is not null then
      raise exception 'too many rows' using errcode = '${SIGNALS.tooManyVisits}',
        detail = concat("$plan" ->> 'set', ' ', "$cut");
    end if;
    return coalesce(array_to_string("$ids", ','), '');
  end if;
  -- If a walk was cut short, its last row was not compared: the next page starts with it.
  "$found" := coalesce(cardinality("$ids"), 0) - ("$cut" is not null)::int4;
  -- Readers mistake an empty page for the absence of a row with these unique values.
  if "$cut" is not null and ("$plan" ? 'sort' or "$found" < "$offset"
    or "$found" = 0 and "$plan" ? 'isLookup') then
    raise exception 'too many rows' using errcode = '${SIGNALS.tooManyVisits}', detail = "$cut";
  end if;
  "$ids" := "$ids"["$offset" + 1:];
  "$returned" := least("$limit", "$found" - "$offset");
  "$related" := "$plan" -> 'related';
  select string_agg("$row"."$state", ''::bytea order by "$i"."$n"), coalesce(sum("$row"."$size"), 0),
    array_agg("$row"."$refs" order by "$i"."$n")
  into "$states", "$size", "$refs" from ${eachRow('"$ids"')} (
    select ${ROW_STATE} as "$state", ${rowSize(table, "$t")} as "$size", ${referencesOfRow(table)} as "$refs"
    ${rowOf(table, app)}) as "$row";
  ${findRelated({ app, proof })}
  "$tag" := left(encode(sha256(${[
    ...STATE_SEED,
    `${quoteLiteral(hashColumnSet(table))}::bytea`,
    `convert_to(concat_ws(' ', ${plan}, ${values}::text, ${bytes}, "$cut", "$total", array_to_string("$members", ',')${usingWho(table)}), 'UTF8')`,
    `coalesce("$states", ''::bytea)`,
  ].join(" || ")}), 'hex'), ${TAG_LENGTH});
  if "$tag" = any (string_to_array(${known}, ',')) then
    return "$tag";
  end if;
  ${buildRows(table, { app, bytes })}
  if cardinality("$ids") > "$count" then
    ${readKeys(table, {
      app,
      numbers: `jsonb_array_elements_text("$plan" -> 'order')
          with ordinality as "$k" ("$v", "$n")`,
    })}
    ${setNext(`"$plan" ->> 'cursor'`)}
  end if;
  return concat("$tag", ${ENVELOPE},
    case when "$plan" ? 'isCounted'
      then concat(',"count":', coalesce("$total"::text, 'null')) end, '}');
end`;
}

/** How many rows the first visits of merged walks have for each row of the page, without and with further conditions. */
const FIRST_VISITS = { all: 2, some: 32 };
/** How many times more the next visits are. */
const MORE_VISITS = 8;

/**
 * Merged walks of memberships read all their visits before the first row. So a page begins with few visits, and is repeated with more if
 * they end before its last row.
 */
function findMerged(execute: (visits: string) => string): string {
  const { all, some } = FIRST_VISITS;
  return `"$visits" := case when ("$plan" ->> 'merged')::bool and not "$plan" ? 'isCounted'
    then least("$most", case when "$plan" ? 'filter' or "$plan" ? 'text' then ${some} else ${all} end
      * ("$offset" + "$limit" + 1)) else "$most" end;
  loop
    ${execute('"$visits"')}
    exit when "$cut" is null or "$cut" <> 'visits' or "$visits" >= "$most";
    "$visits" := least("$most", ${MORE_VISITS} * "$visits");
  end loop;`;
}

/** The most rows that a plan visits. A person's plan that is written by hand cannot have less than a service sends. */
export function readVisits(table: ColumnSet, most = MAX_VISITS): string {
  const visits = `("$plan" ->> 'visits')::int4`;
  return andVisible(table) === "" ? visits : `greatest(${visits}, ${most})`;
}

/** The most work of comparing texts. A set of ids has a part of it. */
export function readWork(table: ColumnSet): string {
  const work = `("$plan" ->> 'work')::int4`;
  return andVisible(table) === "" ? work : `greatest(${work}, ${MIN_WORK})`;
}

export function declareQuery({ plan, values }: { plan: string; values: string }): string {
  return `"$plan" jsonb := ${plan}::jsonb;
  "$values" text[] := ${values};`;
}

/** Finds the sets of ids that the conditions of a plan use, and fails without the membership that it needs. */
export function fillSets(table: ColumnSet, { app, proof }: { app: string; proof: string }): string {
  return `${checkMember(table)}
  if "$plan" ? 'sets' then
    "$values" := rowhouse.fill_sets(${app}, ${proof}, "$plan" -> 'sets', "$values");
    "$plan" := rowhouse.choose_plan("$plan", "$values");
  end if;`;
}

/**
 * A walk of the rows with a reference is one of rows that the person sees only if the person is a member. Otherwise its time would tell
 * of rows of others.
 */
function checkMember(table: ColumnSet): string {
  const value = `("$values"[("$plan" -> 'member' ->> 1)::int4])::uuid`;
  const cases = (table.view?.read ?? []).flatMap((alternative, index) => {
    const members = Object.entries(alternative).filter(([, match]) => isMemberOf(match));
    const [[column, match] = [], ...others] = members;
    if (column === undefined || match === undefined || others.length > 0) return [];
    const isMember = renderRule(table, [{ [column]: match }], { who: WHO, valueOf: () => value });
    return [`(("$plan" -> 'member' ->> 0)::int4 = ${index} and ${isMember})`];
  });
  if (cases.length === 0) return "";
  return `if "$plan" ? 'member' and (${cases.join(" or ")}) is not true then
    raise exception 'no such member' using errcode = '${SIGNALS.indexMissing}', detail = '${NO_MEMBER}';
  end if;`;
}

/**
 * The text of the statement of `"$plan"`, built from the constants of a column set: its columns, their parts and types. With a rule,
 * it finds only rows that fulfill it.
 */
export function renderQueryStatement(table: ServedSet, rule?: RuleName): string {
  const columns = queryColumns(table);
  const of = <Rendered>(render: (kind: SqlKind, name: string) => Rendered) =>
    columns.map(({ kind, name }) => render(SQL[kind], `"$t".${quoteName(name)}`));
  const starts = columns.map(startOf);
  const rests = of(({ parts }, name) => parts?.rest?.render(name));
  const types = columns.map((column) => sqlType(table, column));
  const relation = quoteLiteral(`data.${quoteName(table.name)}`);
  const { source, seen } = renderSeen(table, rule);
  const call =
    table.view === undefined
      ? `rowhouse.query_statement(${relation}`
      : `rowhouse.person_statement(${renderSeenRows(table, rule)}, ${relation}, ${source}, ${seen}, ${renderWalks(table)}`;
  return `${call},
    ${toTextArray(of(toCompared).map(qualify))},
    ${toTextArray([...starts, ...rests])},
    ${toTextArray([...types, ...of(({ parts }) => parts?.start.type), ...of(({ parts }) => parts?.rest?.type)])}, "$plan")`;
}

function toTextArray(list: readonly (string | undefined)[]): string {
  const elements = list.map((text) => (text === undefined ? "null" : quoteLiteral(text)));
  return `array[${elements.join(", ")}]::text[]`;
}

function toCompared({ compared }: SqlKind, name: string): string {
  return compared?.(name) ?? name;
}

/** The tag of the groups, a hash of their text, followed by the text unless the caller has that tag. */
export function groupsBody(table: ServedSet, site: FunctionSite): string {
  const { app, proof, plan, values, bytes, known } = placeholdersOf("find_groups");
  const columns = queryColumns(table);
  const constants = [
    `array[${columns.map(({ kind }) => kind === "string").join(", ")}]::bool[]`,
    toTextArray(columns.map(toShown)),
    toTextArray(columns.map(toSummed)),
  ];
  const numbers = ["by", ...AGGREGATES].map(
    (name) => `array(select "$p"."$v"::int4
      from jsonb_array_elements_text("$plan" -> '${name}') as "$p" ("$v"))`,
  );
  return `declare
  ${declareWho(table)}
  ${declareQuery({ plan, values })}
  "$cut" text;
  "$text" text;
  "$tag" text;
begin
  ${beginAs(table, "find_groups", site)}
  ${fillSets(table, { app, proof })}
  if not "$plan" ? 'grouped' then
    raise exception 'no such query' using errcode = '${SIGNALS.planInvalid}';
  end if;
  execute rowhouse.group_statement(${renderQueryStatement(table)},
    ${[...constants, ...numbers].join(",\n    ")})
  into "$cut", "$text"
  using ${app}, "$values", null::int4,
    least(coalesce(${readVisits(table, MAX_COUNTED)}, 0), ${MAX_COUNTED}), ${readWork(table)}${usingWho(table)};
  "$text" := concat('{"groups":[', "$text", ']}');
  if "$cut" is null and ${isTooLarge("$text", bytes)} then
    "$cut" := 'bytes';
  end if;
  if "$cut" is not null then
    raise exception 'too many rows' using errcode = '${SIGNALS.tooManyVisits}', detail = "$cut";
  end if;
  "$tag" := left(encode(sha256(convert_to("$text", 'UTF8')), 'hex'), ${TAG_LENGTH});
  if "$tag" = any (string_to_array(${known}, ',')) then
    return "$tag";
  end if;
  return concat("$tag", "$text");
end`;
}

/** A column's value as a JSON member, from `"$value"`. Numbers lose zeros at their end, and decimals have `"$scale"` digits. */
function toShown({ name, kind }: SetColumn): string | undefined {
  const { type, isSentAsText } = SQL[kind];
  if (VALUES[kind].operators.length === 0) return undefined;
  if (type?.printed !== "numeric") return toMember(name, '"$value"');
  return isSentAsText === true
    ? toMember(name, 'round("$value", coalesce("$scale", 0))::text')
    : toMember(name, 'trim_scale("$value")');
}

/** A sum as a JSON member: a text, because a JSON number would lose digits. */
function toSummed({ name, kind }: SetColumn): string | undefined {
  if (VALUES[kind].aggregates?.includes("sum") !== true) return undefined;
  return toMember(name, SQL[kind].isSentAsText ? '"$value"::text' : 'trim_scale("$value")::text');
}

function toMember(name: string, value: string): string {
  return qualify(
    `${quoteLiteral(`${JSON.stringify(name)}:`)} || coalesce(to_json(${value})::text, 'null')`,
  );
}
