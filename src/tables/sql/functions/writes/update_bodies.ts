/** The bodies of functions that update and delete rows. @see function_terms.ts for their parts @module */

import { quoteName } from "../../../../db/mod.ts";
import {
  type ColumnSet,
  type FunctionSite,
  isOneServer,
  NO_MATCH,
  placeholdersOf,
} from "../../../catalog/mod.ts";
import { callerOf, declareWho } from "../caller_terms.ts";
import {
  beginAs,
  input,
  isRow,
  nameDeleted,
  outputs,
  returnText,
  type SetColumn,
  tagOf,
} from "../function_terms.ts";
import { changedOf, mayChange, rejectUnchangeable } from "./changed_row_terms.ts";
import { beginWrite } from "./claim_terms.ts";
import { declareUsed, valuesAt } from "./node_writes.ts";
import { assignments, isChanged, setsTime } from "./row_writes.ts";
import { onVariables, rejectClosed, rejectReferences } from "./sent_terms.ts";

/**
 * Rejects a write of a row without a requested tag. Locks the row, so that it does not change before the write. Without a row, nothing
 * is written: one that appears later was not compared. `missed`: what follows a write without a row.
 */
function rejectUnmatched(
  table: ColumnSet,
  endpoint: "update" | "delete",
  { missed, forget = "" }: { readonly missed: string; readonly forget?: string },
): string {
  const { match } = placeholdersOf(endpoint);
  const lock = endpoint === "update" ? "no key update" : "update";
  return `if ${match} is not null then
    select ${outputs(table)} into "$old" from ${rowOf(table)} where ${toWrite(table, endpoint)} for ${lock};
    if not found then
      ${missed}
    end if;
    if ${tagOf(`row_to_json("$old")::text`)} <> all (string_to_array(${match}, ',')) then
      ${forget}
      return '${NO_MATCH}';
    end if;
  end if;`;
}

function rowOf({ name }: ColumnSet): string {
  return `data.${quoteName(name)} as "$t"`;
}

/** The condition of a row that the caller may write. */
function toWrite(table: ColumnSet, endpoint: "update" | "delete"): string {
  const { app, id } = placeholdersOf(endpoint);
  return `${isRow(app, id)}${mayChange(table, endpoint === "update" ? "from" : "delete")}`;
}

export function updateBody(table: ColumnSet, site: FunctionSite): string {
  const { id, body, bytes } = placeholdersOf("update");
  const keyed = beginWrite(table, "update", { short: callerOf(table).toShort(id) });
  const toInput = (column: SetColumn) => input(table, column);
  const toSent = valuesAt(site, table, toInput);
  const hasTime = setsTime(table);
  const found = changedOf(table);
  // An empty update does not change the row, nor anything derived from its state.
  const read = `select ${found.values} into ${found.variables} from ${rowOf(table)} where ${toWrite(table, "update")};`;
  const write = `if "$body" = '{}' then
    ${read}
  else
    update ${rowOf(table)} set
      ${assignments(table, toSent, '"$changed"').join(",\n      ")}
    where ${toWrite(table, "update")}
    returning ${found.values} into ${found.variables};
  end if;`;
  const missed = `${rejectUnchangeable(table, "from", { id })}
    ${keyed.forget}
    return null;`;
  const statements = `begin
  ${keyed.begin}
  ${rejectClosed(table, false)}
  ${rejectReferences(table, onVariables(table, id), "update")}
  ${rejectUnmatched(table, "update", { missed, forget: keyed.forget })}
  ${hasTime ? findChange(table, toSent) : ""}
  ${table.columns.length === 0 ? read : write}
  if not found then
    ${missed}
  end if;
  ${found.text}
  ${found.end(id)}
  ${keyed.complete}
  ${returnText(id, bytes)}
end`;
  return `declare
  "$body" jsonb := ${body}::jsonb;
  ${declareUsed(table, statements, toInput)}
  ${[found.declared, keyed.declared].join("\n  ")}
  ${hasTime ? '"$changed" bool;' : ""}
  ${hasTime ? '"$now" timestamptz;' : ""}
  "$old" record;
  "$text" text;
${statements}`;
}

/**
 * Finds whether the body changes a value, and the time for the columns that such an update sets. Reads the time once the row is locked: the
 * time of an update that waits for another one must not be the earlier of both.
 */
function findChange(table: ColumnSet, toSent: (column: SetColumn) => string): string {
  return `if "$body" <> '{}' then
    select ${isChanged(table, toSent)} into "$changed"
    from ${rowOf(table)} where ${toWrite(table, "update")} for no key update;
    "$now" := clock_timestamp();
  end if;`;
}

export function deleteBody(table: ColumnSet, site: FunctionSite): string {
  const { id } = placeholdersOf("delete");
  const missed = `${rejectUnchangeable(table, "delete", { id })}
  return null;`;
  return `declare
  ${declareWho(table)}
  "$old" record;
begin
  ${beginAs(table, "delete")}
  ${isOneServer(site) ? nameDeleted(table, id) : ""}
  ${rejectUnmatched(table, "delete", { missed })}
  delete from ${rowOf(table)} where ${toWrite(table, "delete")};
  if found then
    return '';
  end if;
  ${missed}
end`;
}
