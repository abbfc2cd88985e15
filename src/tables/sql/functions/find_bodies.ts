/**
 * The bodies of the functions that find rows by conditions. Functions of `db/code/tables/find.sql` find the ids, from this function's
 * constants and a plan of numbers, past row security. The rest is static: it reads the rows by their ids under row security, and for a
 * person with the condition of the rule.
 *
 * @see function_terms.ts for the parts of the bodies
 * @module
 */

import { quoteLiteral, quoteName, SIGNALS } from "../../../db/mod.ts";
import { SQL, VALUES } from "../../../kinds/mod.ts";
import {
  type ColumnSet,
  type FunctionSite,
  hashColumnSet,
  placeholdersOf,
  queryColumns,
  type ServedSet,
  TAG_LENGTH,
  TOO_MANY_REFERENCED,
} from "../../catalog/mod.ts";
import { sqlType } from "../../plan/step.ts";
import { qualify } from "../../qualify.ts";
import { callerOf, declareWho } from "./caller_terms.ts";
import {
  beginAs,
  isRow,
  isTooLarge,
  leastBytes,
  outputs,
  rowSize,
  type SetColumn,
} from "./function_terms.ts";
import { ROW_STATE, STATE_SEED } from "./list_body.ts";
import {
  buildRows,
  ENVELOPE,
  eachRow,
  FOUND_ROW_BYTES,
  FOUND_ROWS,
  findRelated,
  PAGE_VARIABLES,
  readKeys,
  readNumbers,
  referencesOfRow,
  setNext,
} from "./page_rows.ts";
import { renderSeenRows } from "./seen_rows.ts";
import { andAllowed, andVisible, type RuleName, WHO } from "./view_terms.ts";

/** The tag of the page, followed by the rows unless the caller has that tag. All reads see one state of the table: the function is stable. */
export function findBody(table: ServedSet, site: FunctionSite): string {
  const { app, proof, plan, values, bytes, known } = placeholdersOf("find");
  const number = (name: string) => `("$plan" ->> '${name}')::int4`;
  const person = callerOf(table)
    .reads.map(([who]) => `, ${who}`)
    .join("");
  const [seed, ...others] = STATE_SEED;
  return `declare
  ${declareWho(table)}
  ${declareQuery({ plan, values })}
  "$limit" constant int4 := ${number("limit")};
  "$offset" constant int4 := ${number("offset")};
  "$picked" constant int4[] := ${readNumbers("$plan", "picked")};
  "$isShort" constant bool := ${known} = '' and "$limit" <= ${FOUND_ROWS} and "$picked" = '{}' and not "$plan" ? 'related';
  "$built" int8;
  "$total" int8;
  "$states" bytea;
  "$seed" bytea;
  "$tag" text;
  "$refs" uuid[];
  ${PAGE_VARIABLES}
begin
  ${beginAs(table, "find", site, [['"$seed"', seed]])}
  ${fillSets({ app, proof })}
  ${findIds(table, '"$offset" + "$limit" + 1', { isCounted: true })}
  -- The ids of a set, for the function of another table.
  if "$plan" ? 'set' then
    ${keepSeen(table)}
    if cardinality("$ids") > "$limit" then
      raise exception 'too many rows' using errcode = '${SIGNALS.tooManyVisits}',
        detail = concat('${TOO_MANY_REFERENCED}', "$plan" ->> 'set');
    end if;
    return array_to_string("$ids", ',');
  end if;
  select array_agg("$row"."id" order by "$i"."$n"), string_agg("$row"."$state", ''::bytea order by "$i"."$n"),
    coalesce(sum("$row"."$size"), 0), array_agg("$row"."$refs" order by "$i"."$n"),
    coalesce(array_agg("$row"."$text" order by "$i"."$n"), '{}'), count("$row"."$text")
  into "$ids", "$states", "$size", "$refs", "$rows", "$built" from ${eachRow('"$ids"["$offset" + 1:]')} (
    select "$t"."id", ${ROW_STATE} as "$state", ${rowSize(table, "$t")} as "$size", ${referencesOfRow(table)} as "$refs",
      case when "$isShort" and ${leastBytes(table, "$t")} <= ${FOUND_ROW_BYTES} then row_to_json("$o")::text end as "$text"
    ${rowOfId(table, app)}) as "$row";
  "$returned" := least("$limit", coalesce(cardinality("$ids"), 0));
  "$related" := "$plan" -> 'related';
  ${findRelated({ app, proof })}
  "$tag" := left(encode(sha256(${[
    ...['"$seed"', ...others],
    `${quoteLiteral(hashColumnSet(table))}::bytea`,
    `convert_to(concat_ws(' ', ${plan}, ${values}::text, ${bytes}, "$total", array_to_string("$members", ',')${person}), 'UTF8')`,
    `coalesce("$states", ''::bytea)`,
  ].join(" || ")}), 'hex'), ${TAG_LENGTH});
  if "$tag" = any (string_to_array(${known}, ',')) then
    return "$tag";
  end if;
  ${buildRows(table, {
    ...{ app, bytes },
    isBuilt: `"$isShort" and "$built" = coalesce(cardinality("$ids"), 0)`,
  })}
  if cardinality("$ids") > "$count" then
    ${readKeys(table, {
      app,
      numbers: `jsonb_array_elements_text("$plan" -> 'order')
          with ordinality as "$k" ("$v", "$n")`,
    })}
    ${setNext(`"$plan" ->> 'cursor'`)}
  end if;
  return concat("$tag", ${ENVELOPE},
    case when "$plan" ? 'counted'
      then concat(',"count":', coalesce("$total"::text, 'null')) end, '}');
end`;
}

export function declareQuery({ plan, values }: { plan: string; values: string }): string {
  return `"$plan" constant jsonb := ${plan}::jsonb;
  "$values" text[] := ${values};`;
}

/** Finds the sets of ids that the conditions of a plan use. */
export function fillSets({ app, proof }: { app: string; proof: string }): string {
  return `if "$plan" ? 'sets' then
    "$values" := rowhouse.find_sets(${app}, ${proof}, "$plan" -> 'sets', "$values");
  end if;`;
}

type Finding = {
  /** What a person's rows must also fulfill. */
  readonly rule?: RuleName;
  /** The only ids that count. */
  readonly among?: string;
  /** Whether their number is read into `"$total"`, if the plan asks for it. */
  readonly isCounted?: boolean;
};

/** Reads at most `wanted` ids of rows that match into `"$ids"`. */
export function findIds(
  table: ServedSet,
  wanted: string,
  { rule, among, isCounted = false }: Finding = {},
): string {
  const { app } = placeholdersOf("find");
  const { rows, terms } = renderFound(table, rule);
  const [total, variable] = isCounted ? [', "$f"."total"', ', "$total"'] : ["", ""];
  return `select "$f"."ids"${total} into "$ids"${variable}
  from find.page(${[app, ...rows, ...terms, '"$plan"', '"$values"', wanted, among ?? "null", whoOf(table)].join(", ")}) as "$f";`;
}

/** Leaves the ids of rows that the caller sees, and that fulfill this rule, whatever was found; in their order. */
export function keepSeen(table: ColumnSet, rule?: RuleName): string {
  const { app } = placeholdersOf("find");
  return `"$ids" := array(
      select "$t"."id" from data.${quoteName(table.name)} as "$t"
      where "$t"."app_id" = ${app} and "$t"."id" = any ("$ids")${andVisible(table)}${rule === undefined ? "" : andAllowed(table, rule)}
      order by "$t"."id");`;
}

/** The id of the person who calls. */
export function whoOf({ view }: ColumnSet): string {
  return view === undefined ? "null" : WHO;
}

/** The row of an id as "$t", and its output as "$o", if the caller sees it. "offset 0" makes PostgreSQL look it up by its id, whatever the statistics are. */
function rowOfId(table: ColumnSet, app: string): string {
  return `from data.${quoteName(table.name)} as "$t" cross join lateral (select ${outputs(table)}) as "$o"
    where ${isRow(app, '"$i"."$id"')}${andVisible(table)} offset 0`;
}

/** The arguments of the functions that find: the rows that the caller sees, and the columns, parts and types that a plan numbers. */
function renderFound(table: ServedSet, rule?: RuleName): { rows: string[]; terms: string[] } {
  const { rows, isFenced } = renderSeenRows(table, rule);
  const types = queryColumns(table).map((column) => sqlType(table, column));
  const parts = toParts(table).map((part) => part?.type);
  return {
    rows: [rows, `${isFenced}`],
    terms: [renderSortTerms(table), toTextArray([...types, ...parts])],
  };
}

/** The columns that the caller sees, and the parts of their values that an index contains. */
export function renderSortTerms(table: ColumnSet): string {
  const columns = queryColumns(table).map(({ kind, name }) => {
    const value = `"$t".${quoteName(name)}`;
    return qualify(SQL[kind].compared?.(value) ?? value);
  });
  return toTextArray([...columns, ...toParts(table).map((part) => part?.value)]);
}

function toParts(table: ColumnSet): ({ value: string; type: string } | undefined)[] {
  return (["start", "rest"] as const).flatMap((name) =>
    queryColumns(table).map(({ kind, name: column }) => {
      const part = SQL[kind].parts?.[name];
      return part && { value: part.render(`"$t".${quoteName(column)}`), type: part.type };
    }),
  );
}

function toTextArray(list: readonly (string | undefined)[]): string {
  const elements = list.map((text) => (text === undefined ? "null" : quoteLiteral(text)));
  return `array[${elements.join(", ")}]::text[]`;
}

/** The tag of the groups, a hash of their text, followed by the text unless the caller has that tag. */
export function findGroupsBody(table: ServedSet, site: FunctionSite): string {
  const { app, proof, plan, values, bytes, known } = placeholdersOf("find_groups");
  const columns = queryColumns(table);
  const { rows, terms } = renderFound(table);
  const constants = [
    `array[${columns.map(({ kind }) => SQL[kind].width === undefined).join(", ")}]::bool[]`,
    toTextArray(columns.map(toShown)),
    toTextArray(columns.map(toSummed)),
  ];
  return `declare
  ${declareWho(table)}
  ${declareQuery({ plan, values })}
  "$cut" text;
  "$text" text;
  "$tag" text;
begin
  ${beginAs(table, "find_groups", site)}
  ${fillSets({ app, proof })}
  select "$f"."cut", concat('{"groups":[', "$f"."members", ']}') into "$cut", "$text"
  from find.groups(${[app, ...rows, ...terms, '"$plan"', '"$values"', whoOf(table), ...constants].join(", ")}) as "$f";
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
