/**
 * The parts of write functions that record the history of rows: what an update changed, from what and to what, what a row was before a
 * delete, and who did it. An update of one column of a large row is small, so that no one fills a history with what others wrote. Without the preview they are empty, and a create has none. Each row is recorded by its own statement while the
 * write holds its lock: so its history has the order of its writes.
 *
 * @see ../../db/code/apps/history.sql
 * @module
 */

import { APP_SWITCHES } from "../../app_switch.ts";
import { quoteLiteral, quoteName } from "../../db/mod.ts";
import { type ColumnSet, type Endpoint, type FunctionSite, hasPreview } from "../catalog/mod.ts";
import { isGiven, isRow, outputs } from "./function_terms.ts";

/** Who calls and for which act, if the app has a history; otherwise null. */
const BY = '"$by"';
const BEFORE = '"$was"';
const AFTER_OF_VIEW = '"$became"';

const RECORDING: ReadonlySet<Endpoint> = new Set<Endpoint>([
  ...(["update", "delete", "upsert", "update_where", "delete_where"] as const),
]);

function isRecording(endpoint: Endpoint, site: FunctionSite): boolean {
  return RECORDING.has(endpoint) && hasPreview(site, "history");
}

export function declareHistory(table: ColumnSet, endpoint: Endpoint, site: FunctionSite): string {
  if (!isRecording(endpoint, site)) return "";
  const isUpdate = endpoint !== "delete" && endpoint !== "delete_where";
  if (isUpdate) return declareUpdates(table);
  return endpoint === "delete" ? `${DECLARED_BY} ${DECLARED_BEFORE}` : DECLARED_BY;
}

const DECLARED_BY = `${BY} text;`;
const DECLARED_BEFORE = `${BEFORE} record; "$before" jsonb;`;

/** An update of a table without columns changes nothing. */
function declareUpdates({ columns, view }: ColumnSet): string {
  if (columns.length === 0) return "";
  const after = view === undefined ? "" : ` ${AFTER_OF_VIEW} record;`;
  return `${DECLARED_BY} ${DECLARED_BEFORE}${after} "$after" jsonb; "$others" text[];`;
}

export function readHistory(
  table: ColumnSet,
  endpoint: Endpoint,
  site: FunctionSite,
): readonly (readonly [variable: string, value: string])[] {
  return declareHistory(table, endpoint, site) === "" ? [] : [[BY, WHO_CALLS]];
}

const WHO_CALLS = `case when ("$p"."scopes" & ${APP_SWITCHES.history.proofBit}::int2) <> 0::int2 then
      coalesce('console ' || "$p"."console_id"::text || coalesce(' ' || "$p"."act"::text, ''),
        'person ' || "$p"."person_id"::text,
        'key ' || encode("$p"."digest", 'hex')) end`;

/** The same for updates within the function of batches, whose creates read nothing more. */
export function beginHistory(table: ColumnSet, site: FunctionSite, fromProof: string) {
  const declared = hasPreview(site, "history") ? declareUpdates(table) : "";
  if (declared === "") return { declared, read: "" };
  return { declared, read: `select ${WHO_CALLS} into ${BY} ${fromProof};` };
}

type OfRow = { readonly app: string; readonly id: string };

/** Before an update: locks the row, and keeps it. Another update that comes first is then a part of it. */
export function keepBefore(table: ColumnSet, site: FunctionSite, row: OfRow): string {
  if (!hasPreview(site, "history") || table.columns.length === 0) return "";
  return `if ${BY} is not null then
      ${readInto(BEFORE, table, row)} for no key update;
    end if;`;
}

function readInto(variable: string, table: ColumnSet, { app, id }: OfRow): string {
  return `select ${wholeRow(table)} into ${variable} from data.${quoteName(table.name)} as "$t"
      where ${isRow(app, id)}`;
}

/**
 * After an update: records the changed columns, unless the row has the same values as before. Keeps what the body names, also a value that was the same:
 * to compare each column would cost more. A view has only read what the person sees.
 */
export function recordUpdate(table: ColumnSet, site: FunctionSite, row: OfRow): string {
  if (!hasPreview(site, "history") || table.columns.length === 0) return "";
  const isOfView = table.view !== undefined;
  const after = isOfView ? AFTER_OF_VIEW : '"$row"';
  const others = table.columns.map((column) => {
    const [one, other] = [BEFORE, after].map(
      (record) => `row(${record}.${quoteName(column.name)})`,
    );
    const isKept =
      column.onUpdate === undefined ? isGiven(column) : `record_image_ne(${one}, ${other})`;
    return `case when not ${isKept} then ${quoteLiteral(column.name)} end`;
  });
  return `if ${BY} is not null then
    ${isOfView ? `${readInto(AFTER_OF_VIEW, table, row)};` : ""}
    if ${BEFORE}."id" is not null and record_image_ne(${BEFORE}, ${after}) then
      "$others" := array['id', 'app_id', ${others.join(", ")}]::text[];
      "$before" := to_jsonb(${BEFORE}) - "$others";
      "$after" := to_jsonb(${after}) - "$others";
      insert into ${TARGET} values (${toChange(table, { ...row, before: '"$before"', after: '"$after"' })});
    end if;
  end if;`;
}

/** Deletes the rows "$t" that fulfill a condition. Without a history, reads none. */
export function deleteRow(table: ColumnSet, site: FunctionSite, condition: string): string {
  const statement = `delete from data.${quoteName(table.name)} as "$t" where ${condition}`;
  if (!hasPreview(site, "history")) return `${statement};`;
  return `if ${BY} is null then
      ${statement};
    else
      ${statement} returning ${wholeRow(table)} into ${BEFORE};
    end if;`;
}

/** After the delete of a row by {@linkcode deleteRow}. */
export function recordDeleted(table: ColumnSet, site: FunctionSite, row: OfRow): string {
  if (!hasPreview(site, "history")) return "";
  const values = toChange(table, { ...row, before: '"$before"', after: "null" });
  return `if ${BY} is not null then
      ${KEEP_VALUES}
      insert into ${TARGET} values (${values});
    end if;`;
}

/** Before the delete of several locked rows. */
export function recordDeletes(
  table: ColumnSet,
  site: FunctionSite,
  { app, ids }: { app: string; ids: string },
): string {
  if (!hasPreview(site, "history")) return "";
  const values = toChange(table, {
    ...{ app, id: '"$o"."$id"' },
    ...{ before: '"$o"."$before"', after: "null" },
  });
  return `if ${BY} is not null then
    insert into ${TARGET}
    select ${values} from (
      select "$t"."id" as "$id", ${valuesOf('"$t"')} as "$before" from (
        select ${wholeRow(table)} from data.${quoteName(table.name)} as "$t"
        where "$t"."app_id" = ${app} and "$t"."id" = any (${ids})) as "$t" offset 0) as "$o";
  end if;`;
}

const COLUMNS = ["app_id", "table_name", "row_id", "changed_by", "before", "after", "bytes"];
const TARGET = `rowhouse."row_changes" (${COLUMNS.map(quoteName).join(", ")})`;

/** The bytes of a change without its values. */
const OWN_BYTES = 200;

function toChange(
  { name }: ColumnSet,
  { app, id, before, after }: OfRow & { before: string; after: string },
): string {
  const size = (value: string) => (value === "null" ? "0" : `pg_column_size(${value})`);
  const bytes = `${OWN_BYTES} + ${size(before)} + ${size(after)}`;
  return [app, quoteLiteral(name), id, BY, before, after, bytes].join(", ");
}

/** A whole row "$t" in the response format, also the columns that a person does not see. */
function wholeRow({ view: _, ...table }: ColumnSet): string {
  return outputs(table);
}

function valuesOf(row: string): string {
  return `to_jsonb(${row}) - '{id,app_id}'::text[]`;
}

/** Once: an entry has the values and their size. */
const KEEP_VALUES = `"$before" := ${valuesOf(BEFORE)};`;
