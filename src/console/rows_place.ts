/** Which rows a page shows, as its address says it: forms that were opened from it lead back there. @module */
import { readParameters } from "../http/mod.ts";
import type { Visit } from "./enter.ts";

export const LIMITS = [25, 50, 100, 250] as const;
const DEFAULT_LIMIT = 50;
export const MAX_OFFSET = 2_147_483_647;

export type Place = {
  limit: number;
  offset: number;
  /** Columns that are left out. */
  hidden: readonly string[];
};

/** What says that a column is left out, before its name. */
const HIDE = "hide.";
const MOST_HIDDEN = 200;

export function readPlace({ context }: Visit): Place {
  const query = new Map(readParameters(context.query));
  const limit = LIMITS.find((limit) => String(limit) === query.get("limit")) ?? DEFAULT_LIMIT;
  // People count from one, the endpoints from zero.
  const from = query.get("from") ?? "1";
  const offset = /^\d{1,10}$/.test(from) ? Math.min(Math.max(Number(from) - 1, 0), MAX_OFFSET) : 0;
  const hidden = [...query.keys()]
    .filter((name) => name.startsWith(HIDE))
    .map((name) => name.slice(HIDE.length));
  return { limit, offset, hidden: hidden.slice(0, MOST_HIDDEN) };
}

/** An address with a place, and more. */
export function withPlace(path: string, place: Place, more: Record<string, string> = {}): string {
  const query = new URLSearchParams({
    ...(place.offset === 0 ? {} : { from: String(place.offset + 1) }),
    ...(place.limit === DEFAULT_LIMIT ? {} : { limit: String(place.limit) }),
    ...Object.fromEntries(place.hidden.map((name) => [HIDE + name, "on"])),
    ...more,
  }).toString();
  return query === "" ? path : `${path}?${query}`;
}
