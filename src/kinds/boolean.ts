/** Columns of true and false. @module */
import type { FieldKind, SqlKind, Types, ValueKind } from "./kind.ts";
import { EQUAL } from "./operators.ts";

export type BooleanTypes = {
  /** A column of true and false. */
  boolean: Types<boolean>;
};

/** Notations of databases, and of spreadsheets in the languages that have their own. */
const TRUE =
  "true t yes y on 1 wahr vrai verdadero vero verdadeiro waar prawda sant sand sann tosi pravda igaz doğru истина";
const FALSE =
  "false f no n off 0 falsch faux falso onwaar fałsz falskt falsk usann epätosi nepravda hamis yanlış yanliş ложь";

export const booleanValue: ValueKind = {
  compared: "values",
  default: { wanted: "must be true or false" },
  read: (value) => (typeof value === "boolean" ? { value } : { issue: "Must be true or false" }),
  fromQuery: (text) => (text === "true" ? true : text === "false" ? false : undefined),
  fromCsv: (text) => {
    const term = text.trim().normalize().toLowerCase();
    const isTrue = TRUE.split(" ").includes(term);
    return { value: isTrue || FALSE.split(" ").includes(term) ? isTrue : text };
  },
  schema: () => ({ type: "boolean" }),
  sample: () => true,
  operators: EQUAL,
};

export const booleanSql: SqlKind = {
  type: { name: "pg_catalog.bool", printed: "boolean" },
  width: 8,
  ends: ["false", "true"],
  isFixed: true,
  storedBytes: () => 4,
  fromText: {
    check: (text) => `${text} in ('true', 'false')`,
    toValue: (text) => `${text}::bool`,
  },
  jsonInput: (text) => `${text}::bool`,
  reversible: ["string", "json"],
};

export const booleanField: FieldKind = {
  label: "true or false",
  sign: "y/n",
  expected: () => "true or false",
  control: "choice",
  choices: () => ["true", "false"],
  toJson: (text) => (text === "true" || text === "false" ? text : JSON.stringify(text)),
  cell: "plain",
  search: {
    operators: ["eq", "neq"],
    toValue: (text) => (["true", "false"].includes(text) ? text === "true" : text),
  },
};
