/** @jsxImportSource #html @jsxRuntime automatic */
/** The forms of a change of several rows: the change, its preview, and the result for each row. @module */

import { shortenId } from "../../kinds/mod.ts";
import { type Html, type Part, TOKEN_FIELD, toScriptPath } from "../../pages/mod.ts";
import type { Problem } from "../../problem.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { toMessages, type Visit } from "../enter.tsx";
import { renderLink, renderSnippet } from "../parts.tsx";
import { countOf } from "../tables/table_parts.tsx";
import { type RowsTable, renderCell, toRowPath } from "./cells.tsx";
import { toRowsJson } from "./copy.tsx";
import { type RowField, renderRowField } from "./fields.tsx";
import { isChosen, type ListedRow, type State } from "./list.ts";
import { toLabel } from "./related.ts";

export type Change = { kind: "delete" } | { kind: "set"; column: NamedColumn };

/** The result for a row; without a problem, the row was written. */
export type ChangeResult = {
  id: string;
  problem?: Problem;
  tag?: string;
  /** The previous value as JSON text, if known. */
  before?: string | undefined;
};

type FormParts = {
  hidden: Readonly<Record<string, string>>;
  body: Part;
  buttons: Part;
};

function renderForm(visit: Visit, table: RowsTable, { hidden, body, buttons }: FormParts): Html {
  const all = Object.entries({ ...hidden, [TOKEN_FIELD]: visit.token });
  return (
    <form
      class="sheet action row-change"
      method="post"
      action={`${table.path}/change`}
      data-worker={toScriptPath("search")}
      data-has-filters={visit.deps.hasFilters}
    >
      {all.map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      {body}
      <div class="action-buttons">
        {buttons}
        {renderLink("Close", table.path)}
      </div>
    </form>
  );
}

function renderButton(name: string, step: string, style: "primary" | "danger" | "quiet"): Html {
  return (
    <button class={`button button-${style}`} type="submit" name="step" value={step}>
      {name}
    </button>
  );
}

/** The hidden fields for a change and its typed value. */
function toHidden(change: Change, state?: State): Record<string, string> {
  if (change.kind === "delete") return { delete: "yes" };
  const { column } = change;
  if (state === undefined) return { column: column.name };
  const isNull = typeof state === "string";
  const text = isNull ? "" : state.text;
  const chosen = isNull ? "null" : `=${text}`;
  return {
    column: column.name,
    [`value.${column.name}`]: isChosen(column) ? chosen : text,
    ...(isNull ? { [`null.${column.name}`]: "on" } : {}),
  };
}

type ChoiceParts = {
  change: Change | undefined;
  ids: readonly string[];
  field: RowField | undefined;
};

/** The form that selects a column, or enters its new value. */
export function renderChoice(
  visit: Visit,
  table: RowsTable,
  { change, ids, field }: ChoiceParts,
): Html {
  const { columns } = table.definition;
  const choice = change === undefined && (
    <div class="field">
      <label for="column">Column to set</label>
      <select id="column" name="column">
        {columns.map(({ name }) => (
          <option>{name}</option>
        ))}
      </select>
    </div>
  );
  return renderForm(visit, table, {
    hidden: { ...(change === undefined ? {} : toHidden(change)), rows: ids.join(" ") },
    body: [
      <p data-change-count>
        {ids.length === 0 ? "No rows selected." : countOf(ids.length, "row")}
      </p>,
      choice,
      field && renderRowField(field),
    ],
    buttons: renderButton("Preview", "preview", "primary"),
  });
}

type PreviewParts = {
  change: Change;
  /** The rows that change. */
  rows: readonly ListedRow[];
  marks: string;
  /** The numbers of rows that already have the value, and of rows that do not exist. */
  same: number;
  missing: number;
  state: State | undefined;
};

export function renderPreview(visit: Visit, table: RowsTable, parts: PreviewParts): Html {
  const { change, rows, marks, same, missing, state } = parts;
  const isDeletion = change.kind === "delete";
  const lines = rows.map(({ row }) => {
    const link = (
      <th scope="row">{renderRowLink(table, row.id, toLabel(table.definition, row))}</th>
    );
    if (isDeletion)
      return (
        <tr>
          {link}
          {renderSome(table, row)}
        </tr>
      );
    const { column } = change;
    const { slug } = table;
    return (
      <tr>
        {link}
        {renderCell(column, row, { slug })}
        <td class="now-value">{describeState(state)}</td>
      </tr>
    );
  });
  const sentences = [
    same > 0 && <p class="quiet">{countOf(same, "row")} already set to this value.</p>,
    missing > 0 && <p class="quiet">{countOf(missing, "row")} not found.</p>,
    isDeletion && (
      <p>
        This cannot be undone. Rows that reference them with “on delete cascade” are deleted too;
        with “on delete set null”, their reference is cleared.
      </p>
    ),
    isDeletion && (
      <details>
        <summary>Copy the rows as JSON first</summary>
        {renderSnippet({
          id: "rows-json",
          name: "the rows as JSON",
          text: toRowsJson(rows.map(({ row }) => row)),
        })}
      </details>
    ),
  ];
  const head = isDeletion
    ? listSome(table).map(({ name }) => name)
    : [`${change.column.name} now`, "after"];
  return renderForm(visit, table, {
    hidden: { ...toHidden(change, state), marks, rows: rows.map(({ row }) => row.id).join(" ") },
    body: [
      sentences,
      rows.length === 0 ? (
        <p>No rows change.</p>
      ) : (
        <div class="change-rows" role="region" aria-label="Rows that change" tabindex="0">
          <table>
            <thead>
              <tr>
                <th scope="col">Row</th>
                {head.map((name) => (
                  <th scope="col">{name}</th>
                ))}
              </tr>
            </thead>
            <tbody>{lines}</tbody>
          </table>
        </div>
      ),
    ],
    buttons:
      rows.length > 0 &&
      renderButton(
        isDeletion
          ? `Delete ${countOf(rows.length, "row")}`
          : `Save ${countOf(rows.length, "row")}`,
        "write",
        isDeletion ? "danger" : "primary",
      ),
  });
}

function renderRowLink({ path }: RowsTable, id: string, label?: string): Html {
  return (
    <a href={toRowPath(path, id)} title={id}>
      <bdi>{label ?? shortenId(id)}</bdi>
    </a>
  );
}

const VISIBLE_COLUMNS = 3;

/** Enough of a row to recognize it. */
function listSome({ definition }: RowsTable): readonly NamedColumn[] {
  return definition.columns.slice(0, VISIBLE_COLUMNS);
}

function renderSome(table: RowsTable, row: ListedRow["row"]): Html[] {
  const { slug } = table;
  return listSome(table).map((column) => renderCell(column, row, { slug }));
}

const VISIBLE_CHARS = 80;

function describeState(state: State | undefined): Html {
  if (state === undefined || typeof state === "string") return <i class="nothing">null</i>;
  if (state.text === "") return <i class="nothing">empty</i>;
  return <bdi>{state.text.slice(0, VISIBLE_CHARS)}</bdi>;
}

type ResultParts = {
  /** Unset after an undo, which is not repeated. */
  change: Change | undefined;
  results: readonly ChangeResult[];
  state: State | undefined;
};

/** A form has at most 100 KB, and encodes quotes and braces as three bytes each. */
const MAX_UNDO_CHARS = 40_000;

export function renderResults(
  visit: Visit,
  table: RowsTable,
  { change, results, state }: ResultParts,
): Html {
  const failed = results.filter(({ problem }) => problem !== undefined);
  const undo = toUndo(results);
  const lines = results
    .toSorted((a, b) => Number(b.problem !== undefined) - Number(a.problem !== undefined))
    .map(({ id, problem }) => (
      <tr class={problem !== undefined && "is-failed"}>
        <th scope="row">{renderRowLink(table, id)}</th>
        <td>{problem === undefined ? "Saved" : explain(problem)}</td>
      </tr>
    ));
  return renderForm(visit, table, {
    hidden: {
      ...(change === undefined ? {} : toHidden(change, state)),
      rows: failed.map(({ id }) => id).join(" "),
      ...(undo === undefined ? {} : { undo }),
    },
    body: [
      failed.length > 0 && (
        <p>
          {countOf(failed.length, "row")} not saved. The preview shows their current state before
          you try again.
        </p>
      ),
      <div class="change-rows" role="region" aria-label="Results" tabindex="0">
        <table>
          <thead>
            <tr>
              <th scope="col">Row</th>
              <th scope="col">Result</th>
            </tr>
          </thead>
          <tbody>{lines}</tbody>
        </table>
      </div>,
    ],
    buttons: [
      change !== undefined &&
        failed.length > 0 &&
        renderButton(`Review ${countOf(failed.length, "row")}`, "preview", "primary"),
      change !== undefined && undo !== undefined && renderButton("Undo", "undo", "quiet"),
    ],
  });
}

function explain(problem: Problem): string {
  if (problem.code === "precondition_failed") return "Not saved: the row has changed since";
  return `Not saved: ${toMessages(problem).join("; ")}`;
}

/** The previous value of each written row, as JSON; `undefined` if the values do not fit into a form. */
function toUndo(results: readonly ChangeResult[]): string | undefined {
  const written = results.filter(({ tag, before }) => tag !== undefined && before !== undefined);
  const text = `[${written.map(({ id, tag, before }) => `[${JSON.stringify(id)},${JSON.stringify(tag)},${before}]`)}]`;
  return written.length > 0 && text.length <= MAX_UNDO_CHARS ? text : undefined;
}
