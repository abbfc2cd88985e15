/**
 * Values of one kind as another, as SQL, and defaults in one notation. A conversion goes through the text that the API returns
 * for a value, so clients see the same value; a value without such a text in the other kind does not convert. Pure.
 *
 * @module
 */

import {
  hasOwnType,
  type Conversion as KindConversion,
  SQL,
  type SqlKind,
  toPlainNumber,
} from "../../kinds/mod.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { sqlType } from "../plan/step.ts";

type Target = { table: string; column: NamedColumn };

/** Whether a conversion keeps every value: from text, for example, `"007"` becomes 7, and a time loses its offset. */
export function keepsValues({ kind: before }: NamedColumn, { kind }: NamedColumn): boolean {
  return SQL[before].reversible.includes(kind) || SQL[kind].exactFrom?.includes(before) === true;
}

type Conversion = {
  /** Whether a value converts; true for null. */
  check: string;
  /** The converted value; null if the value does not convert. */
  value: string;
};

/** The conversion of an expression. Its statement runs with only `pg_catalog` in the search path. */
export function renderConversion(
  expression: string,
  { table, before, column }: { table: string; before: NamedColumn; column: NamedColumn },
): Conversion {
  const kind = SQL[before.kind];
  const text = toText(kind, expression);
  const { fromText } = SQL[column.kind];
  const to: KindConversion = { column, type: copyType({ table, column }), before: kind };
  const hasText = kind.hasText === undefined ? "" : `${kind.hasText(expression)} and `;
  const checked = `case when ${expression} is null then true when ${hasText}true then ${fromText.check(text, to)} else false end`;
  return {
    check: `(${checked})`,
    value: `case when ${checked} then ${fromText.toValue(text, to)} end`,
  };
}

/** The text of a value; null for null. */
function toText({ toText: render }: SqlKind, value: string): string {
  return render?.(value) ?? `${value}::pg_catalog.text`;
}

/** The name of the copy that replaces a column. No column can have this name. */
export const COPY = "$to";

/** The name of the copy's enum type: the column's type name may be in use. */
export function copyTypeName(table: string): string {
  return `${COPY}__${table}__enum`;
}

export function copyType({ table, column }: Target): string {
  return hasOwnType(column) ? `data."${copyTypeName(table)}"` : sqlType({ name: table }, column);
}

// Defaults in one notation, to compare recorded defaults with PostgreSQL's output. Pure.

const NO_DEFAULT = "none";

export function toDefaultText(column: NamedColumn): string {
  const { kind, default: value } = column;
  if (value === undefined) return NO_DEFAULT;
  const { computed, defaultText = String } = SQL[kind];
  return computed?.[String(value)]?.printed ?? defaultText(value);
}

/** Computed defaults as PostgreSQL prints them. */
const COMPUTED: ReadonlySet<string> = new Set(
  Object.values(SQL).flatMap(({ computed = {} }) =>
    Object.values(computed).map(({ printed }) => printed),
  ),
);

/** The default from `pg_get_expr`, printed with UTC, ISO dates and an empty search path. Unknown formats do not change. */
export function readDefaultText(printed: string): string {
  if (COMPUTED.has(printed)) return printed;
  const quoted = /^(E?)'((?:[^']|'')*)'::(.+)$/s.exec(printed);
  if (quoted === null) {
    const plain = printed.replace(/^\(?(-?[\d.]+)\)?(::numeric)?$/, "$1");
    return /^-?[\d.]+$/.test(plain) ? toPlainNumber(plain) : printed;
  }
  const [, prefix, body = "", type = ""] = quoted;
  const text = body.replaceAll("''", "'");
  return readTyped(prefix === "" ? text : text.replaceAll("\\\\", "\\"), type);
}

function readTyped(text: string, type: string): string {
  const kind = Object.values(SQL).find((known) => known.type?.printed === type);
  return kind?.printedText?.(text) ?? text;
}
