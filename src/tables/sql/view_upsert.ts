/**
 * The parts of the body of an upsert that apply the rules of a view. A row that is created fulfills the rule for new rows. A row that
 * exists must be one that the person reads, and to update it, the rule for updates holds before and after. A row that the person does
 * not read is a conflict, as for a create. Without a view the parts are empty.
 *
 * @module
 */

import { quoteLiteral, quoteName } from "../../db/mod.ts";
import { type ColumnSet, placeholdersOf, withoutTrue } from "../catalog/mod.ts";
import { initial, isRow, outputs, ROW_TEXT } from "./function_terms.ts";
import {
  andAllowed,
  andVisible,
  isAllowedNew,
  isTrueOfNew,
  onRow,
  shownColumns,
  WHO,
} from "./view_terms.ts";
import {
  CHANGED,
  endChange,
  fromNew,
  rejectNewRows,
  shownOfNew,
  writtenText,
} from "./view_write_terms.ts";

const { app, indexes, isIgnored } = placeholdersOf("upsert");
const ROWS = { ids: '"$ids"', bodies: '"$bodies"' } as const;

/** The columns of the target that an upsert numbers, and those that it can change. */
export function upsertColumns(table: ColumnSet) {
  const { columns, view } = table;
  const isOwner = (name: string) => view?.owner.includes(name) === true;
  return { named: shownColumns(table), changed: columns.filter(({ name }) => !isOwner(name)) };
}

export function declareUpsert({ view }: ColumnSet): string {
  return view === undefined ? "" : '"$denied" uuid[];\n  "$isUnseen" bool;';
}

/**
 * Before the insert, because a row cannot be the membership that allows it: rejects columns that the person cannot set, and references
 * to rows that the person does not read. Notes the rows that the person cannot create.
 */
export function beforeUpsert(table: ColumnSet): string {
  const { view } = table;
  if (view === undefined) return "";
  const checks = rejectNewRows({ ...table, view: { ...view, create: [{}] } }, ROWS);
  const condition = isAllowedNew(table, "create", onRow());
  if (condition === "true") return `${checks}\n        "$denied" := '{}';`;
  const left = withoutTrue(view.create ?? [], isTrueOfNew(view)) ?? [];
  const compared = new Set(left.flatMap((alternative) => Object.keys(alternative)));
  const values = table.columns
    .filter(({ name }) => compared.has(name))
    .map((column) => `${initial(table, column)} as ${quoteName(column.name)}`);
  return `${checks}
        "$denied" := array(select "$t"."id"
          from (select ${['"$new"."$id" as "id"', ...values].join(", ")} ${fromNew(ROWS)}) as "$t"
          where not coalesce(${condition}, false));`;
}

/** After the insert, whose `"$ids"` are the created rows: rejects one that the person cannot create, and shows what the person reads. */
export function afterInsert(table: ColumnSet): string {
  if (table.view === undefined) return "";
  const shown =
    shownOfNew(table) === "whole"
      ? ""
      : `"$texts" := array(select coalesce((select ${ROW_TEXT} from (
            select ${outputs(table)} from data.${quoteName(table.name)} as "$t"
            where ${isRow(app, '"$n"."$id"')}${andVisible(table)}) as "$row"), ${writtenText('"$n"."$id"')})
          from unnest("$ids") with ordinality as "$n" ("$id", "$nth") order by "$n"."$nth");`;
  return `if exists (select from unnest("$ids") as "$n" ("$id") where "$n"."$id" = any ("$denied")) then
          perform rowhouse.reject_rule(null);
        end if;
        ${shown}`;
}

/** Handles the row `"$id"` that exists and is locked; `update` writes it, and sets the variables of {@linkcode CHANGED}. */
export function meetRow(table: ColumnSet, update: string): string {
  const rows = `data.${quoteName(table.name)} as "$t" where ${isRow(app, '"$id"')}`;
  const visible = andVisible(table);
  const unseen =
    visible === ""
      ? ""
      : `if not exists (select from ${rows}${visible}) then
              "$isUnseen" := true;
              raise exception 'a row has these values' using errcode = '23505',
                constraint = (${indexes})["$form"], table = ${quoteLiteral(table.name)};
            end if;`;
  const allowed = andAllowed(table, "from");
  const denied =
    allowed === ""
      ? ""
      : `if not exists (select from ${rows}${allowed}) then
                perform rowhouse.reject_rule(null);
              end if;`;
  const owners = (table.view?.owner ?? []).map(
    (name) => `if "$body" ? ${quoteLiteral(name)} and exists (select from ${rows}
                and ("$t".${quoteName(name)} = ${WHO}) is not true) then
                perform rowhouse.reject_rule(${quoteLiteral(name)});
              end if;`,
  );
  return `declare
            "$body" jsonb;
            "$ok" bool;
            "$seen" bool;
          begin
            ${unseen}
            if ${isIgnored} then
              select ${ROW_TEXT} into "$text" from (select ${outputs(table)} from ${rows}) as "$row";
            else
              "$body" := "$all" -> ("$nth" - 1);
              ${denied}
              ${owners.join("\n              ")}
              ${update}
              if found then
                "$results"["$nth"] := 'updated';
              else
                "$results"["$nth"] := 'unchanged';
                select ${CHANGED.values(table)} into ${CHANGED.variables} from ${rows};
              end if;
              ${endChange(table, '"$id"')}
            end if;
            "$found"["$nth"] := "$text";
          end;`;
}
