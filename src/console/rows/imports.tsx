/** @jsxImportSource #html @jsxRuntime automatic */
/** The imports into a table: a line for each. @module */

import type { Html, Part } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { type Import, readConsole } from "../../records/console/mod.ts";
import { nameWritten } from "../../rows/mod.ts";
import { inDigits, showCount } from "../../std/count.ts";
import { isUuid } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import { renderTable, renderTime } from "../parts.tsx";
import { toPersonPath } from "../paths.ts";
import type { RowsTable } from "./table.tsx";

/** Max listed imports. */
export const MAX_IMPORTS = 100;

type Wanted = { act?: string; digest?: string; before?: number | undefined; max?: number };

export async function listImports(
  { deps }: Visit,
  { slug, table }: RowsTable,
  { act, digest, before, max = MAX_IMPORTS }: Wanted = {},
): Promise<readonly Import[]> {
  const { imports } = await readConsole(deps, "list_imports", {
    ...{ app_slug: slug, wanted_table: table, of_digest: digest ?? null, of_act: act ?? null },
    ...{ before_id: before ?? null, max_rows: max },
  });
  return imports;
}

/** @throws {Problem} not_found */
export async function findImport(
  visit: Visit,
  table: RowsTable,
  act: string | undefined,
): Promise<Import> {
  const [of] = act !== undefined && isUuid(act) ? await listImports(visit, table, { act }) : [];
  if (of === undefined) throw new Problem("not_found", { message: "There is no such import" });
  return of;
}

export function toImportPath(path: string, act: string): string {
  return `${path}/imports/${encodeURIComponent(act)}`;
}

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

export function nameImport({ file, rows, ended, kept, isUndo }: Import): Html {
  const name = <bdi>{file}</bdi>;
  if (isUndo)
    return (
      <>
        {ended === null ? "Began to undo" : "Undid"} the import of {name}:{" "}
        {nameWritten(ended ?? kept)}
      </>
    );
  if (ended === null)
    return (
      <>
        Began to import {showCount(inDigits(rows), "row")} from {name}: {nameWritten(kept)}
      </>
    );
  const total = ended.created + ended.changed + ended.deleted;
  return (
    <>
      Imported {showCount(inDigits(total), "row")} from {name}
      {ended.created < total && `: ${nameWritten(ended)}`}
    </>
  );
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
