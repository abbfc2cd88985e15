/** What a list asks for, after it was read and checked, and the readers of its page. Pure. @module */

import { ofParameter, readParameters, unsupportedParameter } from "../../http/mod.ts";
import type { Problem } from "../../problem.ts";
import { MAX_ROWS } from "../../std/limits.ts";
import { quote } from "../../std/quote.ts";
import type { RecordedTable } from "../../tables/catalog/mod.ts";
import { type Condition, invalid, type QueryColumn } from "./filter.ts";

export type SortKey = { readonly column: QueryColumn; readonly isDescending: boolean };

export type ListQuery = Page &
  Selection & {
    /** All of them must be true. */
    readonly where: readonly Condition[];
    /** A total order: the last key is the id. Omits columns that a condition limits to one value or to none. */
    readonly order: readonly SortKey[];
    /** The values of the order's keys in the first row of the page. */
    readonly after: readonly (string | null)[] | undefined;
    /** Whether only `limit` and `offset` were given. */
    readonly isPlain: boolean;
  };

export type Selection = {
  /** Empty, without related rows: every column. */
  readonly select: readonly QueryColumn[];
  readonly related: readonly Relation[];
};

export type Relation = Selection & {
  readonly name: string;
  readonly table: RecordedTable;
  /** The reference: of the selecting table, or of the children's. */
  readonly column: QueryColumn;
  readonly children: Children | undefined;
};

export type Children = {
  readonly limit: number;
  readonly order: readonly SortKey[];
};

export const MAX_OFFSET = 2_147_483_647;
const ONLY_PAGES = "filters, sorting and joins are not supported, only limit and offset on a list";
/** The reason for rejecting all parameters of requests for one row, and of writes. */
export const ONLY_LISTS = "only lists have query parameters";

export type Page = { limit: number; offset: number };

const WHOLE: Page = { limit: MAX_ROWS, offset: 0 };

/**
 * The requested page of a list. A limit above the max is reduced, not rejected; the response contains the applied limit.
 *
 * @throws {Problem} unsupported_query — another parameter; invalid_query — not a whole number, or given twice
 */
export function readPage(query: string): Page {
  if (query === "") return WHOLE;
  const found = new Map<string, string>();
  for (const [name, value] of readParameters(query)) {
    if (name !== "limit" && name !== "offset")
      throw unsupportedParameter(
        name,
        `${ONLY_PAGES}; this call needs PREVIEW=filters in the service`,
      );
    if (found.has(name)) throw givenTwice(name);
    found.set(name, value);
  }
  return { limit: readLimit(found.get("limit")), offset: readOffset(found.get("offset")) };
}

export function readLimit(text: string | undefined, name = "limit"): number {
  return text === undefined ? MAX_ROWS : Math.min(readWhole(name, text), MAX_ROWS);
}

export function readOffset(text: string | undefined): number {
  if (text === undefined) return 0;
  const offset = readWhole("offset", text);
  if (offset > MAX_OFFSET) throw notWhole("offset", text, `at most ${MAX_OFFSET}`);
  return offset;
}

function readWhole(name: string, text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw notWhole(name, text, "a whole number from 0");
}

export function givenTwice(name: string): Problem {
  const problem = invalid(`Cannot read ${name}: it is given twice`);
  problem.parameters = [name, name];
  return problem;
}

function notWhole(name: string, text: string, wanted: string): Problem {
  return ofParameter(name, invalid(`Cannot read ${name} ${quote(text)}: must be ${wanted}`));
}
