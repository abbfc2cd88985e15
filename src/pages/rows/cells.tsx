/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The rows of a grid: heads and cells by kind, values cut to a line; null and empty are distinguished. The server renders the first
 * page, scripts the others.
 *
 * @module
 */
import { FIELDS, type FieldKind, shortenId, toMomentText } from "../../kinds/mod.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { compactJson } from "../../std/json_text.ts";
import type { Html, Part } from "../html.ts";
import { findLabelColumn, type Labels, type Row, TEXTS } from "./row.ts";

export function toRowPath(path: string, id: string): string {
  return `${path}/rows/${encodeURIComponent(id)}`;
}

type RowOptions = CellOptions & {
  columns: readonly NamedColumn[];
  /** The address of the table's rows. */
  path: string;
  /** The parameters of the page that the row's forms return to, with `?`. */
  query: string;
  /** The row's place in the table, from 1. */
  place: number;
  etag: string | undefined;
};

export function renderRow(
  row: Row,
  { columns, path, query, place, etag, ...of }: RowOptions,
): Html {
  const { id } = row;
  const to = toRowPath(path, id);
  const name = findLabelColumn({ columns });
  return (
    <tr aria-rowindex={place + 1} data-row-id={id} data-etag={etag}>
      <td>
        <input
          type="checkbox"
          class="select"
          form="selection"
          name="row"
          aria-label={`Select row ${shortenId(id)}`}
        />{" "}
        <a class="mono" data-edit href={to + query}>
          {shortenId(id)}
        </a>
      </td>
      {columns.map((column) => renderCell(column, row, { ...of, isName: column === name }))}
      <td>
        <a
          class="row-delete"
          data-delete
          href={`${to}/delete${query}`}
          aria-label={`Delete row ${shortenId(id)}`}
        >
          Delete
        </a>
      </td>
    </tr>
  );
}

export function renderHead(column: NamedColumn, isName: boolean): Html {
  const { name, kind, required, values } = column;
  return (
    <th
      scope="col"
      class={isName ? "name" : isNumeric(column) && "num"}
      data-column={name}
      data-kind={kind}
      data-required={required}
      data-values={values !== undefined && JSON.stringify(values)}
    >
      <bdi>{name}</bdi>{" "}
      <span class="kind" title={describeColumn(column)}>
        <span aria-hidden="true">
          {FIELDS[kind].sign}
          {required && "*"}
        </span>
        <span class="visually-hidden">{describeColumn(column)}</span>
      </span>
    </th>
  );
}

/** The type of a column in words. */
export function describeColumn({ kind, table, required, unique }: NamedColumn): string {
  const { label } = FIELDS[kind];
  const parts = [
    table === undefined ? label : `${label} ${table}`,
    required && "required",
    unique && "unique",
  ];
  return parts.filter((part) => part !== false).join(", ");
}

const CELL_CHARS = 80;

type CellOptions = {
  /** The address of the app's tables. */
  tables: string;
  labels?: Labels;
  /** Whether the cell names its row, and stays visible. */
  isName?: boolean;
};

/** A cell; `data-cut` marks a truncated text. */
export function renderCell(column: NamedColumn, row: Row, options: CellOptions): Html {
  const { text, content } = toCell({ column, row, ...options });
  const isCut = text !== undefined && text.length > CELL_CHARS;
  return (
    <td class={options.isName === true ? "name" : isNumeric(column) && "num"} data-cut={isCut}>
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
  pill: (text) => ({ text, content: <span class="pill pill-plain">{text}</span> }),
  link: (text, { column }) => ({ text, content: renderLink(text, column) }),
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

function renderReference(id: string, { column: { table = "" }, tables, labels }: CellInput): Html {
  const path = toRowPath(`${tables}/${encodeURIComponent(table)}`, id);
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
      <a
        class="cell-link"
        href={path}
        data-peek={`${table}/${id}`}
        aria-label={`Open row ${shortenId(id)} of ${table}`}
      >
        ↗
      </a>
    </>
  );
}

/** The link is next to the text, because a press on the text edits the value. */
function renderLink(text: string, { kind }: NamedColumn): Html {
  const to = FIELDS[kind].toLink?.(text);
  if (to === undefined) return renderString(text);
  return (
    <>
      {renderString(text)}
      <a
        class="cell-link"
        href={to}
        rel="noopener noreferrer"
        target="_blank"
        aria-label={`Open ${cut(text)}`}
      >
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
