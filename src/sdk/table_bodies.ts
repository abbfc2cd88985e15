/** The bodies of a table's calls: values as JSON, and the checks of rows and pages in responses. @module */
import { type Call, unreadable } from "./data_call.ts";
import type { AnyQuery, AnyRow, Page } from "./table_client.ts";

/** Values as JSON. @throws {TypeError} for values that JSON would drop or change */
export function toJson(values: object): string {
  return JSON.stringify(values, (key, value: unknown) => {
    if (typeof value === "bigint") {
      throw new TypeError(`Cannot send a bigint as "${key}": use a string and t.decimal()`);
    }
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new TypeError(`Cannot send ${value} as "${key}": must be a finite number`);
    }
    return value;
  });
}

export function readPage(body: object, call: Call, { select }: AnyQuery): Page<AnyRow> {
  const isPart = select !== undefined && !select.includes("id");
  if (isPage(body, isPart ? isObject : isRow)) return body;
  throw unreadable(call);
}

export function readBatch(body: object, call: Call, count: number): AnyRow[] {
  if (hasRows(body, isRow) && body.rows.length === count) return body.rows;
  throw unreadable(call);
}

export function readRow(body: object, call: Call): AnyRow {
  if (isRow(body)) return body;
  throw unreadable(call);
}

function isPage(body: object, isRow: (row: unknown) => boolean): body is Page<AnyRow> {
  return hasRows(body, isRow) && "hasMore" in body && typeof body.hasMore === "boolean";
}

function hasRows(body: object, isRow: (row: unknown) => boolean): body is { rows: AnyRow[] } {
  return "rows" in body && Array.isArray(body.rows) && body.rows.every(isRow);
}

function isRow(value: unknown): value is AnyRow {
  return isObject(value) && "id" in value && typeof value.id === "string";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
