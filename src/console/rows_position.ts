/** The rows and columns of a page, from its address. Forms that were opened from the page return to it. @module */
import { readParameters } from "../http/mod.ts";
import { isUuid } from "../std/is_uuid.ts";
import type { Visit } from "./enter.tsx";

export const LIMITS = [25, 50, 100, 250] as const;
const DEFAULT_LIMIT = 50;
export const MAX_OFFSET = 2_147_483_647;

export type Position = {
  limit: number;
  offset: number;
  /** The visible columns; if empty, all columns. */
  columns: readonly string[];
  /** If not empty, only these rows are displayed. */
  ids: readonly string[];
  /** If set, only rows with this reference are displayed. */
  reference: Reference | undefined;
};

export type Reference = { column: string; id: string };

/** The prefix of parameters that name a visible column. */
export const SHOW = "show.";
const MAX_VISIBLE = 200;
const MAX_IDS = 100;

export function readPosition({ context }: Visit): Position {
  const parameters = [...readParameters(context.query)];
  const query = new Map(parameters);
  const limit = LIMITS.find((choice) => String(choice) === query.get("limit")) ?? DEFAULT_LIMIT;
  // Displayed numbers start at 1, offsets at 0.
  const from = query.get("from") ?? "1";
  const offset = /^\d{1,10}$/.test(from) ? Math.min(Math.max(Number(from) - 1, 0), MAX_OFFSET) : 0;
  const columns = [...query.keys()]
    .filter((name) => name.startsWith(SHOW))
    .map((name) => name.slice(SHOW.length));
  const ids = parameters
    .filter(([name, value]) => name === "row" && isUuid(value))
    .map(([, id]) => id);
  return {
    ...{ limit, offset, columns: columns.slice(0, MAX_VISIBLE) },
    ids: [...new Set(ids)].slice(0, MAX_IDS),
    reference: readReference(query.get(REFERENCES)),
  };
}

const REFERENCES = "references";

function readReference(text = ""): Reference | undefined {
  const [, column = "", id = ""] = /^(\w+)\.([^.]+)$/.exec(text) ?? [];
  return isUuid(id) ? { column, id } : undefined;
}

/** The address of the rows whose column references a row. */
export function toReferencePath(path: string, { column, id }: Reference): string {
  return `${path}?${REFERENCES}=${column}.${id}`;
}

/** An address with a position and more parameters. */
export function withPosition(
  path: string,
  position: Position,
  more: Record<string, string> = {},
): string {
  const query = new URLSearchParams({
    ...(position.offset === 0 ? {} : { from: String(position.offset + 1) }),
    ...(position.limit === DEFAULT_LIMIT ? {} : { limit: String(position.limit) }),
    ...Object.fromEntries(position.columns.map((name) => [SHOW + name, "on"])),
    ...more,
  }).toString();
  return query === "" ? path : `${path}?${query}`;
}
