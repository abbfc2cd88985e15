/** @jsxImportSource #html @jsxRuntime automatic */
/** The imports into a table: a line for each, and a page with its rows, which undoes it also after days. @module */

import * as v from "valibot";
import { readParameters } from "../../http/mod.ts";
import { TOKEN_HEADER } from "../../identity/mod.ts";
import { shortenId } from "../../kinds/mod.ts";
import {
  type Html,
  type Part,
  renderForm,
  renderNotice,
  toLabel,
  toRowPath,
} from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { type Import, logImport, readConsole } from "../../records/console/mod.ts";
import { inDigits, showCount } from "../../std/count.ts";
import { tryParseJson } from "../../std/json.ts";
import { isUuid } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import {
  renderCancel,
  renderEmpty,
  renderError,
  renderLink,
  renderTable,
  renderTime,
} from "../parts.tsx";
import { toPersonPath, toSwitchPath } from "../paths.ts";
import { toKind, toRowBefore } from "./history_plan.ts";
import { readChangeId, readChanges, toHistoryPath } from "./history_read.ts";
import { type Kept, readPart, type Undone, undoImport } from "./import_undo.ts";
import { findRows } from "./list.ts";
import { type RowsTable, respondWithRowsPage } from "./table.tsx";

/** Max listed imports. */
const MAX_IMPORTS = 100;

type Wanted = { act?: string; digest?: string; max?: number };

export async function listImports(
  { deps }: Visit,
  { slug, table }: RowsTable,
  { act, digest, max = MAX_IMPORTS }: Wanted = {},
): Promise<readonly Import[]> {
  const { imports } = await readConsole(deps, "list_imports", {
    ...{ app_slug: slug, wanted_table: table, of_digest: digest ?? null, of_act: act ?? null },
    max_rows: max,
  });
  return imports;
}

export function toImportPath(path: string, act: string): string {
  return `${path}/imports/${encodeURIComponent(act)}`;
}

// A line.

/** The cells of a line: when, who, what, and its link. */
export function toImportCells({ path }: RowsTable, of: Import, now: number): readonly Part[] {
  return [
    renderTime(of.at, now),
    of.by === null ? "a person who no longer exists" : renderPerson(of),
    <>
      {nameImport(of)}
      {of.undone && (
        <>
          . <a href={toImportPath(path, of.undone.act)}>Undone</a> {renderTime(of.undone.at, now)}
        </>
      )}
    </>,
    <a href={toImportPath(path, of.act)}>{of.undone === null ? "Rows, undo" : "Rows"}</a>,
  ];
}

function renderPerson({ personId, by }: Import): Html {
  return (
    <a href={toPersonPath(personId)}>
      <bdi>{by}</bdi>
    </a>
  );
}

type Counts = { created: number; changed: number; deleted: number };

function nameImport({ file, rows, ended, kept, isUndo }: Import): Html {
  const name = <bdi>{file}</bdi>;
  if (isUndo)
    return (
      <>
        Undid the import of {name}: {nameCounts(kept)}
      </>
    );
  if (ended === null)
    return (
      <>
        Began to import {showCount(inDigits(rows), "row")} from {name}: {nameCounts(kept)}
      </>
    );
  const total = ended.created + ended.changed + ended.deleted;
  return (
    <>
      Imported {showCount(inDigits(total), "row")} from {name}
      {ended.created < total && `: ${nameCounts(ended)}`}
    </>
  );
}

function nameCounts(counts: Counts): string {
  const parts = (["created", "changed", "deleted"] as const).filter((name) => counts[name] > 0);
  return parts.map((name) => `${inDigits(counts[name])} ${name}`).join(", ") || "nothing stored";
}

/** The latest imports, below the form of a new one. */
export async function renderImports(visit: Visit, table: RowsTable): Promise<Part> {
  const imports = await listImports(visit, table, { max: 10 });
  if (imports.length === 0) return undefined;
  const now = visit.deps.now();
  return (
    <>
      <h2>Imports</h2>
      {renderTable(
        "Imports",
        ["When", "Who", "What", "Undo"],
        imports.map((of) => toImportCells(table, of, now)),
      )}
    </>
  );
}

// What the script of an import sends.

const COUNT = v.pipe(v.number(), v.integer(), v.minValue(0));
const ACT = {
  act: v.pipe(v.string(), v.check(isUuid)),
  file: v.pipe(v.string(), v.maxLength(200)),
};
const ENTRY = v.variant("step", [
  v.object({
    step: v.literal("begin_import"),
    about: v.object({ ...ACT, digest: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)), rows: COUNT }),
  }),
  v.object({
    step: v.literal("import_rows"),
    about: v.object({
      ...ACT,
      wrote: v.object({ created: COUNT, changed: COUNT, deleted: COUNT }),
    }),
  }),
]);

/** @throws {Problem} invalid_request — the script did not send it */
export async function recordImport(
  visit: Visit,
  table: RowsTable,
  body: string,
): Promise<Response> {
  const read = v.safeParse(ENTRY, tryParseJson(body));
  if (!read.success)
    throw new Problem("invalid_request", { message: "Cannot read this step of an import" });
  await logImport(visit.deps, table, read.output);
  return new Response(null, { status: 201 });
}

/** The imports of a file, by its digest; with the token of the script's writes. */
export async function findSameFile(visit: Visit, table: RowsTable): Promise<Response> {
  const digest = new Map(readParameters(visit.context.query)).get("digest") ?? "";
  const imports = await listImports(visit, table, { digest });
  const found = imports.filter(({ isUndo }) => !isUndo);
  const headers = { [TOKEN_HEADER]: visit.token, "cache-control": "no-store" };
  return Response.json(found, { headers });
}

// The page of an import.

async function findImport(visit: Visit, table: RowsTable): Promise<Import> {
  const act = visit.context.params["act"] ?? "";
  const [of] = isUuid(act) ? await listImports(visit, table, { act }) : [];
  if (of === undefined) throw new Problem("not_found", { message: "There is no such import" });
  return of;
}

export async function handleImportPage(visit: Visit, table: RowsTable): Promise<Response> {
  return await respondWithImport(visit, table, { of: await findImport(visit, table) });
}

/** A request undoes for about this long; another one continues. */
const UNDO_MS = 20_000;

export async function handleUndo(visit: Visit, table: RowsTable): Promise<Response> {
  const of = await findImport(visit, table);
  const act = visit.deps.makeId();
  const { lastId: from } = await readPart(visit, table, { of, before: undefined, max: 0 });
  const before = readChangeId(visit.fields.get("before"));
  const until = visit.deps.now() + UNDO_MS;
  const undone = await undoImport(visit, table, { of, act, before, until });
  const about = { act, of: of.act, file: of.file, from };
  await logImport(visit.deps, table, { step: "undo_import", about });
  return await respondWithImport(visit, table, { of, undone });
}

type Shown = { of: Import; undone?: Undone | undefined };

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

function renderUndoForm({ token }: Visit, { path }: RowsTable, { of, undone }: Shown): Html {
  const { created, changed, deleted } = of.kept;
  const rest = undone?.rest;
  const parts = [
    ...(created > 0 ? [`deletes the ${showCount(inDigits(created), "row")} that it created`] : []),
    ...(changed > 0 ? [`restores ${inDigits(changed)} changed`] : []),
    ...(deleted > 0 ? [`restores ${inDigits(deleted)} deleted`] : []),
  ];
  return renderForm({
    action: toImportPath(path, of.act),
    token,
    hidden: rest === undefined ? {} : { before: String(rest) },
    fields: [
      <p>
        The undo {parts.join(", ")}. Rows that someone changed since stay as they are, and so do new
        rows that other rows reference.
      </p>,
    ],
    button: rest === undefined ? "Undo the import" : "Continue",
    tone: "danger",
    cancel: renderCancel(toHistoryPath(path), "danger"),
  });
}

function renderUndone(table: RowsTable, undone: Undone): Part {
  const { deleted, restored, created, kept, rest } = undone;
  const counts = { changed: restored, created, deleted };
  const text = `${rest === undefined ? "Undone" : "Undone in part"}: ${nameCounts(counts)}.`;
  return [renderNotice("info", text), kept.length > 0 && renderKept(table, kept)];
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
  const found = await findRows(visit, { ...table, ids: rowIds });
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
