/** The names of a schema's generated functions, for tests that call them in SQL. @module */

import type { TableDefinition } from "../../src/schema/mod.ts";
import { quoteLiteral } from "../../src/std/quote.ts";
import {
  calledName,
  type Endpoint,
  functionName,
  isShared,
  printedArguments,
  type SetFunction,
  setName,
} from "../../src/tables/catalog/mod.ts";
import { definitionOf } from "./service.ts";

/** Returns the bare name of a function that serves an app of this schema. */
export function functionOf(schema: unknown, table: string, name: SetFunction): string {
  return functionName(findDeclared(schema, table), name);
}

/** Returns the start of the names of a set's functions. */
export function setOf(schema: unknown, table: string): string {
  return setName(findDeclared(schema, table));
}

function findDeclared(schema: unknown, table: string): TableDefinition {
  const declared = definitionOf(schema).tables.find(({ name }) => name === table);
  if (declared === undefined) throw new Error(`The schema has no table ${table}`);
  return declared;
}

type Passed = { readonly app: string; readonly proof: string; readonly values: string };

/** The call of an endpoint for an app of this schema, from SQL for its arguments. */
export function renderCall(
  schema: unknown,
  table: string,
  endpoint: Endpoint,
  { app, proof, values }: Passed,
): string {
  const set = findDeclared(schema, table);
  const name = isShared(endpoint) ? [quoteLiteral(setName(set))] : [];
  const caller = [app, proof, ...name];
  return `${calledName(set, endpoint)}(${caller.join(", ")}, ${values})`;
}

/** Returns the function with the types of its arguments, as drift reports it. */
export function signatureOf(schema: unknown, table: string, name: SetFunction): string {
  return `${functionOf(schema, table, name)}(${printedArguments(name)})`;
}
