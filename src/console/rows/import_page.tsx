/** @jsxImportSource #html @jsxRuntime automatic */
/** The page of an import: its rows, and its undo, also after days. @module */

import { readParameters } from "../../http/mod.ts";
import { shortenId } from "../../kinds/mod.ts";
import {
  type Html,
  type Part,
  renderForm,
  renderNotice,
  toLabel,
  toRowPath,
} from "../../pages/mod.ts";
import type { Import } from "../../records/console/mod.ts";
import { type Kept, nameWritten } from "../../rows/mod.ts";
import { inDigits, showCount } from "../../std/count.ts";
import type { Visit } from "../enter.tsx";
import {
  renderCancel,
  renderEmpty,
  renderError,
  renderLink,
  renderTable,
  renderTime,
} from "../parts.tsx";
import { toAppPath, toSwitchPath } from "../paths.ts";
import { patiently } from "./call.ts";
import { toKind, toRowBefore } from "./history_plan.ts";
import { readChangeId, readChanges, toHistoryPath } from "./history_read.ts";
import { readPart, runUndo, type UndoStep } from "./import_undo.ts";
import { findImport, nameImport, toImportCells, toImportPath } from "./imports.tsx";
import { findRows } from "./list.ts";
import { type RowsTable, respondWithRowsPage } from "./table.tsx";

export async function handleImportPage(visit: Visit, table: RowsTable): Promise<Response> {
  const of = await findImport(visit, table, visit.context.params["act"]);
  return await respondWithImport(visit, table, { of });
}

/** Of a form without a script, which shows no progress. */
const UNDO_MS = 20_000;

export async function handleUndo(visit: Visit, table: RowsTable): Promise<Response> {
  const of = await findImport(visit, table, visit.context.params["act"]);
  const place = {
    act: visit.fields.get("act"),
    before: readChangeId(visit.fields.get("before")),
  };
  const undone = await runUndo(visit, table, { of, place, ms: UNDO_MS });
  return await respondWithImport(visit, table, { of, undone });
}

type Shown = { of: Import; undone?: UndoStep | undefined };

async function respondWithImport(
  visit: Visit,
  table: RowsTable,
  { of, undone }: Shown,
): Promise<Response> {
  const now = visit.deps.now();
  const [when, who] = toImportCells(table, of, now);
  const kept = of.kept.created + of.kept.changed + of.kept.deleted;
  return respondWithRowsPage(table, {
    title: `${of.isUndo ? "Undo" : "Import"} of ${of.file}`,
    actions: [renderLink("History", toHistoryPath(table.path))],
    script: "undo_page",
    body: [
      undone && renderUndone(table, undone),
      <p>
        {who}, {when}: {nameImport(of)}.
      </p>,
      of.undone && undone === undefined && (
        <p>
          <a href={toImportPath(table.path, of.undone.act)}>Undone</a>{" "}
          {renderTime(of.undone.at, now)}.
        </p>
      ),
      kept > 0 && (undone === undefined || undone.rest !== undefined)
        ? renderUndoForm(visit, table, { of, undone })
        : undefined,
      kept > 0 ? await renderRows(visit, table, of) : renderNoRows(table),
    ],
  });
}

function renderUndoForm(
  { token }: Visit,
  { path, slug, table }: RowsTable,
  { of, undone }: Shown,
): Html {
  const { created, changed, deleted } = of.kept;
  const rest = undone?.rest;
  const parts = [
    ...(created > 0 ? [`deletes the ${showCount(inDigits(created), "row")} that it created`] : []),
    ...(changed > 0 ? [`restores ${inDigits(changed)} changed`] : []),
    ...(deleted > 0 ? [`restores ${inDigits(deleted)} deleted`] : []),
  ];
  const form = renderForm({
    action: toImportPath(path, of.act),
    token,
    hidden: {
      ...(rest === undefined ? {} : { act: undone?.act ?? "" }),
      ...(rest?.before === undefined ? {} : { before: String(rest.before) }),
    },
    fields: [
      <p>
        {rest === undefined ? `The undo ${parts.join(", ")}.` : "The rest is not undone yet."} Rows
        that someone changed since stay as they are, and so do new rows that other rows reference.
      </p>,
    ],
    button: rest === undefined ? "Undo the import" : "Continue",
    tone: "danger",
    cancel: renderCancel(toHistoryPath(path), "danger"),
  });
  const script = {
    ...{ url: `${toAppPath(slug)}/data/${encodeURIComponent(table)}`, path, of: of.act },
    rows: created + changed + deleted,
  };
  return <div data-undo={JSON.stringify(script)}>{form}</div>;
}

function renderUndone(table: RowsTable, { total, kept, rest }: UndoStep): Part {
  const text = `${rest === undefined ? "Undone" : "Undone in part"}: ${nameWritten(total)}.`;
  return [
    renderNotice("info", text),
    rest?.why !== undefined && renderError(`The undo stopped: ${rest.why}`, []),
    kept.length > 0 && renderKept(table, kept),
  ];
}

/** Max named rows. */
const MAX_NAMED = 200;

function renderKept({ path }: RowsTable, kept: readonly Kept[]): Html {
  const rest = kept.length - MAX_NAMED;
  const lines = kept.slice(0, MAX_NAMED).map(({ id, label, why }) => (
    <>
      <a href={toHistoryPath(toRowPath(path, id))}>
        <bdi>{label}</bdi>
      </a>
      : {why}
    </>
  ));
  const title = `${showCount(inDigits(kept.length), "row stays as it is", "rows stay as they are")}:`;
  return renderError(title, [...lines, ...(rest > 0 ? [`and ${inDigits(rest)} more`] : [])]);
}

function renderNoRows({ slug, hasHistory }: RowsTable): Html {
  return hasHistory
    ? renderEmpty("The history no longer has the rows of this import.")
    : renderEmpty(
        "This app has no history: which rows the import wrote is not stored.",
        renderLink("Turn on the history", toSwitchPath(slug, "history"), "primary"),
      );
}

const PAGE_ROWS = 50;
const NAMES = { created: "Created", changed: "Changed", deleted: "Deleted" } as const;

async function renderRows(visit: Visit, table: RowsTable, of: Import): Promise<Part> {
  const before = readChangeId(new Map(readParameters(visit.context.query)).get("before"));
  const { ids } = await readPart(visit, table, { of, before, max: PAGE_ROWS });
  const { changes } = await readChanges(visit, table, ids);
  const rowIds = [...new Set(changes.map(({ rowId }) => rowId))];
  // The page is also the result of an undo, which can have used up the limit.
  const found = await patiently(() => findRows(visit, { ...table, ids: rowIds }));
  const rows = new Map(found.map(({ row }) => [row.id, row]));
  const lines = changes.map((change) => {
    const { rowId } = change;
    const row = rows.get(rowId);
    const label = toLabel(table.definition, row ?? toRowBefore(change)) ?? shortenId(rowId);
    const path = toRowPath(table.path, rowId);
    return [
      NAMES[toKind(change)],
      <a href={row === undefined ? toHistoryPath(path) : path}>
        <bdi>{label}</bdi>
      </a>,
    ];
  });
  const older = `${toImportPath(table.path, of.act)}?before=${ids.at(-1)}`;
  return [
    <h2>Rows</h2>,
    renderTable("Rows of the import", ["What", "Row"], lines),
    ids.length === PAGE_ROWS && <p>{renderLink("More rows", older)}</p>,
  ];
}
