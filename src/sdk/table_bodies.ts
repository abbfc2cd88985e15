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

export function readPage(answer: object, call: Call, { select }: AnyQuery): Page<AnyRow> {
  const isPart = select !== undefined && !select.includes("id");
  if (isPage(answer, isPart ? isObject : isRow)) return answer;
  throw unreadable(call);
}

export function readBatch(answer: object, call: Call, count: number): AnyRow[] {
  if (hasRows(answer, isRow) && answer.rows.length === count) return answer.rows;
  throw unreadable(call);
}

export function readRow(answer: object, call: Call): AnyRow {
  if (isRow(answer)) return answer;
  throw unreadable(call);
}

function isPage(answer: object, isOne: (row: unknown) => boolean): answer is Page<AnyRow> {
  return hasRows(answer, isOne) && "hasMore" in answer && typeof answer.hasMore === "boolean";
}

function hasRows(answer: object, isOne: (row: unknown) => boolean): answer is { rows: AnyRow[] } {
  return "rows" in answer && Array.isArray(answer.rows) && answer.rows.every(isOne);
}

function isRow(value: unknown): value is AnyRow {
  return isObject(value) && "id" in value && typeof value.id === "string";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
