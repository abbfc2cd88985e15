/**
 * The rows of an upsert. A row that is created fulfills the rule for new rows. A row that exists must be one that the caller reads, and
 * to update it, the rule for updates holds before and after. A row that the caller does not read is a conflict, as for a create.
 *
 * @see row_writes.ts for the update
 * @module
 */

import { quoteLiteral, quoteName } from "../../../../db/mod.ts";
import { type ColumnSet, placeholdersOf } from "../../../catalog/mod.ts";
import { callerOf } from "../caller_terms.ts";
import { isRow, outputs, ROW_TEXT } from "../function_terms.ts";
import { andAllowed, andVisible, isAllowedNew, onRow, rightsOn, WHO } from "../view_terms.ts";
import { changedOf } from "./changed_row_terms.ts";
import {
  comparedByCreate,
  declareField,
  rejectNewRows,
  shownOfNew,
  typeNew,
} from "./new_row_terms.ts";
import { changeRow, readChange, readRow, rowOfId } from "./row_writes.ts";

const { app, indexes, isIgnored } = placeholdersOf("upsert");
const ROWS = { ids: '"$ids"', bodies: '"$bodies"' } as const;

/** The variables of {@linkcode beforeInsert}. */
export function declareUpsert(table: ColumnSet): string {
  return `${declareField(table)}
  ${findDenied(table) === "" ? "" : '"$denied" uuid[];'}`;
}

/**
 * Before the insert, because a row cannot be the membership that allows it: rejects columns that the caller cannot set, and references
 * to rows that the caller does not read. Notes the rows that the caller cannot create.
 */
export function beforeInsert(table: ColumnSet): string {
  return `${rejectNewRows(table, { ...ROWS, isRuled: false })}
          ${findDenied(table)}`;
}

function findDenied(table: ColumnSet): string {
  const condition = isAllowedNew(table, "create", onRow());
  if (condition === "true") return "";
  return `"$denied" := array(select "$t"."id"
            from ${typeNew(table, comparedByCreate(table), ROWS)}
            where not coalesce(${condition}, false));`;
}

/** After the insert, whose `"$ids"` are the created rows: rejects one that the caller cannot create, and shows what the caller reads. */
export function afterInsert(table: ColumnSet): string {
  const rejected =
    findDenied(table) === ""
      ? ""
      : `if exists (select from unnest("$ids") as "$n" ("$id") where "$n"."$id" = any ("$denied")) then
            perform rowhouse.reject_rule(null);
          end if;`;
  const shown =
    shownOfNew(table) === "whole"
      ? ""
      : `"$texts" := array(select coalesce((select ${ROW_TEXT} from (
              select ${outputs(table)} from data.${quoteName(table.name)} as "$t"
              where ${isRow(app, '"$n"."$id"')}${andVisible(table)}) as "$row"), ${callerOf(table).toShort('"$n"."$id"')})
            from unnest("$ids") with ordinality as "$n" ("$id", "$nth") order by "$n"."$nth");`;
  return `${rejected}
          ${shown}`;
}

/** Handles the row `"$id"` that exists and is locked: sets `"$text"` and the result of `"$nth"`. */
export function meetRow(table: ColumnSet): string {
  const row = rowOfId(table);
  const visible = andVisible(table);
  const unseen =
    visible === ""
      ? ""
      : `if not exists (select from ${row}${visible}) then
              "$isUnseen" := true;
              raise exception 'a row has these values' using errcode = '23505',
                constraint = (${indexes})["$form"], table = ${quoteLiteral(table.name)};
            end if;`;
  const { text, end } = changedOf(table);
  const ended = end('"$id"');
  return `${unseen}
            "$results"["$nth"] := 'ignored';
            if not ${isIgnored} then
              ${changeMet(table)}
            end if;
            if "$results"["$nth"] <> 'updated' then
              ${readRow(table)}
            end if;
            ${text}
            ${ended === "" ? "" : `if not ${isIgnored} then\n              ${ended}\n            end if;`}`;
}

/** Updates the row `"$id"` with the body of `"$nth"`, unless a rule denies it, and sets its result. `checked`: what also rejects the values. */
export function changeMet(table: ColumnSet, checked = ""): string {
  const row = rowOfId(table);
  const allowed = andAllowed(table, "from");
  const denied =
    allowed === ""
      ? ""
      : `if not exists (select from ${row}${allowed}) then
                perform rowhouse.reject_rule(null);
              end if;`;
  const owners = rightsOn(table).owner.map(
    (name) => `if "$body" ? ${quoteLiteral(name)} and exists (select from ${row}
                and ("$t".${quoteName(name)} = ${WHO}) is not true) then
                perform rowhouse.reject_rule(${quoteLiteral(name)});
              end if;`,
  );
  return `"$results"["$nth"] := 'unchanged';
              "$body" := "$all" -> ("$nth" - 1);
              ${denied}
              ${owners.join("\n              ")}
              ${readChange(table)}
              ${checked}
              ${changeRow(table, { changed: `"$results"["$nth"] := 'updated';` })}`;
}
