/** Query parameters of the data endpoints: `limit` and `offset` on a list, nothing else anywhere. Pure. @module */
import { readParameters, unsupportedParameter } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";

/** Maximum number of rows per request, the service's documented limit. */
export const MAX_ROWS = 1000;
export const MAX_OFFSET = 2_147_483_647;
/** Why data endpoints take no other parameters. */
export const ONLY_PAGES =
  "filters, sorting and joins are not supported, only limit and offset on a list";

export type Page = { limit: number; offset: number };

const WHOLE: Page = { limit: MAX_ROWS, offset: 0 };

/**
 * The page that a list asks for. A limit that is too large is reduced, not refused: the answer says which was used.
 *
 * @throws {Problem} unsupported_query — another parameter; invalid_query — not a whole number, or given twice
 */
export function readPage(query: string): Page {
  if (query === "") return WHOLE;
  const found = new Map<string, string>();
  for (const [name, value] of readParameters(query)) {
    if (name !== "limit" && name !== "offset") throw unsupportedParameter(name, ONLY_PAGES);
    if (found.has(name))
      throw new Problem("invalid_query", { message: `Cannot read ${name}: it is given twice` });
    found.set(name, value);
  }
  return {
    limit: Math.min(
      readWhole("limit", found.get("limit"), Number.MAX_SAFE_INTEGER) ?? MAX_ROWS,
      MAX_ROWS,
    ),
    offset: readWhole("offset", found.get("offset"), MAX_OFFSET) ?? 0,
  };
}

export function readWhole(name: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw notWhole(name, text, "a whole number from 0");
  const value = Number(text);
  // A limit has no upper bound: any larger one means the maximum.
  if (value > max && name !== "limit") throw notWhole(name, text, `at most ${max}`);
  return value;
}

function notWhole(name: string, text: string, wanted: string): Problem {
  return new Problem("invalid_query", {
    message: `Cannot read ${name} ${quote(text)}: must be ${wanted}`,
  });
}
