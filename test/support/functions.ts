/** The names of a schema's generated functions, for tests that call them in SQL. @module */
import { type Endpoint, functionName, printedArguments } from "../../src/tables/catalog/mod.ts";
import { definitionOf } from "./service.ts";

/** Returns the bare name of a function that serves an app of this schema. */
export function functionOf(schema: unknown, table: string, endpoint: Endpoint): string {
  const declared = definitionOf(schema).tables.find(({ name }) => name === table);
  if (declared === undefined) throw new Error(`The schema has no table ${table}`);
  return functionName(declared, endpoint);
}

/** Returns the function with the types of its arguments, as drift reports it. */
export function signatureOf(schema: unknown, table: string, endpoint: Endpoint): string {
  return `${functionOf(schema, table, endpoint)}(${printedArguments(endpoint)})`;
}
