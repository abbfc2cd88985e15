/** Defaults in one notation, to compare recorded defaults with PostgreSQL's output. Pure. @module */

import { SQL, toPlainNumber } from "../../kinds/mod.ts";
import type { NamedColumn } from "../../schema/mod.ts";

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
