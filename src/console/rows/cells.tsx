/** @jsxImportSource #html @jsxRuntime automatic */
/** Values of rows in a grid: rendered by kind, cut to a line; null and empty are distinguished. @module */

import { sealCursor } from "../../data/mod.ts";
import { FIELDS, type FieldKind, shortenId, toMomentText } from "../../kinds/mod.ts";
import type { Html, Part } from "../../pages/mod.ts";
import { readConsole } from "../../records/console/mod.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { compactJson } from "../../std/json_text.ts";
import type { Visit } from "../enter.tsx";
import { type ConsolePage, respondWithConsolePage } from "../frame.tsx";
import { renderEmpty, renderLink, renderPill } from "../parts.tsx";
import { APPS, toAppPath, toAppTablesPath, toRowsPath, toSwitchPath } from "../paths.ts";
import { type Row, TEXTS } from "./call.ts";

// The table of a rows page: visitor, declared columns and paths.

export type RowsTable = Awaited<ReturnType<typeof readRowsTable>>;

/** @throws {Problem} unknown_app; unknown_table */
export async function readRowsTable({ deps, context }: Visit) {
  const { app: slug = "", table = "" } = context.params;
  const { position, cursorKey, ...page } = await readConsole(deps, "show_rows", {
    app_slug: slug,
    wanted_table: table,
  });
  const cursor =
    position === null || cursorKey === null
      ? null
      : sealCursor(Buffer.from(cursorKey, "hex"), table, position);
  return { ...page, cursor, slug, table, path: toRowsPath(slug, table) };
}

type Handle = (visit: Visit, table: RowsTable) => Response | Promise<Response>;

/** The handlers of a page about rows and of its form. The page of a disabled app shows only how to enable the app. */
export function makeRowsPage(show: Handle, submit?: Handle) {
  return {
    show: async (visit: Visit) => {
      const table = await readRowsTable(visit);
      return table.isDisabled ? respondWithDisabledApp(table) : await show(visit, table);
    },
    ...(submit && {
      submit: async (visit: Visit) => await submit(visit, await readRowsTable(visit)),
    }),
  };
}

export function respondWithDisabledApp(table: RowsTable): Response {
  const body = renderEmpty(
    "This app is disabled. Its rows cannot be read or changed.",
    renderLink("Enable the app", toSwitchPath(table.slug, "disabled")),
  );
  return respondWithRowsPage(table, { title: table.table, isList: true, body });
}

export function toRowPath(path: string, id: string): string {
  return `${path}/rows/${encodeURIComponent(id)}`;
}

/** A page below the list of the table's rows; with `isList`, the list itself. */
export function respondWithRowsPage(
  { me, slug, table, path }: RowsTable,
  { isList = false, ...page }: Omit<ConsolePage, "me" | "entry" | "crumbs"> & { isList?: boolean },
): Response {
  return respondWithConsolePage({
    me,
    crumbs: [
      { name: "Apps", path: APPS },
      { name: slug, path: toAppPath(slug) },
      { name: "Tables", path: toAppTablesPath(slug) },
      ...(isList ? [] : [{ name: table, path }]),
    ],
    ...page,
  });
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
