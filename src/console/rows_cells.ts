/** Values of rows in a grid: by the kind of their column, cut to a line, null and empty told apart. @module */
import type { NamedColumn } from "../dsl/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { renderPill } from "./parts.ts";
import { toRowsPath } from "./paths.ts";
import { toRowPath } from "./rows_table.ts";

/** The longest text of a cell. */
const CELL_CHARS = 80;
/** Kinds whose values are compared by their digits. */
const NUMBERS: ReadonlySet<string> = new Set(["number", "decimal"]);

/** A cell; `data-cut` says that its text is not the whole value. */
export function renderCell(column: NamedColumn, value: unknown, slug: string): Html {
  const { text, shown } = toCell(column, value, slug);
  const isCut = text !== undefined && text.length > CELL_CHARS;
  return html`<td${NUMBERS.has(column.kind) && html` class="num"`}${isCut && html` data-cut`}>${shown}</td>`;
}

type Cell = { text?: string; shown: Part };

function toCell(column: NamedColumn, value: unknown, slug: string): Cell {
  if (value === null || value === undefined) return { shown: renderNothing("null") };
  if (typeof value !== "string") {
    const text = JSON.stringify(value);
    return column.kind === "json" ? { text, shown: renderCode(text) } : { text, shown: text };
  }
  switch (column.kind) {
    case "string":
      return { text: value, shown: renderString(value) };
    case "enum":
      return { text: value, shown: renderPill(value) };
    case "timestamp":
      return { shown: renderMoment(value) };
    case "ref":
      return { shown: renderReference(column, value, slug) };
    case "json":
      return { text: JSON.stringify(value), shown: renderCode(JSON.stringify(value)) };
    default:
      return { text: value, shown: html`<span class="mono">${cut(value)}</span>` };
  }
}

/** What is no value, in words that no value has the look of. */
function renderNothing(word: "null" | "empty" | "only spaces"): Html {
  return html`<i class="nothing">${word}</i>`;
}

function renderString(value: string): Html {
  if (value === "") return renderNothing("empty");
  if (value.trim() === "") return renderNothing("only spaces");
  return html`<bdi>${cut(value)}</bdi>`;
}

function renderCode(text: string): Html {
  return html`<code><bdi>${cut(text)}</bdi></code>`;
}

function renderReference({ table = "" }: NamedColumn, id: string, slug: string): Html {
  const path = toRowPath(toRowsPath(slug, table), id);
  return html`<a class="mono" href="${path}" title="${id}">${shortenId(id)}</a>`;
}

/** A moment as PostgreSQL prints it, without the zeros at its end. */
function renderMoment(value: string): Html {
  return html`<time datetime="${value}" data-exact>${toMomentText(value)}</time>`;
}

/** The same for people; always in UTC, and says so. */
export function toMomentText(value: string): string {
  return value.replace("T", " ").replace(/(:00)?\+00:00$/, " UTC");
}

/** Both ends of an id: ids that are made one after the other begin alike. */
export function shortenId(id: string): string {
  return `${id.slice(0, 4)}…${id.slice(-4)}`;
}

function cut(text: string): string {
  return text.length > CELL_CHARS ? `${text.slice(0, CELL_CHARS)}…` : text;
}
