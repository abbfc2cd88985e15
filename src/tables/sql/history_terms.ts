/**
 * The parts of write functions that record the history of rows: what a row was before an update or a delete, what the update changed,
 * and who did it. Without the preview they are empty, and a create has none. Each row is recorded by its own statement while the
 * write holds its lock: so its history has the order of its writes.
 *
 * @see ../../db/code/apps/history.sql
 * @module
 */

import { APP_SWITCHES } from "../../app_switch.ts";
import { quoteLiteral, quoteName } from "../../db/mod.ts";
import { type ColumnSet, type Endpoint, type FunctionSite, hasPreview } from "../catalog/mod.ts";
import { isRow, outputs, ownValues } from "./function_terms.ts";
import { CHANGED } from "./view_write_terms.ts";

/** Who calls, if the app has a history; otherwise null. */
const BY = '"$by"';

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
  return endpoint === "delete" ? `${DECLARED_BY} "$before" jsonb;` : DECLARED_BY;
}

const DECLARED_BY = `${BY} text;`;

/** An update of a table without columns changes nothing. */
function declareUpdates({ columns }: ColumnSet): string {
  return columns.length === 0 ? "" : `${DECLARED_BY} "$before" jsonb; "$after" jsonb;`;
}

/** What the statement of the proof reads for the history. */
export function readHistory(
  table: ColumnSet,
  endpoint: Endpoint,
  site: FunctionSite,
): readonly (readonly [variable: string, value: string])[] {
  return declareHistory(table, endpoint, site) === "" ? [] : [[BY, WHO_CALLS]];
}

const WHO_CALLS = `case when ("$p"."scopes" & ${APP_SWITCHES.history.proofBit}::int2) <> 0::int2 then
      coalesce('console ' || "$p"."console_id"::text, 'person ' || "$p"."person_id"::text,
        'key ' || encode("$p"."digest", 'hex')) end`;

/** The same for updates within the function of batches, whose creates read nothing more. */
export function beginHistory(table: ColumnSet, site: FunctionSite, fromProof: string) {
  const declared = hasPreview(site, "history") ? declareUpdates(table) : "";
  if (declared === "") return { declared, read: "" };
  return { declared, read: `select ${WHO_CALLS} into ${BY} ${fromProof};` };
}

type OfRow = { readonly app: string; readonly id: string };

/** Before an update: locks the row, and keeps its values. Another update that comes first is then a part of them. */
export function keepBefore(table: ColumnSet, site: FunctionSite, { app, id }: OfRow): string {
  if (!hasPreview(site, "history") || table.columns.length === 0) return "";
  return `if ${BY} is not null then
      select ${valuesOf(table)} into "$before" from data.${quoteName(table.name)} as "$t"
      where ${isRow(app, id)} for no key update;
    end if;`;
}

/**
 * What a write reads of the changed row "$t", and its variables: the row, and in the body of a view the parts of
 * {@linkcode CHANGED}, with all values for the history.
 */
export function changedOf(table: ColumnSet, site: FunctionSite) {
  if (table.view === undefined) return { values: outputs(table), variables: '"$row"' };
  const { values, variables } = { values: CHANGED.values(table), variables: CHANGED.variables };
  if (!hasPreview(site, "history") || table.columns.length === 0) return { values, variables };
  const after = `case when ${BY} is not null then ${valuesOf(table)} end`;
  return { values: `${values}, ${after}`, variables: `${variables}, "$after"` };
}

/** After an update: records the row, unless it has the same values as before. Evaluates only expressions, which need no plan. */
export function recordUpdate(table: ColumnSet, site: FunctionSite, { app, id }: OfRow): string {
  if (!hasPreview(site, "history") || table.columns.length === 0) return "";
  const same = table.columns.map(({ name }) => {
    const key = quoteLiteral(name);
    return `case when ("$before" -> ${key}) = ("$after" -> ${key}) then ${key} end`;
  });
  const values = toChange(table, { app, id, before: '"$before"', after: '"$after"' });
  return `if ${BY} is not null and "$before" is not null then
    ${table.view === undefined ? '"$after" := to_jsonb("$row");' : ""}
    "$after" := "$after" - array_remove(array['id', 'app_id', ${same.join(", ")}]::text[], null);
    if "$after" <> '{}'::jsonb then
      insert into ${TARGET} values (${values});
    end if;
  end if;`;
}

/** The end of a statement that deletes a row: what it returns. */
export function returnBefore(table: ColumnSet, site: FunctionSite): string {
  if (!hasPreview(site, "history")) return "";
  return ` returning case when ${BY} is not null then ${valuesOf(table)} end into "$before"`;
}

/** After the delete of a row that {@linkcode returnBefore} has read. */
export function recordDeleted(table: ColumnSet, site: FunctionSite, { app, id }: OfRow): string {
  if (!hasPreview(site, "history")) return "";
  const values = toChange(table, { app, id, before: '"$before"', after: "null" });
  return `if ${BY} is not null then
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
    app,
    id: '"$o"."$id"',
    before: '"$o"."$before"',
    after: "null",
  });
  return `if ${BY} is not null then
    insert into ${TARGET}
    select ${values} from (
      select "$t"."id" as "$id", ${valuesOf(table)} as "$before" from data.${quoteName(table.name)} as "$t"
      where "$t"."app_id" = ${app} and "$t"."id" = any (${ids})) as "$o";
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

/** All values of the row "$t" in the response format, also those that a person does not see. */
function valuesOf(table: ColumnSet): string {
  const values = ownValues(table.columns);
  return values === "" ? "'{}'::jsonb" : `(select to_jsonb("$h") from (select ${values}) as "$h")`;
}
