/** @jsxImportSource #html @jsxRuntime automatic */
/** Deletes a row after a confirmation, unless the row has changed since. @module */
import { shortenId } from "../../kinds/mod.ts";
import {
  type Part,
  redirect,
  renderCell,
  renderForm,
  toLabel,
  toRowPath,
  withPlace,
} from "../../pages/mod.ts";
import type { Problem } from "../../problem.ts";
import { readHeaderValue, toMessages, type Visit } from "../enter.tsx";
import { renderCancel, renderError, renderSnippet } from "../parts.tsx";
import { callRows, toRejection } from "./call.ts";
import { type FoundRow, findRow, respondWithNoRow, toRowJson } from "./edit.tsx";
import { readPosition } from "./list.ts";
import { type RowsTable, respondWithRowsPage } from "./table.tsx";

export async function handleRowDeletionForm(visit: Visit, table: RowsTable): Promise<Response> {
  try {
    await callRows(visit, {
      appId: table.appId,
      method: "DELETE",
      path: `${table.table}/${visit.context.params["row"] ?? ""}`,
      headers: { "if-match": readHeaderValue(visit.fields.get("etag")) },
    });
  } catch (error) {
    const problem = toRejection(error);
    // Already deleted by another user.
    if (problem.code !== "not_found") return await handleRowDeletion(visit, table, problem);
  }
  return redirect(withPlace(table.path, readPosition(visit), { deleted: "yes" }));
}

export async function handleRowDeletion(
  visit: Visit,
  table: RowsTable,
  problem?: Problem,
): Promise<Response> {
  const found = await findRow(visit, table);
  if (found === undefined) return respondWithNoRow(table);
  const { row, etag } = found;
  const position = readPosition(visit);
  const path = toRowPath(table.path, row.id);
  const tone = "danger";
  const form = renderForm({
    action: withPlace(`${path}/delete`, position),
    token: visit.token,
    hidden: { etag },
    fields: [
      <p>
        {table.hasHistory
          ? "The history can restore the row, but none of the rows that it takes along."
          : "This cannot be undone."}{" "}
        Rows that reference it with “on delete cascade” are deleted too; with “on delete set null”,
        their reference is cleared.
      </p>,
      renderValues(table, found),
      <details>
        <summary>Copy the row as JSON first</summary>
        {renderSnippet({ id: "row-json", name: "the row as JSON", text: toRowJson(row) })}
      </details>,
    ],
    button: "Delete the row",
    tone,
    cancel: renderCancel(withPlace(path, position), tone),
  });
  return respondWithRowsPage(table, {
    title: `Delete ${toLabel(table.definition, row) ?? `row ${shortenId(row.id)}`}`,
    isValue: true,
    body: [problem && renderRejection(problem), form],
    status: problem?.status ?? 200,
  });
}

function renderRejection(problem: Problem): Part {
  return problem.code === "precondition_failed"
    ? renderError("Not deleted: the row has changed.", ["Review changes"])
    : renderError("The row was not deleted.", toMessages(problem));
}

const VISIBLE_COLUMNS = 6;

/** Enough values to recognize the row. */
function renderValues({ definition, tables }: RowsTable, { row }: FoundRow): Part {
  const some = definition.columns.slice(0, VISIBLE_COLUMNS);
  return (
    <table class="row-values">
      <tbody>
        {some.map((column) => (
          <tr>
            <th scope="row">
              <bdi>{column.name}</bdi>
            </th>
            {renderCell(column, row, { tables })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
