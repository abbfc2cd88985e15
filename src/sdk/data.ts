/**
 * The data client: an app's tables over HTTP, typed from its schema. Runs in browsers, Node, Deno, Bun and workers.
 * Has no dependencies, and no state except its settings.
 *
 * Anyone who has the API key can read and write all rows of the app. A page that contains the key exposes it.
 *
 * @example
 * ```ts
 * import { createDataClient } from "rowhouse/data";
 * import { defineSchema, t } from "rowhouse/schema";
 *
 * const schema = defineSchema({
 *   todos: {
 *     title: t.string().required(),
 *     status: t.enum(["open", "doing", "done"]).required().default("open"),
 *   },
 * });
 * const baseUrl = process.env["ROWHOUSE_URL"] ?? "";
 * const apiKey = process.env["ROWHOUSE_API_KEY"] ?? "";
 * const db = createDataClient({ baseUrl, apiKey, schema });
 *
 * const todo = await db.todos.create({ title: "Water the plants" });
 * expect(todo.status).toBe("open");
 * expect(await db.todos.update(todo.id, { status: "done" })).toEqual({ ...todo, status: "done" });
 *
 * const titles: string[] = [];
 * for await (const { title } of db.todos.all()) titles.push(title);
 * expect(titles).toEqual(["Water the plants"]);
 * await db.todos.delete(todo.id);
 * ```
 * @module
 */

export { relay } from "./relay.ts";

import type { Schema, TablesOf } from "../schema/mod.ts";
import { makeClient, makeConnection } from "./client.ts";
import { VISIBLE } from "./data_call.ts";
import { readServiceUrl } from "./service_url.ts";
import type { NoTables, TableClient, TableTypes } from "./table_client.ts";

export { DataError, type DataErrorCode, type DataErrorDetail } from "./data_error.ts";
export { matches, type TableKinds } from "./matches.ts";

export { etagOf, type RowState } from "./row_state.ts";
export type { OrderKey } from "./select.ts";
export type {
  CallOptions,
  ChangeOptions,
  ChangesOptions,
  Counted,
  CreateAllOptions,
  ListOptions,
  ManyOptions,
  Page,
  QueryOptions,
  RowUpdate,
  TableChanges,
  TableClient,
  TableTypes,
  UniqueValues,
  Upserted,
  UpsertOptions,
  UpsertResult,
  WatchOptions,
} from "./table_client.ts";
export type { Comparisons, Where } from "./where.ts";

/** Settings of a client. */
export type DataClientOptions = {
  /** The URL of the gateway, such as `https://api.example.org`. */
  readonly baseUrl: string;
  /** The app's API key, from the Console. It never appears in the client's errors or logs. */
  readonly apiKey: string;
  /** Max milliseconds per call, retries included. Default: 40,000. */
  readonly timeoutMs?: number | undefined;
  /** Max retries of a call after a temporary failure. Default: 2. */
  readonly retries?: number | undefined;
  /** Whether to cache the last 100 pages. The service does not resend an unchanged page. Default: false. */
  readonly cache?: boolean | undefined;
  /** Whether the service rejects unknown columns in a write with `validation_failed`. By default, it drops them. */
  readonly strict?: boolean | undefined;
};

/** A client: one `TableClient` per table. */
export type DataClient<S> = {
  readonly [Name in keyof TablesOf<S>]: TablesOf<S>[Name] extends infer Types extends TableTypes
    ? TableClient<Types, TablesOf<S>, Name>
    : never;
};

/**
 * A client for one app's tables. Sends nothing until a method is called.
 *
 * The types come from the schema, or only from a type: the generated `Tables`, or `typeof schema`. A client without a
 * schema accepts any table name, and the service rejects unknown tables.
 *
 * Give `schema` if you watch related rows, or with conditions on them: a client that has only types does not know their
 * tables, and `watch` polls.
 *
 * @throws {TypeError} for an invalid `baseUrl`, `apiKey`, `schema` or number
 *
 * @example
 * ```ts
 * import { createDataClient } from "rowhouse/data";
 * import type { Id } from "rowhouse/schema";
 *
 * // In an app: import type { Tables } from "./.rowhouse/types.d.ts";
 * interface Tables {
 *   projects: {
 *     row: { id: Id<"projects">; app_id: string; name: string };
 *     insert: { name: string };
 *     update: { name?: string };
 *   };
 * }
 * const baseUrl = process.env["ROWHOUSE_URL"] ?? "";
 * const apiKey = process.env["ROWHOUSE_API_KEY"] ?? "";
 * const db = createDataClient<Tables>({ baseUrl, apiKey });
 *
 * const { id } = await db.projects.create({ name: "Garden" });
 * expect((await db.projects.get(id)).name).toBe("Garden");
 * ```
 */
export function createDataClient<S = NoTables>(
  options: DataClientOptions & { readonly schema?: S & Schema },
): DataClient<S>;
export function createDataClient(
  options: DataClientOptions & { readonly schema?: unknown },
): object {
  const apiKey = readKey(options.apiKey);
  const baseUrl = readServiceUrl("baseUrl", options.baseUrl);
  const connection = makeConnection({ ...options, baseUrl, authorize: () => apiKey });
  return makeClient(connection, options.schema);
}

/** A pasted key can have line breaks, spaces, or the name of its scheme. The message of fetch would contain a malformed key. */
function readKey(typed: unknown): string {
  const key = typeof typed === "string" ? typed.replace(/^\s*bearer\s+|\s+/gi, "") : "";
  if (VISIBLE.test(key)) return key;
  throw new TypeError("Cannot use this apiKey: must be visible ASCII characters and not empty");
}
