/**
 * The writes of several rows, which the bodies of batches, upserts and writes by condition share: rows are locked in the order of
 * their ids, so that two writes wait for each other instead of deadlocking, and then changed or deleted one by one.
 *
 * @see new_row_terms.ts for new rows
 * @module
 */

import { quoteName } from "../../../../db/mod.ts";
import { type ColumnSet, placeholdersOf, referenceColumns } from "../../../catalog/mod.ts";
import { sqlType } from "../../../plan/step.ts";
import { input, isGiven, isRow, type SetColumn, variable } from "../function_terms.ts";
import { changedOf } from "./changed_row_terms.ts";

/** The app is the first parameter of every function. */
const { app } = placeholdersOf("get");

export function rowOfId(table: ColumnSet): string {
  return `data.${quoteName(table.name)} as "$t" where ${isRow(app, '"$id"')}`;
}

/**
 * Locks the rows of `"$ids"`, which is sorted; `lock` is what the write needs. Each lock is a statement of its own: the order of the ids is
 * then the order of the locks in every plan.
 */
export function lockRows(table: ColumnSet, lock: "update" | "no key update"): string {
  return `foreach "$id" in array "$ids" loop
    perform from ${rowOfId(table)} for ${lock};
  end loop;`;
}

/** The variables of {@linkcode changeRow}. */
export function declareChange(table: ColumnSet): string {
  return [
    '"$body" jsonb;',
    ...table.columns.map((column, index) => `${variable(index)} ${sqlType(table, column)};`),
    ...(setsTime(table) ? ['"$now" timestamptz;'] : []),
    changedOf(table).declared,
  ].join("\n  ");
}

/** Reads the sent values of `"$body"`. */
export function readChange(table: ColumnSet): string {
  return table.columns
    .map((column, index) => `${variable(index)} := ${input(table, column)};`)
    .join("\n      ");
}

/** Reads the time of a change, once the rows are locked: the time of a write that waits for another one must not be the earlier of both. */
export function readTime(table: ColumnSet): string {
  return setsTime(table) ? '"$now" := clock_timestamp();' : "";
}

/** Updates the locked row of `"$id"` if a value changes, sets the variables of `changedOf()`, and runs `changed`; otherwise `unchanged`. */
export function changeRow(
  table: ColumnSet,
  { changed = "null;", unchanged = "" }: { readonly changed?: string; readonly unchanged?: string },
): string {
  const { values, variables } = changedOf(table);
  if (table.columns.length === 0) return unchanged;
  return `update data.${quoteName(table.name)} as "$t" set
        ${assignments(table, "true").join(",\n        ")}
      where ${isRow(app, '"$id"')} and ${isChanged(table)}
      returning ${values} into ${variables};
      if found then
        ${changed}${unchanged === "" ? "" : `\n      else\n        ${unchanged}`}
      end if;`;
}

/** Reads what {@linkcode changeRow} reads of a row that it changes. */
export function readRow(table: ColumnSet): string {
  const { values, variables } = changedOf(table);
  return `select ${values} into ${variables} from ${rowOfId(table)};`;
}

/** The columns of an update; `isChanged`: whether those that change with the others do. */
export function assignments(table: ColumnSet, isChanged: string): string[] {
  return table.columns.map((column, index) => {
    const time = isUpdated(column) ? ` when ${isChanged} then "$now"` : "";
    return `${quoteName(column.name)} = ${nextValue(column, index, time)}`;
  });
}

/** A column's value after the update; `otherwise` are further branches for a column that the body omits. */
function nextValue(column: SetColumn, index: number, otherwise = ""): string {
  return `case when ${isGiven(column)} then ${variable(index)}${otherwise} else "$t".${quoteName(column.name)} end`;
}

export function setsTime({ columns }: ColumnSet): boolean {
  return columns.some(isUpdated);
}

function isUpdated({ onUpdate }: SetColumn): boolean {
  return onUpdate !== undefined;
}

/** Whether the body changes a value of the row. Compares the bytes of the values: 1.5 and 1.50 are different texts, and a null equals a null. */
export function isChanged(table: ColumnSet): string {
  const before = table.columns.map(({ name }) => `"$t".${quoteName(name)}`);
  const after = table.columns.map((column, index) => nextValue(column, index));
  return `record_image_ne(row(${before.join(", ")}), row(${after.join(", ")}))`;
}

/** The variables of {@linkcode deleteRows}. */
export function declareDeletes(table: ColumnSet): string {
  return isReferring(table) ? '"$left" uuid[];\n  "$blocked" uuid[];' : "";
}

/** Deletes the rows of `"$ids"`. A row that another of the rows references is deleted after it: each pass has the other direction. */
export function deleteRows(table: ColumnSet): string {
  const remove = `delete from ${rowOfId(table)};`;
  if (!isReferring(table))
    return `foreach "$id" in array "$ids" loop
    ${remove}
  end loop;`;
  return `"$left" := "$ids";
  loop
    "$blocked" := '{}'::uuid[];
    foreach "$id" in array "$left" loop
      begin
        ${remove}
      exception when integrity_constraint_violation then
        "$blocked" := array_prepend("$id", "$blocked");
      end;
    end loop;
    exit when "$blocked" = '{}';
    if cardinality("$blocked") = cardinality("$left") then
      "$id" := "$blocked"[1];
      ${remove}
    end if;
    "$left" := "$blocked";
  end loop;`;
}

function isReferring(table: ColumnSet): boolean {
  return referenceColumns(table).length > 0;
}
