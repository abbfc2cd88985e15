/**
 * The body of the function that groups rows. It runs one statement over the visited rows of a query, and returns all groups
 * or none. It reads the table under row security.
 *
 * @see ../../db/code/tables/groups.sql
 * @module
 */

import { quoteLiteral, SIGNALS } from "../../db/mod.ts";
import { AGGREGATES, SQL, VALUES } from "../../kinds/mod.ts";
import { MAX_COUNTED } from "../../std/limits.ts";
import {
  type FunctionSite,
  placeholdersOf,
  queryColumns,
  type ServedSet,
  TAG_LENGTH,
} from "../catalog/mod.ts";
import { qualify } from "../qualify.ts";
import { beginAs, isTooLarge, type SetColumn } from "./function_terms.ts";
import {
  declareQuery,
  fillSets,
  readVisits,
  readWork,
  renderQueryStatement,
  toTextArray,
} from "./query_body.ts";
import { usingWho } from "./seen_rows.ts";
import { declareWho } from "./view_terms.ts";

/** The tag of the groups, a hash of their text, followed by the text unless the caller has that tag. */
export function groupsBody(table: ServedSet, site: FunctionSite): string {
  const { app, proof, plan, values, bytes, known } = placeholdersOf("groups");
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
  ${beginAs(table, "groups", site)}
  ${fillSets({ app, proof })}
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
