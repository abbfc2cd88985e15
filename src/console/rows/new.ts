/** A new row. The form has its own idempotency key, so that a form that is sent twice creates one row. @module */
import { readParameters } from "../../http/mod.ts";
import {
  findTypingIssues,
  isEmptyAsked,
  type Row,
  readRow,
  readState,
  redirect,
  type State,
  TEXTS,
  type TypedValue,
  toBody,
  toFirstState,
  toState,
  withLineEnds,
  withPlace,
} from "../../pages/mod.ts";
import { type Detail, Problem } from "../../problem.ts";
import { isUuid } from "../../std/patterns.ts";
import { readHeaderValue, type Visit } from "../enter.tsx";
import { callRows, toRejection } from "./call.ts";
import { findRow } from "./edit.tsx";
import { makeFields, renderIssues, renderRowForm, sortIssues } from "./form.tsx";
import { readPosition, toMark } from "./list.ts";
import { resolveReferences } from "./related.ts";
import { type RowsTable, respondWithRowsPage } from "./table.tsx";

export async function handleNewRow(visit: Visit, table: RowsTable): Promise<Response> {
  const like = await findLike(visit, table);
  const states = table.definition.columns.map(
    (column) =>
      [column.name, like === undefined ? toFirstState(column) : toState(column, like)] as const,
  );
  return await respondWithForm(visit, table, {
    states: new Map(states),
    key: visit.deps.makeId(),
    like: like?.id,
  });
}

/** The row whose values are the initial input, if the address names an existing row. */
async function findLike(visit: Visit, table: RowsTable): Promise<Row | undefined> {
  const asked = new Map(readParameters(visit.context.query)).get("like");
  const id = visit.fields.get("like") ?? asked ?? "";
  return isUuid(id) ? (await findRow(visit, table, id))?.row : undefined;
}

export async function handleNewRowForm(visit: Visit, table: RowsTable): Promise<Response> {
  const { appId, path } = table;
  const like = await findLike(visit, table);
  const values = await resolveReferences(visit, table, readValues(visit, table, like));
  const key = readHeaderValue(visit.fields.get("create_key"));
  try {
    const { text } = await callRows(visit, {
      appId,
      method: "POST",
      path: table.table,
      headers: { "idempotency-key": key },
      body: toBody(values),
    });
    return redirect(withPlace(path, readPosition(visit), { added: readRow(text).id }));
  } catch (error) {
    const problem = toRejection(error);
    const isOther = problem.code === "idempotency_mismatch";
    return await respondWithForm(visit, table, {
      states: new Map(values.map(({ column, state }) => [column.name, state])),
      key: isOther ? visit.deps.makeId() : key,
      problem: isOther ? SENT_BEFORE : problem,
      values,
      like: like?.id,
    });
  }
}

const SENT_BEFORE = new Problem("idempotency_mismatch", {
  message: "This form already created a row with other values. Send it again to create another row",
});

/** A value of the copied row that was not changed is copied as it is; the form may not have it, if it is too long. */
function readValues(
  { fields }: Visit,
  { definition }: RowsTable,
  like: Row | undefined,
): TypedValue[] {
  return definition.columns.map((column): TypedValue => {
    const first = toFirstState(column);
    const state = readState(column, fields, { wasNull: first === "null", isNew: true });
    if (like === undefined) return { column, state: state ?? first };
    const copied = toState(column, like);
    if (state === undefined || toMark(state) === toMark(copied))
      return { column, state: copied, json: like[TEXTS].get(column.name) };
    return { column, state: withLineEnds(column, state, like) };
  });
}

/** Required texts without input: an empty text is stored only if its box is checked. */
function findUnasked(values: readonly TypedValue[]): Detail[] {
  return values
    .filter(({ column, state }) => state === "null" && isEmptyAsked(column))
    .map(({ column }) => ({ path: `/${column.name}`, message: ASK_FOR_TEXT }));
}

const ASK_FOR_TEXT = "Enter a text, or check “empty” to store an empty text";

type FormState = {
  states: ReadonlyMap<string, State>;
  key: string;
  problem?: Problem;
  values?: readonly TypedValue[];
  /** The id of the copied row. */
  like?: string | undefined;
};

async function respondWithForm(
  visit: Visit,
  table: RowsTable,
  { states, key, problem, values = [], like }: FormState,
): Promise<Response> {
  const position = readPosition(visit);
  const issues =
    problem &&
    sortIssues(problem, table.definition, [...findTypingIssues(values), ...findUnasked(values)]);
  const fields = makeFields(table, { states, issues });
  const form = renderRowForm(visit, {
    action: withPlace(`${table.path}/new`, position),
    hidden: { create_key: key, ...(like === undefined ? {} : { like }) },
    fields: fields.map((field, at) => ({
      ...field,
      isNew: true,
      isFirst: at === 0 && problem === undefined,
    })),
    button: "Add the row",
    cancel: withPlace(table.path, position),
  });
  return respondWithRowsPage(table, {
    title: "New row",
    body: [issues && renderIssues("The row was not added.", issues), form],
    status: problem?.status ?? 200,
    script: "row_page",
  });
}
