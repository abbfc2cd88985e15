/** References of a file by the values of a unique column of the referenced table. @module */
import type { NamedColumn } from "../schema/mod.ts";
import { type Match, readValue, toMatchKey } from "./read_rows.ts";

type Values = { readonly [column: string]: unknown };

/** Reads all rows of the referenced table. */
export async function readMatch(
  column: NamedColumn,
  pages: AsyncIterable<readonly Values[]>,
): Promise<Match> {
  const ids = new Map<string, string>();
  for await (const rows of pages)
    for (const values of rows) {
      const read = readValue(values[column.name] ?? null, { ...column, required: false });
      if ("value" in read && read.value !== null)
        ids.set(toMatchKey(read.value), String(values["id"]));
    }
  return { column, find: (key) => ids.get(key) };
}
