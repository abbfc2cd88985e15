/** Finds columns that a batch sent and the table no longer had: the endpoints ignore unknown fields. @module */
import { isObject, tryParseJson } from "../std/json.ts";

/**
 * The columns of a batch that the stored rows lack, because another program renamed or dropped them during the import.
 * Empty for a response of ids only, which a key gets that cannot read rows.
 */
export function findLostColumns(body: string, response: unknown): string[] {
  const stored = isObject(response) ? response["rows"] : undefined;
  const [row] = Array.isArray(stored) ? stored : [];
  if (!isObject(row) || Object.keys(row).every((name) => name === "id")) return [];
  const sent = tryParseJson(body);
  const names = Array.isArray(sent) ? sent.flatMap((item) => Object.keys(Object(item))) : [];
  return [...new Set(names)].filter((name) => !Object.hasOwn(row, name));
}
