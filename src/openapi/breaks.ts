/**
 * Breaking changes of a newer description for clients of a published one: removed endpoints, columns and values, and
 * narrower types. Additions are not breaking. Pure.
 *
 * @module
 */
import type { JsonSchema } from "../http/mod.ts";
import { followReference } from "./references.ts";

type Value = unknown;

/**
 * One line per breaking change, in the order of the published document.
 *
 * @example
 * ```ts
 * const list = { "/v1/data/db/todos": { get: {} } };
 * expect(findBreaks({ paths: list }, { paths: {} })).toEqual(["GET /v1/data/db/todos was removed"]);
 * expect(findBreaks({ paths: {} }, { paths: list })).toEqual([]);
 * ```
 */
export function findBreaks(published: JsonSchema, current: JsonSchema): string[] {
  return [
    ...findLostEndpoints(published["paths"], current["paths"]),
    ...findLostParameters(published, current),
    ...findNarrowed(published, current),
  ];
}

function findLostEndpoints(published: Value, current: Value): string[] {
  return eachEndpoint(published)
    .filter(({ path, method }) => get(get(current, path), method) === undefined)
    .map(({ path, method }) => `${method.toUpperCase()} ${path} was removed`);
}

function findLostParameters(published: JsonSchema, current: JsonSchema): string[] {
  return eachEndpoint(published["paths"]).flatMap(({ path, method, operation }) => {
    const other = get(get(current["paths"], path), method);
    if (other === undefined) return [];
    const names = new Set(namesOf(current, other));
    return namesOf(published, operation)
      .filter((name) => !names.has(name))
      .map((name) => `${method.toUpperCase()} ${path} no longer accepts ${name}`);
  });
}

function namesOf(document: JsonSchema, operation: Value): string[] {
  return list(operation, "parameters").map((parameter) =>
    String(followReference(document, Object(parameter))["name"]),
  );
}

type Endpoint = { path: string; method: string; operation: Value };

function eachEndpoint(paths: Value): Endpoint[] {
  return entries(paths).flatMap(([path, methods]) =>
    entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

function schemasOf(document: JsonSchema): Value {
  return get(document["components"], "schemas");
}

/** Skips removed tables, which their endpoints report. */
function findNarrowed(published: JsonSchema, current: JsonSchema): string[] {
  return entries(schemasOf(published)).flatMap(([name, schema]) => {
    const other = get(schemasOf(current), name);
    if (other === undefined) return [];
    const isResponse = name.endsWith("-row");
    const columns = entries(get(schema, "properties")).flatMap(([column, before]) => {
      const after = get(get(other, "properties"), column);
      return compareColumn(`${name}.${column}`, {
        before: followReference(published, Object(before)),
        after: after === undefined ? after : followReference(current, Object(after)),
        isResponse,
      });
    });
    return [...columns, ...findNewlyRequired(name, schema, other)];
  });
}

type Change = { before: Value; after: Value; isResponse: boolean };

function compareColumn(location: string, { before, after, isResponse }: Change): string[] {
  if (after === undefined) return [`${location} was removed`];
  const [wide, narrow] = isResponse ? [after, before] : [before, after];
  const lost = typesOf(wide).filter((type) => !typesOf(narrow).includes(type));
  const values = list(before, "enum").filter((value) => !list(after, "enum").includes(value));
  if (get(before, "format") !== get(after, "format")) return [`${location} has a different format`];
  return [
    ...lost.map((type) =>
      isResponse ? `${location} can now be ${type}` : `${location} can no longer be ${type}`,
    ),
    ...(list(after, "enum").length === 0
      ? []
      : values.map((value) => `${location} no longer has the value ${JSON.stringify(value)}`)),
  ];
}

/** In responses, `required` is a promise; in requests, it is a demand. */
function findNewlyRequired(name: string, published: Value, current: Value): string[] {
  const [before, after] = [list(published, "required"), list(current, "required")];
  const isThere = (column: unknown) =>
    get(get(current, "properties"), String(column)) !== undefined;
  if (name.endsWith("-row"))
    return before
      .filter((key) => !after.includes(key) && isThere(key))
      .map((key) => `${name}.${key} can now be absent`);
  return after
    .filter((key) => !before.includes(key))
    .map((key) => `${name}.${key} is now required`);
}

function typesOf(schema: Value): Value[] {
  const type = get(schema, "type");
  if (type === undefined) return ["any"];
  return Array.isArray(type) ? type : [type];
}

function get(value: Value, key: string): Value {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key);
}

function list(value: Value, key: string): Value[] {
  const found = get(value, key);
  return Array.isArray(found) ? found : [];
}

function entries(value: Value): [string, Value][] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}
