/** The pure part of this module: where a program finds the tables of an app. @module */

export const OPENAPI_PATH = "/v1/openapi.json";

/** The declaration of a table, in the schema of its inserts. */
export const TABLE_KEYWORD = "x-rowhouse-table";
