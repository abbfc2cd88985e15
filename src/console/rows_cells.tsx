/** @jsxImportSource #html @jsxRuntime automatic */
/** Values of rows in a grid: rendered by kind, cut to a line; null and empty are distinguished. @module */
import type { NamedColumn } from "../dsl/mod.ts";
import { FIELDS, type FieldKind, shortenId, toMomentText } from "../kinds/mod.ts";
import type { Html, Part } from "../pages/mod.ts";
import { compactJson } from "../std/json_text.ts";
import { renderPill } from "./parts.tsx";
import { toRowsPath } from "./paths.ts";
import { type Row, TEXTS } from "./rows_call.ts";
import { toRowPath } from "./rows_table.ts";

const CELL_CHARS = 80;

type CellOptions = {
  slug: string;
  /** Labels of referenced rows. */
  labels?: ReadonlyMap<string, string>;
};

/** A cell; `data-cut` marks a truncated text. */
export function renderCell(column: NamedColumn, row: Row, options: CellOptions): Html {
  const { text, content } = toCell({ column, row, ...options });
  const isCut = text !== undefined && text.length > CELL_CHARS;
  return (
    <td class={isNumeric(column) && "num"} data-cut={isCut}>
      {content}
    </td>
  );
}

/** Whether values are compared by their digits. */
export function isNumeric({ kind }: NamedColumn): boolean {
  return FIELDS[kind].isNumeric === true;
}

type Cell = { text?: string; content: Part };
type CellInput = CellOptions & { column: NamedColumn; row: Row };

function toCell(input: CellInput): Cell {
  const { column, row } = input;
  const value = row[column.name];
  if (value === null || value === undefined) return { content: renderNothing("null") };
  const isText = typeof value === "string" && FIELDS[column.kind].cell !== "json";
  return CELLS[FIELDS[column.kind].cell](
    isText ? value : (row[TEXTS].get(column.name) ?? ""),
    input,
  );
}

const CELLS = {
  text: (text) => ({ text, content: renderString(text) }),
  plain: (text) => ({ text, content: text }),
  mono: (text) => ({ text, content: <span class="mono">{cut(text)}</span> }),
  moment: (text) => ({ content: renderMoment(text) }),
  json: (json) => {
    const text = compactJson(json);
    return { text, content: renderCode(text) };
  },
  pill: (text) => ({ text, content: renderPill(text) }),
  reference: (text, input) => ({ content: renderReference(text, input) }),
} satisfies Record<FieldKind["cell"], (text: string, input: CellInput) => Cell>;

/** A missing value, styled differently from any text. */
function renderNothing(term: "null" | "empty" | "only spaces"): Html {
  return <i class="nothing">{term}</i>;
}

function renderString(value: string): Html {
  if (value === "") return renderNothing("empty");
  if (value.trim() === "") return renderNothing("only spaces");
  return <bdi>{cut(value)}</bdi>;
}

function renderCode(text: string): Html {
  return (
    <code>
      <bdi>{cut(text)}</bdi>
    </code>
  );
}

function renderReference(id: string, { column: { table = "" }, slug, labels }: CellInput): Html {
  const path = toRowPath(toRowsPath(slug, table), id);
  const label = labels?.get(id);
  const name =
    label === undefined ? (
      <span class="mono" title={id}>
        {shortenId(id)}
      </span>
    ) : (
      <bdi title={id}>{label}</bdi>
    );
  // The link is next to the label, because a press on the label edits the value.
  return (
    <>
      {name}
      <a class="cell-link" href={path} aria-label={`Open row ${shortenId(id)} of ${table}`}>
        ↗
      </a>
    </>
  );
}

/** A moment as PostgreSQL prints it, without trailing zeros. */
function renderMoment(value: string): Html {
  return (
    <time datetime={value} data-exact>
      {toMomentText(value)}
    </time>
  );
}

function cut(text: string): string {
  return text.length > CELL_CHARS ? `${text.slice(0, CELL_CHARS)}…` : text;
}
