/**
 * The terms of a set: what the functions of all tables (`db/code/tables/sets.sql`) need to build their statements for it, as JSON in the body
 * of a function. No login may execute that function. A session that only reads its text keeps nothing of it. It is dropped, renewed,
 * compared and guarded like every other function of a set.
 *
 * A term is plain SQL for a search path that has only `pg_catalog`. Its row is "$t", and its first parameters are $1 the app and $2 the person.
 *
 * @module
 */

import { hasOwnType, type Kind } from "../../../kinds/mod.ts";
import { queryColumns, type ServedSet, watchedTables } from "../../catalog/mod.ts";
import { sqlType } from "../../plan/step.ts";
import { outputs, rowSize } from "./function_terms.ts";
import { renderSeenRows } from "./seen_rows.ts";
import { isVisible, WHO } from "./view_terms.ts";
import { writeTerms } from "./writes/write_terms.ts";

/** Of every statement that has terms. The app is also the first parameter of a set's own functions. */
const PERSON = "$2";

type Terms = {
  readonly table: string;
  /** Whose view it is: people with these roles on the app. Without both, the set is for API keys. */
  readonly app?: string;
  readonly roles?: readonly string[];
  /** Whether the view has a rule for reading, though no row may fulfill it. */
  readonly isReader?: true;
  /** The tables whose changes can change what a person sees. */
  readonly watched?: readonly string[];
  /** The id and the columns that the caller sees, by their names. */
  readonly queried: Readonly<Record<string, QueriedColumn>>;
  /** The values of the columns that the caller sees. */
  readonly outputs: string;
  /** About the bytes of a row's text. */
  readonly size: string;
  /** Whether the caller sees a row. */
  readonly read: string;
  /** The query of the rows that a person sees, unless all. */
  readonly seen?: string;
};

/** A column, with its place in a row. */
type QueriedColumn = {
  readonly kind: Kind;
  readonly place: number;
  /** The type that only this column has. */
  readonly type?: string;
};

function makeTerms(table: ServedSet): Terms {
  const { name, view } = table;
  const seen = renderSeenRows(table);
  return {
    table: name,
    ...(view && { app: view.app, roles: view.roles, watched: watchedTables(view) }),
    ...(view?.read && { isReader: true }),
    queried: Object.fromEntries(
      queryColumns(table).map((column) => {
        const place = table.columns.findIndex((own) => own.name === column.name);
        const type = hasOwnType(column) && { type: sqlType(table, column) };
        return [column.name, { kind: column.kind, place, ...type }];
      }),
    ),
    outputs: outputs(table),
    size: rowSize(table, "$t"),
    read: isVisible(table),
    ...(seen !== undefined && { seen }),
  };
}

/** Reads do not need the terms of writes, and would take time to parse them. */
export function termsBody(table: ServedSet): string {
  return `begin
  perform ${mark("$writes$", writeTerms(table))};
  return ${mark("$terms$", makeTerms(table))};
end`;
}

function mark(name: string, terms: object): string {
  const members = Object.entries(terms).map((member) => member.map(toJson).join(": "));
  return `${name}{${members.join(",\n")}}${name}`;
}

/** Two marks can share a character. */
const STARTS_MARK = /\$(?=(?:terms|writes)\$)/g;

/** A value with the parameter of the person, in which no mark occurs. */
function toJson(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    typeof part === "string" ? withPerson(part) : part,
  ).replaceAll(STARTS_MARK, "\\u0024");
}

function withPerson(sql: string): string {
  return sql.replaceAll(/e?'(?:[^']|'')*'|"\$who"/gi, (part) => (part === WHO ? PERSON : part));
}
