/** @jsxImportSource #html @jsxRuntime automatic */
/** The form of a new or existing row: fields and their errors. @module */

import {
  type Html,
  type Labels,
  listFinders,
  type Part,
  type RowField,
  renderRowField,
  type State,
  TOKEN_FIELD,
  toRowPath,
} from "../../pages/mod.ts";
import type { Detail, Problem } from "../../problem.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { MAX_BODY_BYTES } from "../../std/limits.ts";
import { isUuid } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import { renderError, renderLink } from "../parts.tsx";
import { toAppPath, toRowsPath } from "../paths.ts";
import { findTable } from "./related.ts";
import type { RowsTable } from "./table.tsx";

type Issues = { of: ReadonlyMap<string, string[]>; others: string[] };

/** The issues by column; this page's own issues replace the endpoint's for the same column. */
export function sortIssues(
  { message, details = [] }: Problem,
  { columns }: RowsTable["definition"],
  own: readonly Detail[] = [],
): Issues {
  const names = new Set(columns.map(({ name }) => name));
  const found = new Set(own.map(({ path }) => path));
  const all = [...own, ...details.filter(({ path }) => !found.has(path))];
  const of = new Map<string, string[]>();
  const others: string[] = [];
  for (const detail of all) {
    const name = detail.path.split("/")[1] ?? "";
    if (names.has(name)) of.set(name, [...(of.get(name) ?? []), detail.message]);
    else others.push(detail.message);
  }
  return { of, others: all.length === 0 ? [message] : others };
}

export function renderIssues(title: string, { of, others }: Issues): Html {
  const names = [...of.keys()];
  return renderError(title, [
    ...others,
    ...(names.length === 0 ? [] : [`Check ${names.join(", ")}`]),
  ]);
}

type FieldValues = {
  states: ReadonlyMap<string, State>;
  issues?: Issues | undefined;
  now?: ReadonlyMap<string, string>;
  /** Labels of referenced rows. */
  labels?: Labels;
};

/** Max bytes of a form's first values as a browser sends them: any value of one request, with each byte escaped. */
const MAX_FORM_BYTES = 3 * MAX_BODY_BYTES;

/** A field for each column, up to the max bytes of a form. */
export function makeFields(
  table: RowsTable,
  { states, issues, now, labels }: FieldValues,
): RowField[] {
  let freeBytes = MAX_FORM_BYTES;
  return table.definition.columns.map((column): RowField => {
    const state = states.get(column.name) ?? "null";
    const text = typeof state === "string" ? "" : state.text;
    const sent = new URLSearchParams({ "": text.replaceAll(/\r?\n/g, "\r\n") });
    const size = sent.toString().length;
    const isTooLong = size > freeBytes;
    if (!isTooLong) freeBytes -= size;
    return {
      column,
      state,
      issues: issues?.of.get(column.name) ?? [],
      now: now?.get(column.name),
      target: toTarget(table, column, { id: text, label: labels?.get(text) }),
      picked: toPicked(table, column),
      isTooLong,
    };
  });
}

function toTarget(
  { slug }: RowsTable,
  { table }: NamedColumn,
  { id, label }: { id: string; label: string | undefined },
) {
  if (table === undefined || !isUuid(id)) return undefined;
  return { path: toRowPath(toRowsPath(slug, table), id), label };
}

/** The data of a script that searches for a referenced row. */
function toPicked(table: RowsTable, { table: name = "" }: NamedColumn) {
  const target = name === "" ? undefined : findTable(table, name);
  const path = `${toAppPath(table.slug)}/data/${encodeURIComponent(name)}`;
  return target && { path, finders: listFinders(target) };
}

type RowForm = {
  action: string;
  hidden: Readonly<Record<string, string>>;
  fields: readonly RowField[];
  /** The generated values below the fields. */
  created?: Part;
  button: string;
  cancel: string;
  deletion?: string;
  /** The link to the history of the row. */
  history?: Part;
  /** The form of a new row with the values of this row. */
  duplicate?: string;
};

export function renderRowForm({ token }: Visit, form: RowForm): Html {
  const hidden = Object.entries({ ...form.hidden, [TOKEN_FIELD]: token });
  return (
    <form
      class="sheet action row-form"
      method="post"
      action={form.action}
      data-row-form
      data-unsaved
    >
      {hidden.map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      {form.fields.map(renderRowField)}
      {form.created}
      <div class="action-buttons">
        <button class="button button-primary" type="submit">
          {form.button}
        </button>
        {renderLink("Cancel", form.cancel)}
        {form.deletion !== undefined && (
          <span class="action-end">
            {form.history}
            {form.duplicate !== undefined && renderLink("Duplicate", form.duplicate)}{" "}
            {renderLink("Delete", form.deletion, "danger")}
          </span>
        )}
      </div>
    </form>
  );
}
