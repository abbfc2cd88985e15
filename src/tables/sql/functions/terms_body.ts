/**
 * The terms of a set: what the functions of all tables (`db/code/tables/sets.sql`) need to build their statements for it, as JSON in the body
 * of a function. No login may execute that function. A session that only reads its text keeps nothing of it. It is dropped, renewed,
 * compared and guarded like every other function of a set.
 *
 * A term is plain SQL for a search path that has only `pg_catalog`. Its row is "$t", and its first parameters are $1 the app and $2 the person.
 *
 * @module
 */

import { type ColumnSet, queryColumns, watchedTables } from "../../catalog/mod.ts";
import { outputs, rowSize } from "./function_terms.ts";
import { isVisible, WHO } from "./view_terms.ts";
import { type WriteTerms, writeTerms } from "./writes/write_terms.ts";

/** Of every statement that has terms. The app is also the first parameter of a set's own functions. */
const PERSON = "$2";

type Terms = WriteTerms & {
  readonly table: string;
  /** Whose view it is: people with these roles on the app. Without both, the set is for API keys. */
  readonly app?: string;
  readonly roles?: readonly string[];
  /** Whether the view has a rule for reading, though no row may fulfill it. */
  readonly isReader?: true;
  /** The tables whose changes can change what a person sees. */
  readonly watched?: readonly string[];
  /** The id and the columns that the caller sees, as plans number them. */
  readonly queried: readonly QueriedColumn[];
  /** The values of the columns that the caller sees. */
  readonly outputs: string;
  /** About the bytes of a row's text. */
  readonly size: string;
  /** Whether the caller sees a row. */
  readonly read: string;
};

/** A column, with its place in a row. */
type QueriedColumn = {
  readonly name: string;
  readonly kind: string;
  readonly place: number;
};

function makeTerms(table: ColumnSet): Terms {
  const { name, view } = table;
  return {
    table: name,
    ...(view && { app: view.app, roles: view.roles, watched: watchedTables(view) }),
    ...(view?.read && { isReader: true }),
    queried: queryColumns(table).map(({ name: column, kind }) => ({
      name: column,
      kind,
      place: table.columns.findIndex((own) => own.name === column),
    })),
    outputs: outputs(table),
    size: rowSize(table, "$t"),
    read: isVisible(table),
    ...writeTerms(table),
  };
}

const MARK = "$terms$";
/** Two marks can share a character. */
const STARTS_MARK = /\$(?=terms\$)/g;

export function termsBody(table: ColumnSet): string {
  const members = Object.entries(makeTerms(table)).map((member) => member.map(toJson).join(": "));
  return `begin
  return ${MARK}{${members.join(",\n")}}${MARK};
end`;
}

/** A value with the parameter of the person, in which the mark does not occur. */
function toJson(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    typeof part === "string" ? withPerson(part) : part,
  ).replaceAll(STARTS_MARK, "\\u0024");
}

function withPerson(sql: string): string {
  return sql.replaceAll(/e?'(?:[^']|'')*'|"\$who"/gi, (part) => (part === WHO ? PERSON : part));
}
