/** References of a file by the values of a column of the referenced table. @module */
import type { NamedColumn } from "../schema/mod.ts";
import { type Match, readValue, toMatchKey } from "./read_rows.ts";

type Values = { readonly [column: string]: unknown };

/** Reads all rows of the referenced table. Their ids are accepted as well. */
export async function readMatch(
  column: NamedColumn,
  pages: AsyncIterable<readonly Values[]>,
): Promise<Match> {
  const ids = new Map<string, string | null>();
  const known = new Set<string>();
  for await (const rows of pages)
    for (const values of rows) {
      const id = String(values["id"]);
      known.add(id);
      const read = readValue(values[column.name] ?? null, { ...column, required: false });
      if (!("value" in read) || read.value === null) continue;
      const key = toMatchKey(read.value);
      ids.set(key, ids.has(key) ? null : id);
    }
  return { column, find: (key) => (ids.has(key) || !known.has(key) ? ids.get(key) : key) };
}
