/**
 * The parts of the bodies of writes that apply the caller's rights: protected columns, rules on new rows, references, and what a
 * response or a replay shows. An API key has every right, so that they are empty.
 *
 * A write rejects first what depends on the request alone, and references before it writes. So a reference to a row that the person
 * does not read has the error of a missing row, whatever else is wrong.
 *
 * @see view_terms.ts for the conditions
 * @module
 */

import { quoteLiteral, quoteName } from "../../db/mod.ts";
import { type ColumnSet, placeholdersOf, withoutTrue } from "../catalog/mod.ts";
import { callerOf } from "./caller_terms.ts";
import {
  initial,
  isGiven,
  isRow,
  outputs,
  ROW_TEXT,
  rowsText,
  type SetColumn,
  variable,
} from "./function_terms.ts";
import {
  andAllowed,
  checkedReferences,
  closedColumns,
  isAllowed,
  isAllowedNew,
  isOwner,
  isTrueOfNew,
  isVisible,
  onRow,
  type Place,
  readsItself,
  rightsOn,
  shownColumns,
  WHO,
} from "./view_terms.ts";

/** The app is the first parameter of every function. */
const APP = placeholdersOf("get").app;

/** The list of what a replay has of several rows, from the `"$one"."$id"` of `ids`. */
export function shortRows(table: ColumnSet, ids: string): string {
  const texts = `string_agg(${callerOf(table).toShort('"$one"."$id"')}, ',' order by "$one"."$n")`;
  return `(select ${rowsText(texts)} from unnest(${ids}) with ordinality as "$one" ("$id", "$n"))`;
}

/** The values of the body's variables. */
export function onVariables(table: ColumnSet, id: string): Place {
  return {
    who: WHO,
    valueOf: (name) =>
      name === "id" ? id : variable(table.columns.findIndex((column) => column.name === name)),
  };
}

/**
 * The replay in a variable as the person may see it now: only ids, if a row has a column that the person does not see, or if the
 * person does not read the row anymore.
 */
export function replayOf(table: ColumnSet, text = '"$text"'): string {
  if (table.view === undefined) return text;
  const list = (names: readonly string[]) => `array[${names.map(quoteLiteral).join(", ")}]::text[]`;
  const shown = ["id", "app_id", ...shownColumns(table).map(({ name }) => name)];
  const response = `substr(${text}, 2)::jsonb`;
  const hasOther = (names: readonly string[]) =>
    `exists (select from jsonb_object_keys("$e"."$row") as "$k" ("$name") where "$k"."$name" <> all (${list(names)}))`;
  const reads = `exists (select from data.${quoteName(table.name)} as "$t"
      where ${isRow(APP, `("$e"."$row" ->> 'id')::uuid`)} and (${isVisible(table)}))`;
  return `case when not starts_with(${text}, 'R') then ${text} when exists (
      select from jsonb_array_elements(coalesce(${response} -> 'rows', jsonb_build_array(${response}))) as "$e" ("$row")
      where ${hasOther(["id", "app_id"])} and (${hasOther(shown)} or not ${reads}))
    then concat('I', rowhouse.only_ids(substr(${text}, 2))) else ${text} end`;
}

// Columns that the person cannot set.

/** Whether a body names the column, or another person as a new row's owner. */
function isNamed(table: ColumnSet, column: SetColumn, { body, isNew }: Sent): string | undefined {
  const { name } = column;
  const named = `${body} ? ${quoteLiteral(name)}`;
  if (closedColumns(table, isNew).includes(name)) return named;
  if (!isNew || !isOwner(table, column)) return undefined;
  return `${named} and coalesce(${body} ->> ${quoteLiteral(name)}, '') <> ${WHO}::text`;
}

type Sent = { readonly body: string; readonly isNew: boolean };

/** The first column of a body that the person cannot set, as an expression; `undefined` if the person can set all. */
export function closedColumn(table: ColumnSet, sent: Sent): string | undefined {
  const cases = table.columns.flatMap((column) => {
    const named = isNamed(table, column, sent);
    return named === undefined ? [] : [`when ${named} then ${quoteLiteral(column.name)}`];
  });
  // In parentheses: PL/pgSQL ends the condition of an "if" at the first "then".
  return cases.length === 0 ? undefined : `(case ${cases.join(" ")} end)`;
}

/** Rejects the variable `"$body"` if it names a column that the person cannot set. */
export function rejectClosed(table: ColumnSet, isNew: boolean): string {
  const column = closedColumn(table, { body: '"$body"', isNew });
  if (column === undefined) return "";
  return `if (${column}) is not null then
    perform rowhouse.reject_rule(${column});
  end if;`;
}

// Rules on the values of one row.

/** Rejects the values of the variables if the rule for new rows does not hold, or a reference is to a row that the person does not read. */
export function rejectNew(table: ColumnSet, id: string): string {
  const place = onVariables(table, id);
  const condition = isAllowedNew(table, "create", place);
  const rule =
    condition === "true"
      ? ""
      : `if not coalesce(${condition}, false) then
    perform rowhouse.reject_rule(null);
  end if;`;
  return [rejectClosed(table, true), rule, rejectReferences(table, place, "create")].join("\n  ");
}

/** Rejects references in variables. An update checks those that its body has. */
export function rejectReferences(
  table: ColumnSet,
  place: Place,
  action: "create" | "update",
): string {
  const checks = checkedReferences(table).map(({ column, constraint, isReadable }) => {
    const given = action === "create" ? "" : `${isGiven(findColumn(table, column))} and `;
    return `if ${given}${place.valueOf(column)} is not null and not coalesce(${isReadable(place)}, false) then
    perform rowhouse.reject_reference(${quoteLiteral(constraint)});
  end if;`;
  });
  return checks.join("\n  ");
}

function findColumn({ columns }: ColumnSet, name: string): SetColumn {
  const column = columns.find((each) => each.name === name);
  if (column === undefined) throw new Error(`No column ${name}`);
  return column;
}

/** The text of the new row in `"$row"`, whose values the variables have. */
export function newText(table: ColumnSet, id: string): string {
  const { toShort } = callerOf(table);
  const condition = isAllowedNew(table, "read", onVariables(table, id));
  if (condition === "true") return ROW_TEXT;
  return condition === "false"
    ? toShort(id)
    : `case when ${condition} then ${ROW_TEXT} else ${toShort(id)} end`;
}

// Rules on the new rows of a batch or a group.

/** How rows are created: expressions for the ids and the bodies, and for the time of a row at `"$new"."$nth"`. */
type NewRows = { readonly ids: string; readonly bodies: string; readonly now?: string };

/** The rows that an insert reads: `"$new"` with the id and the body. */
export function fromNew({ ids, bodies, now }: NewRows): string {
  const [ordinality, nth] = now === undefined ? ["", ""] : [" with ordinality", ', "$nth"'];
  return `from rows from (unnest(${ids}), jsonb_array_elements(${bodies}))${ordinality} as "$new" ("$id", "$body"${nth})`;
}

/**
 * Rejects new rows as {@linkcode rejectNew} before their insert: a row cannot be the membership that allows it. `isRuled`: whether the
 * rule for new rows counts.
 */
export function rejectNewRows(
  table: ColumnSet,
  { isRuled = true, ...rows }: NewRows & { readonly isRuled?: boolean },
): string {
  const references = checkedReferences(table);
  const compared = [
    ...(isRuled ? comparedByCreate(table) : []),
    ...references.map(({ column }) => column),
  ];
  const typed = typeNew(table, compared, rows);
  const condition = isRuled ? isAllowedNew(table, "create", onRow()) : "true";
  const closed = closedColumn(table, { body: '"$new"."$body"', isNew: true });
  const checks = [
    closed === undefined
      ? ""
      : `"$field" := (select ${closed} ${fromNew(rows)} where ${closed} is not null limit 1);
    if "$field" is not null then
      perform rowhouse.reject_rule("$field");
    end if;`,
    condition === "true"
      ? ""
      : `if exists (select from ${typed} where not coalesce(${condition}, false)) then
      perform rowhouse.reject_rule(null);
    end if;`,
    ...references.map(
      ({ column, constraint, isReadable }) =>
        `if exists (select from ${typed} where "$t".${quoteName(column)} is not null
      and not coalesce(${isReadable(onRow())}, false)) then
      perform rowhouse.reject_reference(${quoteLiteral(constraint)});
    end if;`,
    ),
  ];
  return checks.filter((check) => check !== "").join("\n    ");
}

/** The columns that the rule for new rows compares. */
export function comparedByCreate(table: ColumnSet): string[] {
  const rights = rightsOn(table);
  const left = withoutTrue(rights.create ?? [], isTrueOfNew(rights)) ?? [];
  return left.flatMap((alternative) => Object.keys(alternative));
}

/** New rows as "$t", with their ids and the values of these columns. */
export function typeNew(table: ColumnSet, compared: readonly string[], rows: NewRows): string {
  const values = table.columns
    .filter(({ name }) => compared.includes(name))
    .map((column) => `${initial(table, column, rows.now)} as ${quoteName(column.name)}`);
  return `(select ${['"$new"."$id" as "id"', ...values].join(", ")} ${fromNew(rows)}) as "$t"`;
}

/** The variable of {@linkcode rejectNewRows}. */
export function declareField(table: ColumnSet): string {
  return closedColumn(table, { body: "", isNew: true }) === undefined ? "" : '"$field" text;';
}

/** What a response has of new rows: the whole row, only ids, or what the person reads of each. */
export function shownOfNew(table: ColumnSet): "whole" | "ids" | "each" {
  const condition = isAllowedNew(table, "read", onRow());
  if (condition === "true") return "whole";
  return condition === "false" ? "ids" : "each";
}

// Rules on changed rows.

/** The conditions that a row must fulfill before a change. */
export function mayChange(table: ColumnSet, name: "from" | "delete"): string {
  const conditions = (["read", name] as const).map((rule) => andAllowed(table, rule));
  return [...new Set(conditions)].join("");
}

/** Rejects a row that the person reads and may not change. */
export function rejectUnchangeable(
  table: ColumnSet,
  name: "from" | "delete",
  { id }: { readonly id: string },
): string {
  const condition = isAllowed(table, name);
  // Every row that the caller reads fulfills the rule.
  if (condition === "true" || condition === isVisible(table)) return "";
  return `if exists (select from data.${quoteName(table.name)} as "$t" where ${isRow(APP, id)}
      and (${isVisible(table)}) and not coalesce(${condition}, false)) then
      perform rowhouse.reject_rule(null);
    end if;`;
}

/** What a write reads of the changed row "$t", and what it does with it. */
type Changed = {
  readonly declared: string;
  readonly values: string;
  readonly variables: string;
  /** Sets `"$text"` to the row's text. */
  readonly text: string;
  /** Rejects a new state that no rule allows, and leaves the ids of a row that the caller does not read anymore. */
  readonly end: (id: string) => string;
};

export function changedOf(table: ColumnSet): Changed {
  const allowed = isAllowed(table, "to");
  const visible = isVisible(table);
  if (allowed === "true" && visible === "true")
    return {
      ...{ declared: '"$row" record;', values: outputs(table), variables: '"$row"' },
      ...{ text: `"$text" := ${ROW_TEXT};`, end: () => "" },
    };
  const text = `(select row_to_json("$o")::text from (select ${outputs(table)}) as "$o")`;
  return {
    declared: `"$ok" bool;
  "$seen" bool;`,
    values: `${text}, coalesce(${allowed}, false), coalesce(${visible}, false)`,
    variables: '"$text", "$ok", "$seen"',
    text: "",
    end: (id) => `if not "$ok" then
    perform rowhouse.reject_rule(null);
  end if;
  ${seeAgain(table, id)}
  "$text" := case when "$seen" then "$text" else ${callerOf(table).toShort(id)} end;`,
  };
}

/** A write of rows that the rule for reading reaches can change who reads them. */
function seeAgain(table: ColumnSet, id: string): string {
  if (!readsItself(table)) return "";
  return `"$seen" := exists (select from data.${quoteName(table.name)} as "$t" where ${isRow(APP, id)} and (${isVisible(table)}));`;
}
