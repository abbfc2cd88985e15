/**
 * The parts of the functions' bodies, as plain SQL without schemas of `pg_catalog`: see `qualify()`. They expect hostile column
 * names: parameters are `$n`, and every variable and alias contains a `$`, which no column can.
 *
 * @module
 */

import { APP_SWITCHES, STOP_BITS } from "../../../app_switch.ts";
import { APP_SETTING, dialectOf, quoteLiteral, quoteName, SHORT_WAIT } from "../../../db/mod.ts";
import { SQL } from "../../../kinds/mod.ts";
import { SCOPE_BITS } from "../../../principal.ts";
import { allowsAll } from "../../../schema/mod.ts";
import {
  type ColumnSet,
  type Endpoint,
  type FunctionSite,
  isOneServer,
  placeholdersOf,
  scopeOf,
  TAG_LENGTH,
} from "../../catalog/mod.ts";
import { sqlDefault, sqlType } from "../../plan/step.ts";
import { callerOf, type Read } from "./caller_terms.ts";
import { isOwner, rightsOn, shownColumns, WHO } from "./view_terms.ts";

export type SetColumn = ColumnSet["columns"][number];

/**
 * Sets the tenant and UTC for this transaction only, so one plan serves every tenant. A session that plans while a table is
 * small would choose a full scan and reuse that plan as the table grows. So plans always use indexes, also for cascades.
 */
export function setTenant(
  app: string,
  site: FunctionSite,
  others: readonly (readonly [string, string])[] = [],
): string {
  const plans = ["plan_cache_mode", dialectOf(site).planCacheMode] as const;
  const settings = [...SETTINGS, plans, ...INDEXES, ...others].map(
    ([name, value]) => `set_config('${name}', '${value}', true)`,
  );
  return `perform set_config('${APP_SETTING}', ${app}::text, true),
    ${settings.join(",\n    ")};`;
}

const SETTINGS = [["timezone", "UTC"]] as const;
const INDEXES = [["enable_seqscan", "off"]] as const;

/**
 * A page's plan must fit any limit. The plan's estimated cost can be so high that PostgreSQL would compile it to machine
 * code per call.
 */
const NO_COMPILATION = [["jit", "off"]] as const;
/**
 * A walk reads rows in the order of its planned index: a sort would read all rows of the app.
 */
const SINGLE_WALK = [
  ["enable_sort", "off"],
  ["enable_incremental_sort", "off"],
  ["max_parallel_workers_per_gather", "0"],
] as const;
/** A row that waits for a lock must not delay its group. After the timeout, the process sends each row individually. */
const BRIEFLY = [["lock_timeout", SHORT_WAIT]] as const;
const SETTINGS_OF: Readonly<Partial<Record<Endpoint, readonly (readonly [string, string])[]>>> = {
  list: NO_COMPILATION,
  walk: [...NO_COMPILATION, ...SINGLE_WALK],
  create_group: BRIEFLY,
};

/** A list of a person whose rule removes rows is several walks, which end early only without a sort. */
function settingsOf(table: ColumnSet, endpoint: Endpoint) {
  const isWalked = endpoint === "list" && !allowsAll(rightsOn(table).read);
  return isWalked ? [...NO_COMPILATION, ...SINGLE_WALK] : SETTINGS_OF[endpoint];
}

/**
 * Whether a live key of the calling app has a proof with the endpoint's scope, and the app still uses the table. The lookup
 * follows the settings, so it uses its index even if the session first planned it with few keys.
 */
export function isProved(table: ColumnSet, endpoint: Endpoint): string {
  return `exists (select ${fromProof(table, endpoint)})`;
}

/** The call that raises why {@linkcode isProved} is false. For a write it can return a replay. */
export function rejectCall(table: ColumnSet, endpoint: Endpoint): string {
  const { app, proof, ...others } = placeholdersOf(endpoint);
  const { name } = table;
  if (scopeOf(endpoint) !== "data:write")
    return `rowhouse.reject_call(${[app, proof, quoteLiteral(name)].join(", ")})`;
  const claim = "claim" in others ? others.claim : "null";
  return callerOf(table).rejectWrite(name, claim);
}

export function fromProof(table: ColumnSet, endpoint: Endpoint): string {
  const { app, proof } = placeholdersOf(endpoint);
  const { toBits, andIsCaller } = callerOf(table);
  const scope = scopeOf(endpoint);
  const bits = toBits(SCOPE_BITS[scope]);
  return `from rowhouse."proofs" as "$p"
    where "$p"."app_id" = ${app} and "$p"."digest" = sha256(${proof})
      and ${hasOnly('"$p"."scopes"', bits, scope === "data:write" ? STOP_BITS : 0)}
      and "$p"."expires_at" > clock_timestamp()
      and ("$p"."ended" is null or ${quoteLiteral(table.name)} <> all ("$p"."ended"))${andIsCaller}`;
}

/** Whether the bits contain all of `wanted` and none of `others`. */
function hasOnly(bits: string, wanted: number, others: number): string {
  return `(${bits} & ${wanted | others}::int2) = ${wanted}::int2`;
}

function hasBit(bits: string, bit: number): string {
  return `(${bits} & ${bit}::int2) <> 0::int2`;
}

/**
 * The start of a body: sets the tenant, and rejects calls without a proof. The statement of the proof also reads the person of a view
 * into `"$who"`, sets what the listeners of the table hear of a write, and reads `reads`: statements of their own would cost more.
 */
export function beginAs(
  table: ColumnSet,
  endpoint: Endpoint,
  site: FunctionSite,
  reads: readonly Read[] = [],
): string {
  const all: readonly Read[] = [
    ...callerOf(table).reads,
    ...(isHeard(endpoint, site) ? [[LISTENS, SET_LISTENS] as const] : []),
    ...reads,
  ];
  const [variables, values] = [0, 1].map((part) => all.map((read) => read[part]).join(", "));
  const proof = fromProof(table, endpoint);
  return `${setTenant(placeholdersOf(endpoint).app, site, settingsOf(table, endpoint))}
  ${all.length > 0 ? `select ${values} into ${variables} ${proof};` : ""}
  if not ${all.length > 0 ? "found" : isProved(table, endpoint)} then
    return ${rejectCall(table, endpoint)};
  end if;`;
}

const SCOPES = '"$p"."scopes"';
const LIVE_BIT = APP_SWITCHES.live.proofBit;
const HISTORY_BIT = APP_SWITCHES.history.proofBit;
const LISTENS = '"$listens"';

/** Whether listeners hear of a write: a cluster has none. */
function isHeard(endpoint: Endpoint, site: FunctionSite): boolean {
  return scopeOf(endpoint) === "data:write" && isOneServer(site);
}

const CALLER = `coalesce('console ' || "$p"."console_id"::text || coalesce(' ' || "$p"."act"::text, ''),
        'person ' || "$p"."person_id"::text, 'key ' || encode("$p"."digest", 'hex'))`;
/** Empty if neither live updates nor the history is on. `db/code/apps/listeners.sql` reads it. */
const SET_LISTENS = `set_config('rowhouse.listens', concat_ws(' ', case when ${hasBit(SCOPES, LIVE_BIT)} then 'live' end,
        case when ${hasBit(SCOPES, HISTORY_BIT)} then ${CALLER} end), true)`;

/** The variable of {@linkcode beginAs} for listeners. */
export function declareListens(endpoint: Endpoint, site: FunctionSite): string {
  return isHeard(endpoint, site) ? `${LISTENS} text;` : "";
}

/**
 * Before a delete: names the rows of the request, as text with commas. What else the delete writes is the effect of a reference.
 */
export function nameDeleted(table: ColumnSet, site: FunctionSite, ids: string): string {
  if (!isHeard("delete", site)) return "";
  return `if ${LISTENS} <> '' then
    perform set_config('rowhouse.listens', concat(${LISTENS}, chr(10), ${quoteLiteral(`${table.name} `)}, ${ids}), true);
  end if;`;
}

/** 10% faster than json_agg of the same rows, and without its line breaks. */
export const ROW_TEXT = `row_to_json("$row")::text`;

/** The tag of a row: the first hex digits of its text's hash, as many as the process uses. */
export function tagOf(text: string): string {
  return `left(encode(sha256(convert_to(${text}, 'UTF8')), 'hex'), ${TAG_LENGTH})`;
}

export function isTooLarge(text: string, bytes: string): string {
  return `octet_length("${text}") > ${bytes}`;
}

/** A text as base64url, which a query string can contain unescaped. */
export function toBase64Url(text: string): string {
  return `translate(encode(convert_to(${text}, 'UTF8'), 'base64'), E'+/=\\n', '-_')`;
}

/** The approximate size of a row's text: as stored, except compressed JSON. */
export function rowSize(table: ColumnSet, alias: string): string {
  const columns = shownColumns(table);
  const names = columns.reduce((bytes, { name }) => bytes + name.length, 0);
  const fixed = OWN_COLUMNS_BYTES + names + columns.length * COLUMN_BYTES;
  return sumOf([...unboundedSizes(table, alias), `${fixed}::int8`]);
}

/** The bytes of both ids. */
const OWN_COLUMNS_BYTES = 98;
/** The bytes of another column, without its name and without an unbounded value. */
const COLUMN_BYTES = 16;

/** The sizes of a row's unbounded values, without decompression. */
function unboundedSizes(table: ColumnSet, alias: string): string[] {
  return shownColumns(table).flatMap(({ name, kind }) => {
    const { size } = SQL[kind];
    if (size === undefined) return [];
    return `coalesce(${size}("${alias}".${quoteName(name)}), 0)::int8`;
  });
}

function sumOf(sizes: readonly string[]): string {
  return sizes.length === 0 ? "0" : `(${sizes.join(" + ")})`;
}

/** The end of a body that returns one row. Undoes a write of an oversized row. */
export function returnText(id: string, bytes: string): string {
  return `if ${isTooLarge("$text", bytes)} then
    return rowhouse.reject_row(${id});
  end if;
  return "$text";`;
}

/** The target of an insert: the table and its columns, in the order of their values. */
export function target(table: ColumnSet): string {
  const names = ["app_id", "id", ...table.columns.map((column) => column.name)].map(quoteName);
  return `data.${quoteName(table.name)} as "$t" (${names.join(", ")})`;
}

export function isRow(app: string, id: string): string {
  return `"$t"."app_id" = ${app} and "$t"."id" = ${id}`;
}

/** Columns in the response format that the caller sees: decimals as text, because JSON numbers would lose digits. */
export function outputs(table: ColumnSet): string {
  const own = ownValues(shownColumns(table));
  return [`"$t"."id"`, `"$t"."app_id"`, ...(own === "" ? [] : [own])].join(", ");
}

/** The values of some columns of "$t" in the response format. */
function ownValues(columns: ColumnSet["columns"]): string {
  return columns
    .map((column) => {
      const name = quoteName(column.name);
      return SQL[column.kind].isSentAsText ? `"$t".${name}::text as ${name}` : `"$t".${name}`;
    })
    .join(", ");
}

/** A column's variable in the response format. */
export function outputVariable({ kind }: SetColumn, index: number): string {
  return SQL[kind].isSentAsText ? `${variable(index)}::text` : variable(index);
}

export function variable(index: number): string {
  return `"$v${index}"`;
}

export function isGiven(column: SetColumn): string {
  return `"$body" ? ${quoteLiteral(column.name)}`;
}

/** A column's value in a new row: from the body, or its default. An owner column has the person who calls. */
export function initial(table: ColumnSet, column: SetColumn, now?: string): string {
  if (isOwner(table, column)) return WHO;
  const given = input(table, column);
  if (column.default === undefined) return given;
  return `case when ${isGiven(column)} then ${given} else ${sqlDefault(table, column, now)} end`;
}

/** A column's value from the body, in the column's type; JSON null and an absent key are both SQL NULL. */
export function input(table: ColumnSet, column: SetColumn): string {
  const text = `("$body" ->> ${quoteLiteral(column.name)})`;
  return SQL[column.kind].isJson
    ? `case when ${text} is not null then "$body" -> ${quoteLiteral(column.name)} end`
    : `${text}::${sqlType(table, column)}`;
}

/** The response to a batch, from the texts of its rows, joined by commas. */
export function rowsText(texts: string): string {
  return `concat('{"rows":[', ${texts}, ']}')`;
}
