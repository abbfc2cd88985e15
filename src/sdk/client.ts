/** A client on a connection: its checked settings, and its tables. Knows no kind of key. @module */

import { type Connection, checkTimeout } from "./data_call.ts";
import { makeTable } from "./data_table.ts";
import type { TableSources } from "./related.ts";
import type { TableClient, TableTypes } from "./table_client.ts";

const TIMEOUT_MS = 40_000;
const RETRIES = 2;
const TABLE = /^[a-z][a-z0-9_]{0,47}$/;

/** Settings of a connection, as typed by a caller. */
export type ConnectionOptions = Pick<Connection, "baseUrl" | "authorize" | "renew" | "explain"> & {
  readonly timeoutMs?: number | undefined;
  readonly retries?: number | undefined;
  readonly cache?: boolean | undefined;
  readonly strict?: boolean | undefined;
};

/** @throws {TypeError} for an invalid number */
export function makeConnection({
  timeoutMs = TIMEOUT_MS,
  retries = RETRIES,
  cache = false,
  strict: isStrict = false,
  baseUrl,
  authorize,
  renew,
  explain,
}: ConnectionOptions): Connection {
  if (!Number.isInteger(retries) || retries < 0) {
    throw new TypeError(`Cannot retry ${retries} times: retries must be a whole number`);
  }
  return {
    ...{ baseUrl, authorize, renew, explain, retries, isStrict },
    timeoutMs: checkTimeout(timeoutMs),
    stored: cache ? new Map() : undefined,
    feeds: new Map(),
    restarts: new Set(),
  };
}

/** One client per table of the schema; without a schema, for any table. @throws {TypeError} for an invalid schema */
export function makeClient(connection: Connection, schema: unknown): object {
  if (schema === undefined) return makeOpenClient(connection);
  const tables = readTables(schema);
  return Object.freeze(
    Object.fromEntries(
      Object.keys(tables).map((name) => [name, makeTable(connection, name, tables)]),
    ),
  );
}

function readTables(schema: unknown): TableSources {
  const tables =
    typeof schema === "object" && schema !== null && "tables" in schema && schema.tables;
  if (typeof tables === "object" && tables !== null) return tables as TableSources;
  throw new TypeError("Cannot use this schema: must be the result of defineSchema()");
}

/** Returns a table for every valid table name. No table is callable, so `then` does not make the client a promise. */
function makeOpenClient(connection: Connection): object {
  const created = new Map<string, TableClient<TableTypes>>();
  return new Proxy(Object.freeze({}), {
    get(_target, name) {
      if (typeof name !== "string" || !TABLE.test(name)) return undefined;
      const table = created.get(name) ?? makeTable(connection, name);
      created.set(name, table);
      return table;
    },
  });
}
