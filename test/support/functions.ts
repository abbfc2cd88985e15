/** The generated functions of a schema's tables, as tests name them in SQL of their own. @module */
import { type Endpoint, functionName, printedArguments } from "../../src/catalog/mod.ts";
import { definitionOf } from "./service.ts";

/** The bare name of a function that serves an app of this schema. */
export function functionOf(schema: unknown, table: string, endpoint: Endpoint): string {
  const declared = definitionOf(schema).tables.find(({ name }) => name === table);
  if (declared === undefined) throw new Error(`The schema has no table ${table}`);
  return functionName(declared, endpoint);
}

/** The function with the types of its arguments, as drift names it. */
export function signatureOf(schema: unknown, table: string, endpoint: Endpoint): string {
  return `${functionOf(schema, table, endpoint)}(${printedArguments(endpoint)})`;
}
