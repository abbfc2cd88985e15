/** The stored layout of a table's columns, which stays valid after columns are added or removed. Pure. @module */
import { isObject } from "../../std/is_object.ts";
import { tryParseJson } from "../../std/try_parse_json.ts";

export type ColumnLayout = {
  /** The first columns in order; other columns follow. */
  readonly order: readonly string[];
  readonly hidden: readonly string[];
  /** Widths in pixels of the columns with a fixed width. */
  readonly widths: ReadonlyMap<string, number>;
};

export const NO_LAYOUT: ColumnLayout = { order: [], hidden: [], widths: new Map() };
export const MIN_WIDTH = 60;
export const MAX_WIDTH = 1200;

/** The layout in a stored text. Omits unreadable parts. */
export function readLayout(text: string | null): ColumnLayout {
  const stored = tryParseJson(text ?? "");
  if (!isObject(stored)) return NO_LAYOUT;
  const { order, hidden, widths } = stored;
  const entries = Object.entries(isObject(widths) ? widths : {});
  return {
    order: readNames(order),
    hidden: readNames(hidden),
    widths: new Map(
      entries.flatMap(([name, width]) =>
        typeof width === "number" ? [[name, toWidth(width)] as const] : [],
      ),
    ),
  };
}

export function toText({ order, hidden, widths }: ColumnLayout): string {
  return JSON.stringify({ order, hidden, widths: Object.fromEntries(widths) });
}

export function toWidth(pixels: number): number {
  return Math.round(Math.min(Math.max(pixels, MIN_WIDTH), MAX_WIDTH));
}

export function sortNames(names: readonly string[], { order }: ColumnLayout): string[] {
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return names.toSorted((a, b) => rank(a) - rank(b));
}

function readNames(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}
