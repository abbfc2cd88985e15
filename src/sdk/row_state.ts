/** The tags of the rows that the client returned. @module */

/** A row as the client returned it, or the tag of its state. */
export type RowState = string | object;

const tags = new WeakMap<object, string>();

/** Stores the tag of a returned row. */
export function keepTag<Row extends object>(row: Row, tag: string | undefined): Row {
  if (tag !== undefined) tags.set(row, tag);
  return row;
}

/**
 * The ETag of a row that `get`, `create` or `update` returned, such as `"3f0c…"` with its quotes. Store it with the row or
 * pass it on. `undefined` for any other object.
 *
 * @example
 * ```ts
 * import { createDataClient, DataError, etagOf } from "rowhouse/data";
 * import { defineSchema, t } from "rowhouse/schema";
 *
 * const schema = defineSchema({ todos: { title: t.string().required() } });
 * const baseUrl = process.env["ROWHOUSE_URL"] ?? "";
 * const apiKey = process.env["ROWHOUSE_API_KEY"] ?? "";
 * const db = createDataClient({ baseUrl, apiKey, schema });
 *
 * const seen = await db.todos.create({ title: "Water the plants" });
 * await db.todos.update(seen.id, { title: "Water the roses" });
 * const rejected = await db.todos
 *   .update(seen.id, { title: "Water the lawn" }, { ifMatch: seen })
 *   .catch((error: unknown) => error);
 * expect(rejected).toBeInstanceOf(DataError);
 * expect(rejected).toMatchObject({ status: 412, code: "precondition_failed" });
 * expect(etagOf(seen)).toStartWith('"');
 * ```
 */
export function etagOf(row: object): string | undefined {
  return tags.get(row);
}

/** The service's tags are strong: a proxy that compresses a response adds the mark of a weak tag. */
export function toStrongTag(tag: string | undefined): string | undefined {
  return tag?.replace(/^W\/(?=")/, "");
}

/** @throws {TypeError} for a row without a stored tag */
export function toIfMatch(state: RowState | undefined): string | undefined {
  const tag = typeof state === "object" ? tags.get(state) : toStrongTag(state);
  if (state === undefined || (tag !== undefined && /^[\x20-\x7e]+$/.test(tag))) return tag;
  throw new TypeError(
    "Cannot use this ifMatch: must be a row that get, create or update returned, or the text of an ETag",
  );
}
