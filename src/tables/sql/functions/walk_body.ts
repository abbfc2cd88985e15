/**
 * The body of the walk function: pages in the order of an index between two positions, with static statements. It never sorts
 * and never reads more rows than the page, the first row of the next page, and their entries of the index.
 *
 * A session plans a statement once for all apps, so every plan that PostgreSQL can choose must be as good for an app of a million
 * rows. So a statement compares no column with `=`, and has all columns of the index in one row comparison and in its order: only
 * this index has that order. The limit is below the end of the page: rows after the end are the last of those that the limit allows.
 *
 * A statement for people has no condition for their rules, which could skip any number of rows. So both positions must have the values
 * of an alternative of the rule, or the walk is of the rows of the rule: other walks do not exist, and no response tells of a row that
 * the person does not see.
 *
 * @see page_rows.ts for the rows and the envelope
 * @module
 */

import { quoteLiteral, quoteName, SIGNALS } from "../../../db/mod.ts";
import { SQL } from "../../../kinds/mod.ts";
import { type Alternative, type Match, ME } from "../../../schema/mod.ts";
import { MAX_ROWS } from "../../../std/limits.ts";
import {
  type FunctionSite,
  hashColumnSet,
  NO_WALK,
  placeholdersOf,
  referenceColumns,
  type ServedSet,
  TAG_LENGTH,
  type Walk,
  type WalkColumn,
} from "../../catalog/mod.ts";
import { sqlType } from "../../plan/step.ts";
import { withoutCollation } from "../index_terms.ts";
import { declareWho, usingWho } from "./caller_terms.ts";
import { beginAs, isRow, outputs, rowSize } from "./function_terms.ts";
import { ROW_STATE, STATE_SEED } from "./list_body.ts";
import {
  buildRows,
  ENVELOPE,
  FOUND_ROW_BYTES,
  FOUND_ROWS,
  findRelated,
  PAGE_VARIABLES,
  readKeys,
  referencesOfRow,
  setNext,
  wholeRow,
} from "./page_rows.ts";
import { toRow } from "./rule_path_terms.ts";
import { listRuleWalks, type RuleWalk, renderBuilt, renderMergedIds } from "./seen_walks_terms.ts";
import { isVisible, WHO } from "./view_terms.ts";

/** Max characters of all statements that build rows. With more, for hundreds of columns, rows are built by id. */
const FOUND_ROWS_TEXT = 200_000;

const WALK = placeholdersOf("walk");
const NO_SUCH_WALK = `raise exception 'no such walk' using errcode = '${SIGNALS.indexMissing}', detail = '${NO_WALK}';`;

/** As a query: the tag of the page, followed by the rows unless the caller has that tag. Between them is what identifies the request. */
export function walkBody(table: ServedSet, site: FunctionSite): string {
  const { app, proof, index, isDescending, nulls, limit, picked, order, cursor, bytes, known } =
    WALK;
  const { walks } = table;
  const [seed, ...others] = STATE_SEED;
  const text = wholeRow(table);
  const count = walks.reduce((sum, { hasNulls }) => sum + (hasNulls ? 4 : 2), 0);
  const finds = text.length * count <= FOUND_ROWS_TEXT;
  const statements = walks.flatMap((walk) => {
    const isSeen = onlySeen(table, walk);
    return isSeen === undefined ? [] : [{ isSeen, ...renderWalk(table, walk, finds) }];
  });
  return `declare
  ${declareWho(table)}
  "$limit" constant int4 := ${limit};
  "$offset" constant int4 := 0;
  "$picked" constant int4[] := ${picked};
  "$cursor" constant text := split_part(${cursor}, E'\\n', 1);
  "$isFound" constant bool := ${finds ? `${known} = '' and cardinality(${picked}) = 0 and ${limit} <= ${FOUND_ROWS} and "$cursor" = ${cursor}` : "false"};
  "$left" int4 := ${limit} + 1;
  "$states" bytea;
  "$request" text;
  "$seed" bytea;
  "$isBuilt" bool;
  "$tag" text;
  "$built" int8;
  "$moreIds" uuid[];
  "$moreStates" bytea;
  "$moreSize" int8;
  "$moreRows" text[];
  "$moreBuilt" int8;
  "$moreKeys" text[];
  "$found" text;
  "$moreFound" text;
  "$hasLong" bool;
  "$refs" uuid[];
  ${PAGE_VARIABLES}
begin
  ${beginAs(table, "walk", site, [
    ['"$seed"', seed],
    ['"$isBuilt"', isIndexBuilt(index)],
  ])}
  -- Without a limit, the statements would read all rows.
  if (${limit} >= 0 and ${limit} <= ${MAX_ROWS} and ${isDescending} is not null and ${bytes} is not null
    and ${picked} is not null and ${order} is not null and ${cursor} is not null) is not true then
    raise exception 'no such page' using errcode = '${SIGNALS.planInvalid}';
  end if;
  -- Without their index, the statements would sort all rows of the app.
  if "$isBuilt" is not true then
    raise exception 'no such index' using errcode = '${SIGNALS.indexMissing}';
  end if;
  ${rejectUnbuilt(table)}
  ${statements
    .map(
      (
        { walk, found, rest, isSeen },
        position,
      ) => `${position === 0 ? "if" : "elsif"} ${index} = ${quoteLiteral(walk.index)}${isSeen} then
    ${inBothDirections(found)}${
      rest === undefined
        ? ""
        : `
    if ${nulls} is not null then
      "$left" := "$left" - coalesce(cardinality("$ids"), 0);
      if "$left" > 0 then
        ${inBothDirections(rest)}
      end if;
    end if;`
    }`,
    )
    .join("\n  ")}
  ${statements.length === 0 ? NO_SUCH_WALK : `else\n    ${NO_SUCH_WALK}\n  end if;`}
  if "$hasLong" then
    ${NO_SUCH_WALK}
  end if;
  if "$moreIds" is not null then
    "$ids" := "$ids" || "$moreIds";
    "$states" := coalesce("$states", ''::bytea) || "$moreStates";
    "$size" := "$size" + "$moreSize";
    "$rows" := "$rows" || "$moreRows";
    "$built" := "$built" + "$moreBuilt";
    "$found" := concat_ws(',', "$found", "$moreFound");
    "$keys" := "$moreKeys";
  end if;
  "$returned" := least("$limit", coalesce(cardinality("$ids"), 0));
  if "$cursor" <> ${cursor} and "$returned" > 0 then
    "$related" := split_part(${cursor}, E'\\n', 2)::jsonb;
    "$refs" := concat('{', "$found", '}')::uuid[];
    ${findRelated({ app, proof })}
  end if;
  "$request" := ${digest(`convert_to(${requestOf(table)}, 'UTF8')`)};
  "$tag" := ${digest(
    [
      '"$seed"',
      ...others,
      `convert_to(concat("$request", array_to_string("$members", ',')), 'UTF8')`,
      `int4send(${bytes})`,
      `coalesce("$states", ''::bytea)`,
    ].join(" || "),
  )};
  if "$tag" = any (string_to_array(${known}, ',')) or "$size" > ${WALK.inline} then
    return "$tag" || "$request";
  end if;
  ${buildRows(table, {
    ...{ app, bytes },
    isBuilt: `"$isFound" and "$built" = coalesce(cardinality("$ids"), 0)`,
  })}
  if cardinality("$ids") > "$count" then
    "$keys" := "$keys"[cardinality("$keys") - cardinality(${order}) + 1:];
    if "$count" < "$returned" or array_position("$keys", null) is not null then
      ${readKeys(table, { app, numbers: `unnest(${order}) with ordinality as "$k" ("$v", "$n")` })}
    end if;
    ${setNext('"$cursor"')}
  end if;
  return concat("$tag", "$request", ${ENVELOPE}, '}');
end`;

  function inBothDirections(render: (isDescending: boolean) => string): string {
    return `if ${isDescending} then
      ${render(true)};
    else
      ${render(false)};
    end if;`;
  }
}

/** Whether the index exists and is complete. The primary key is. */
function isIndexBuilt(index: string): string {
  return `case when ${index} = '' then true else (select "$x"."indisvalid" from pg_index as "$x"
      where "$x"."indexrelid" = to_regclass('data.' || quote_ident(${index}))) end`;
}

/** Characters of the digest that identifies a request. */
function digest(bytes: string): string {
  return `left(encode(sha256(${bytes}), 'hex'), ${TAG_LENGTH})`;
}

/**
 * The condition, after another one, that a walk has only rows that the caller sees; empty if it always has. `undefined`: no walk along
 * this index has.
 */
function onlySeen(table: ServedSet, walk: Walk): string | undefined {
  if (isVisible(table) === "true" || (walk.index === "" && exactWalks(table) !== undefined))
    return "";
  const proofs = (table.view?.read ?? []).flatMap((alternative) => {
    const proof = proveAlternative(table, walk, alternative);
    return proof === undefined ? [] : [`(${proof})`];
  });
  return proofs.length === 0 ? undefined : ` and (${proofs.join(" or ")}) is true`;
}

/** Whether every row between the positions fulfills the alternative. */
function proveAlternative(
  table: ServedSet,
  { columns, hasNulls }: Walk,
  alternative: Alternative,
): string | undefined {
  const { start, stop, nulls } = WALK;
  const matches = Object.entries(alternative);
  const [only, ...others] = matches;
  if (only?.[1] === null && others.length === 0)
    return hasNulls && columns[0]?.name === only[0] ? `${start} is null` : undefined;
  const terms = columns.flatMap((column) =>
    toTerms(table, column).map((_, part) => ({ column, part })),
  );
  const values = matches.map(([name, match]) => {
    const column = columns.find((known) => known.name === name);
    return column === undefined ? undefined : toTexts(column, match);
  });
  if (values.includes(undefined)) return undefined;
  const compared = matches.flatMap(([name], at) =>
    (values[at] ?? []).map((text, part) => ({
      text,
      place: terms.findIndex((term) => term.column.name === name && term.part === part) + 1,
    })),
  );
  const most = Math.max(...compared.map(({ place }) => place));
  return [
    `${nulls} is null and (${start})[1:${most}] = (${stop})[1:${most}]`,
    ...compared.map(({ place, text }) => `(${start})[${place}] = ${text}`),
  ].join(" and ");
}

/** A value of a rule as the texts of the terms of its column in a position; `undefined`: no range has exactly its rows. */
function toTexts({ kind }: WalkColumn, match: Match): string[] | undefined {
  if (match === ME && kind === "uuid") return [`${WHO}::text`];
  if (typeof match === "object") return undefined;
  const { parts } = SQL[kind];
  const text = String(match);
  if (parts === undefined) return [`${quoteLiteral(text)}::text`];
  if (!parts.isWhole(text)) return undefined;
  return parts.toParts(text, () => "").map((part) => `${quoteLiteral(part)}::text`);
}

/** The request, which the tag covers. Processes of 0.1.0 also compare its digest. */
function requestOf(table: ServedSet): string {
  const { app, index, isDescending, start, stop, nulls, limit, picked, order, cursor } = WALK;
  const lists = [start, stop, nulls, picked, order].map((list) => `array_to_string(${list}, ' ')`);
  const parts = [app, quoteLiteral(hashColumnSet(table)), index, `${isDescending}::text`, limit];
  return `concat_ws(E'\\n', ${[...parts, cursor, ...lists].join(", ")}${usingWho(table)})`;
}

type WalkTerm = { readonly value: string; readonly type: string };

/** A column of an index, and its terms by their aliases in the found rows. */
type NamedColumn = {
  readonly column: WalkColumn;
  readonly value: string;
  readonly terms: readonly (WalkTerm & { readonly alias: string })[];
};

function toNamed(table: ServedSet, { columns }: Walk): NamedColumn[] {
  let count = 0;
  return columns.map((column) => {
    const value = `"$t".${quoteName(column.name)}`;
    const isId = column.name === "id";
    const terms = toTerms(table, column).map((term) => ({
      ...term,
      alias: isId ? '"$id"' : `"$k${count++}"`,
    }));
    return { column, value, terms };
  });
}

function toTerms(table: ServedSet, column: WalkColumn): WalkTerm[] {
  const value = `"$t".${quoteName(column.name)}`;
  const { parts } = SQL[column.kind];
  if (parts === undefined) return [{ value, type: sqlType(table, column) }];
  const { start, rest } = parts;
  return [
    { value: start.render(value), type: start.type },
    ...(rest === undefined ? [] : [{ value: rest.render(value), type: rest.type }]),
  ];
}

type Renderer = (isDescending: boolean) => string;
type RenderedWalk = {
  readonly walk: Walk;
  readonly found: Renderer;
  /** The rows without a value in the first column, which come last. */
  readonly rest: Renderer | undefined;
};

function renderWalk(table: ServedSet, walk: Walk, finds: boolean): RenderedWalk {
  const { app, start, stop, nulls } = WALK;
  const { index, hasNulls, appId } = walk;
  const named = toNamed(table, walk);
  const [own, ...later] = named;
  const terms = named.flatMap((column) => column.terms);
  const [first] = terms;
  if (own === undefined || first === undefined) throw new Error(`${index} has no columns`);
  const merged = index === "" ? exactWalks(table) : undefined;
  const owner = appId === undefined ? "" : ` and "$t"."app_id" = ${quoteLiteral(appId)}::uuid`;
  const lateral = finds ? ` cross join lateral (select ${outputs(table)}) as "$o"` : "";
  const from = `from data.${quoteName(table.name)} as "$t"${lateral}
        where "$t"."app_id" = ${app}${owner}`;
  const row = [renderRow(table, finds), ...renderKeys(named)].join(", ");
  const order = (isDescending: boolean) =>
    `order by ${terms.map(({ alias }) => `${alias}${isDescending ? " desc" : ""}`).join(", ")} limit "$left"`;
  const values = terms.map(({ value }) => value);
  const collected = `select ${collect(table, named)}`;
  // Nothing in a unique index tells apart texts with the same parts. Pages in the order of ids do.
  const long = walk.isUnique ? listLong(named) : [];
  const found = (isDescending: boolean) => {
    // A condition on the first column alone, by which PostgreSQL can use an index of the rows with a value.
    const present = compare([first.value], {
      to: readPosition(stop, [first]),
      isAtLeast: isDescending,
    });
    const isBeforeStop = compare(
      terms.map(({ alias }) => `"$v".${alias}`),
      { to: readPosition(stop, terms), isAtLeast: isDescending },
    );
    const range = compare(values, { to: readPosition(start, terms), isAtLeast: !isDescending });
    const [startId = ""] = readPosition(start, terms);
    const rows =
      merged === undefined
        ? `${from} and ${range}${index === "" ? "" : ` and ${present}`}`
        : `from (${renderMergedIds(table, merged, { start: startId, isDescending, limit: '"$left"' })}) as "$i"
        cross join lateral (select "$t".*, "$t"."xmin", "$t"."ctid" from data.${quoteName(table.name)} as "$t"
          where ${isRow(app, '"$i"."id"')} offset 0) as "$t"${lateral}`;
    const [isLong, variable] =
      long.length === 0 ? ["", ""] : [`, bool_or(${long.join(" or ")})`, `, "$hasLong"`];
    return `${collected}${isLong}
      into "$ids", "$states", "$size", "$rows", "$built", "$found", "$keys"${variable} from (select ${row}
        ${rows}
        ${order(isDescending)}) as "$v" where ${isBeforeStop}`;
  };
  if (!hasNulls) return { walk, found, rest: undefined };
  const after = later.flatMap((column) => column.terms);
  const rest = (isDescending: boolean) => `${collected}
      into "$moreIds", "$moreStates", "$moreSize", "$moreRows", "$moreBuilt", "$moreFound", "$moreKeys" from (select ${row}
        ${from} and ${isEmpty(own)}
        and ${compare(
          after.map(({ value }) => value),
          { to: readPosition(nulls, after), isAtLeast: !isDescending },
        )}
        ${order(isDescending)}) as "$v"`;
  return { walk, found, rest };
}

/** The walks of a rule, if they have only rows that the person reads. */
function exactWalks(table: ServedSet): readonly RuleWalk[] | undefined {
  const walks = listRuleWalks(table, WHO);
  return walks?.every(({ isExact }) => isExact) === true ? walks : undefined;
}

/** Fails for a walk by id if an index of the rule is not built yet: the statements would sort all rows with its values. */
function rejectUnbuilt(table: ServedSet): string {
  const isBuilt = renderBuilt((exactWalks(table) ?? []).map(({ index }) => index));
  if (isBuilt === "") return "";
  return `if ${WALK.index} = '' and ${isBuilt} is not true then
    raise exception 'no such walk' using errcode = '${SIGNALS.indexMissing}', detail = '${NO_WALK}';
  end if;`;
}

/** What the page needs of each row. */
function renderRow(table: ServedSet, finds: boolean): string {
  const size = rowSize(table, "$t");
  const text = finds
    ? `case when "$isFound" and ${size} < ${FOUND_ROW_BYTES} then row_to_json("$o")::text end`
    : "null::text";
  // As text, because arrays without a value cannot become an array.
  const refs = hasReferences(table)
    ? `, case when "$cursor" <> ${WALK.cursor} then ${referencesOfRow(table)}::text end as "$refs"`
    : "";
  return `"$t"."id" as "$id", ${ROW_STATE} as "$state", ${size} as "$size", ${text} as "$text"${refs}`;
}

function hasReferences(table: ServedSet): boolean {
  return referenceColumns(table).length > 0;
}

/** The terms of the index. */
function renderKeys(named: readonly NamedColumn[]): string[] {
  return named.flatMap(({ column, terms }) =>
    column.name === "id" ? [] : terms.map((term) => `${term.value} as ${term.alias}`),
  );
}

function compare(list: readonly string[], { to, isAtLeast }: Compared): string {
  return `${toRow(list)} ${isAtLeast ? ">=" : "<="} ${toRow(to)}`;
}

type Compared = { readonly to: readonly string[]; readonly isAtLeast: boolean };

function readPosition(position: string, terms: readonly WalkTerm[]): string[] {
  return terms.map(({ type }, place) => `(${position})[${place + 1}]::${type}`);
}

/** Whether a row has no value in this column. Without the collation, as in the condition of the index. */
function isEmpty({ column, terms }: NamedColumn): string {
  const [, ...others] = terms.map((term) => withoutCollation(term.value));
  const value = `"$t".${quoteName(column.name)}`;
  const start = SQL[column.kind].parts?.tested.render(value) ?? value;
  return [start, ...others].map((part) => `${part} is null`).join(" and ");
}

/** For each text of the index, whether it has more than its start. */
function listLong(named: readonly NamedColumn[]): string[] {
  return named.flatMap(({ terms: [, rest] }) =>
    rest === undefined ? [] : `"$v".${rest.alias} <> ''`,
  );
}

/** The ids, states, size and texts of the found rows, and the values of the cursor in the last row that the limit allows. */
function collect(table: ServedSet, named: readonly NamedColumn[]): string {
  const last = (alias: string) => `(array_agg("$v".${alias}))["$left"]`;
  const keys = named.map(({ column, terms }) => {
    const texts = terms.map(({ alias }) => last(alias));
    // A longer text in a cursor has more than its parts: it is read again.
    if (texts.length > 1) return `case when ${texts[1]} = '' then ${texts[0]}::text end`;
    const [value = ""] = texts;
    return SQL[column.kind].cursor?.(value) ?? `${value}::text`;
  });
  const id = named.some(({ column }) => column.name === "id") ? [] : [`${last('"$id"')}::text`];
  return `array_agg("$v"."$id"), string_agg("$v"."$state", ''::bytea), coalesce(sum("$v"."$size"), 0),
      array_agg("$v"."$text"), count("$v"."$text"), ${hasReferences(table) ? `string_agg("$v"."$refs", ',')` : "null"}, array[${[...keys, ...id].join(", ")}]`;
}
