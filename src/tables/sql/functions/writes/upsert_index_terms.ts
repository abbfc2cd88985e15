/** How an upsert finds its index, and a list the rows that exist. @module */

import { quoteLiteral, quoteName, SIGNALS } from "../../../../db/mod.ts";
import { SQL, VALUES } from "../../../../kinds/mod.ts";
import { type ColumnSet, type IndexForm, keyName, placeholdersOf } from "../../../catalog/mod.ts";
import { sqlType } from "../../../plan/step.ts";
import { qualify } from "../../../qualify.ts";
import { type ConflictTerm, renderConflictTerm } from "../../index_terms.ts";
import type { SetColumn } from "../function_terms.ts";
import { shownColumns } from "../view_terms.ts";

/** Finds the rows of a list that exist, as `"$met"`, and their positions, as `"$known"`, both in the order of the ids, by the variables of {@linkcode readTarget}. */
export function findExisting(table: ColumnSet, list: string): string {
  if (table.columns.length === 0) return `"$met" := '{}'; "$known" := '{}';`;
  const rows = `data.${quoteName(table.name)} as "$t"`;
  // The limit makes PostgreSQL search the index for each row of the list, whatever its statistics.
  const statement = `select coalesce(array_agg("$met"."id" order by "$met"."id"), '{}'), array_agg("$own"."$nth"::int4 order by "$met"."id")
    from (select "$one"."$nth", "$values".* "$keys" from jsonb_array_elements($2) with ordinality as "$one" ("$body", "$nth")
      cross join lateral jsonb_to_record("$one"."$body") as "$values" ("$types") offset 0) as "$own"
    cross join lateral (select "$t"."id" from ${rows} where "$t"."app_id" = $1 and "$rows" and "$match" limit 1) as "$met"`;
  const parts = qualify(statement)
    .split(/("\$(?:keys|types|rows|match)")/)
    .map((part, index) =>
      index % 2 === 0
        ? quoteLiteral(part)
        : part === '"$match"'
          ? `coalesce(${part}, 'false')`
          : part,
    );
  return `execute concat(${parts.join(", ")}) into "$met", "$known" using ${app}, ${list};`;
}

/** The app is the first parameter of every function. */
const { app } = placeholdersOf("get");

const FORMS: readonly IndexForm[] = ["plain", "search"];
/** The column in the terms of a kind. */
const NAME = "$name";

/** Sets the parts of statements that search the index: its terms and rows, the condition of a row (null: the index cannot be searched by it) and the types of its values. It is the index that PostgreSQL searches: a valid one, in the form that the service prefers. */
export function readTarget(
  table: ColumnSet,
  { unique, indexes }: { readonly unique: string; readonly indexes: string },
): string {
  const columns = shownColumns(table);
  if (columns.length === 0)
    return `raise exception 'no such index' using errcode = '${SIGNALS.indexMissing}';`;
  const kinds = [...new Set(columns.map(({ kind }) => kind))];
  const toTerms = (key: keyof ConflictTerm) =>
    FORMS.map((form) => toList(kinds.map((kind) => renderTerm(kind, form)?.[key])));
  const types = toList(kinds.map((kind) => SQL[kind].type?.name));
  const ownTypes = toList(
    columns.map((column) =>
      SQL[column.kind].type === undefined ? sqlType(table, column) : undefined,
    ),
  );
  const hasKeys = kinds.some((kind) => SQL[kind].parts?.key !== undefined);
  const toText = (key: keyof ConflictTerm) => {
    const term = `(array[${toTerms(key).join(", ")}])["$form"]["$o"."$kind"]`;
    const keyed = hasKeys
      ? `replace(${term}, ${quoteLiteral(quoteName(keyName(NAME)))}, "$o"."$key")`
      : term;
    return `replace(${keyed}, ${quoteLiteral(quoteName(NAME))}, "$o"."$name")`;
  };
  const own = [
    `(array[${columns.map(({ kind }) => kinds.indexOf(kind) + 1).join(", ")}])["$u"."$column"] as "$kind"`,
    `(${toList(columns.map(({ name }) => quoteName(name)))})["$u"."$column"] as "$name"`,
    `(${ownTypes})["$u"."$column"] as "$type"`,
    ...(hasKeys
      ? [
          `(${toList(columns.map(({ name }) => quoteName(keyName(name))))})["$u"."$column"] as "$key"`,
        ]
      : []),
  ];
  return `"$form" := (select max("$n"."$form") from unnest(${indexes}) with ordinality as "$n" ("$name", "$form")
    join pg_index as "$x" on "$x"."indexrelid" = to_regclass('data.' || quote_ident("$n"."$name"))
    where "$x"."indisvalid");
  select '"app_id", ' || string_agg(${toText("terms")}, ', '), string_agg(${toText("rows")}, ' and '),
    case when bool_and(${toText("match")} is not null) then string_agg(${toText("match")}, ' and ') end,
    string_agg(concat("$o"."$name", ' ', coalesce("$o"."$type", (${types})["$o"."$kind"])), ', '),
    ${hasKeys ? `string_agg(${toText("key")}, '')` : "''"}
  into "$terms", "$rows", "$match", "$types", "$keys" from (
    select ${own.join(",\n      ")}
    from unnest(${unique}) as "$u" ("$column")) as "$o";
  if "$terms" is null then
    raise exception 'no such index' using errcode = '${SIGNALS.indexMissing}';
  end if;`;
}

function renderTerm(kind: SetColumn["kind"], form: IndexForm): ConflictTerm | undefined {
  return VALUES[kind].unindexed === undefined
    ? renderConflictTerm({ name: NAME, kind }, form)
    : undefined;
}

function toList(texts: readonly (string | undefined)[]): string {
  const list = texts.map((text) => (text === undefined ? "null" : quoteLiteral(text)));
  return `array[${list.join(", ")}]::text[]`;
}
