/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * Restores values and rows from the history. The page shows what it would write and which rows were changed since; the form writes
 * exactly that through the data endpoints, a row only if it is still as shown. What it cannot write, it names.
 *
 * @module
 */

import { SENT_IDS_PREFERENCE } from "../../data/mod.ts";
import { readParameters } from "../../http/mod.ts";
import { shortenId } from "../../kinds/mod.ts";
import {
  type Html,
  type Part,
  readRow,
  redirect,
  renderForm,
  toLabel,
  toRowPath,
} from "../../pages/mod.ts";
import type { Detail, Problem } from "../../problem.ts";
import { showCount } from "../../std/count.ts";
import { mapBounded } from "../../std/map_bounded.ts";
import { isUuid } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import { renderCancel, renderEmpty, renderError, renderLink } from "../parts.tsx";
import { callRows, toRejection } from "./call.ts";
import { deleteCreated, isCreation, keepReferenced } from "./created_rows.ts";
import { type FoundRow, findRow } from "./edit.tsx";
import { findLost, renderLost, renderTaken } from "./history_lost.tsx";
import { planRestore, type Restored, toBatches, toText, type Wanted } from "./history_plan.ts";
import {
  findLastOwn,
  type History,
  readChanges,
  readRuns,
  readSince,
  readTaken,
  toHistoryPath,
  toRestorePath,
} from "./history_read.ts";
import { type RowsTable, renderValues, respondWithRowsPage } from "./table.tsx";

type Asked = { ids: readonly number[]; wanted: Wanted; address: string; from: string | undefined };

function readAsked({ context }: Visit, { path }: RowsTable): Asked {
  const query = new Map(readParameters(context.query));
  return {
    ids: readRuns(query.get("change") ?? ""),
    wanted: { column: query.get("column"), isWhole: query.get("whole") === "yes" },
    address: `${path}/restore?${context.query}`,
    from: query.get("from"),
  };
}

/** Max concurrent reads of rows. */
const MAX_CALLS = 8;

/** The tags of the displayed rows, by id. */
function readMarks(text: string): Map<string, string> {
  return new Map(
    text.split(" ").flatMap((mark) => {
      const [id = "", tag = ""] = mark.split(":");
      return isUuid(id) && /^[\w-]+$/.test(tag) ? [[id, `"${tag}"`] as const] : [];
    }),
  );
}

type Planned = { history: History; planned: readonly Restored[] };

async function plan(visit: Visit, table: RowsTable, { ids, wanted }: Asked): Promise<Planned> {
  const history = await readChanges(visit, table, ids);
  const { changes } = history;
  const rowIds = [...new Set(changes.map(({ rowId }) => rowId))];
  const found = await mapBounded(rowIds, MAX_CALLS, (id) => findRow(visit, table, id));
  const rows = new Map(
    found.flatMap((row): [string, FoundRow][] => (row === undefined ? [] : [[row.row.id, row]])),
  );
  const { definition } = table;
  const [first] = changes;
  const since =
    wanted.isWhole === true && first !== undefined
      ? await readSince(visit, table, first)
      : undefined;
  const planned = planRestore(changes, rows, { definition, wanted, since });
  return { history, planned: await keepReferenced(visit, table, planned) };
}

export async function handleRestore(visit: Visit, table: RowsTable): Promise<Response> {
  const asked = readAsked(visit, table);
  // The grid asks for the visitor's last change, also one before it was opened.
  const changes = asked.from === "last" ? await findLastOwn(visit, table) : [];
  if (changes.length > 0) return redirect(toRestorePath(table.path, { changes, isFromRows: true }));
  return respondWithPlan(visit, table, { asked, ...(await plan(visit, table, asked)) });
}

export async function handleRestoreForm(visit: Visit, table: RowsTable): Promise<Response> {
  const asked = readAsked(visit, table);
  const { history, planned } = await plan(visit, table, asked);
  const shown = readMarks(visit.fields.get("marks") ?? "");
  const created = new Set((visit.fields.get("created") ?? "").split(" "));
  const isConfirmed = (restored: Restored) =>
    restored.kind === "create" ? created.has(restored.id) : shown.has(restored.id);
  const confirmed = planned.filter(
    (restored) => isWritten(restored, asked) && isConfirmed(restored),
  );
  const rows = confirmed.filter(isCreation);
  const waiting = toBatches(
    confirmed.filter((restored) => !isCreation(restored)),
    shown,
  );
  const act = visit.deps.makeId();
  let written = 0;
  for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) {
    const { method, rows, body } = batch;
    try {
      await callRows(visit, {
        appId: table.appId,
        act,
        method,
        path: table.table,
        headers: { prefer: SENT_IDS_PREFERENCE },
        body,
      });
      written += rows.length;
    } catch (error) {
      const problem = toRejection(error);
      // The response has whole rows, which can be much larger than the values.
      const half = Math.ceil(rows.length / 2);
      const isSplit = problem.code === "body_too_large" && rows.length > 1;
      const parts = isSplit ? [rows.slice(0, half), rows.slice(half)] : [];
      waiting.unshift(...parts.flatMap((part) => toBatches(part, shown)));
      if (isSplit) continue;
      const again = await plan(visit, table, asked);
      return respondWithPlan(visit, table, {
        asked,
        ...again,
        rejected: { problem, rows, written },
      });
    }
  }
  const { deleted, failed } = await deleteCreated(visit, table, { rows, shown, act });
  written += deleted;
  const [stop] = failed;
  if (stop !== undefined)
    return respondWithPlan(visit, table, {
      ...{ asked, ...(await plan(visit, table, asked)) },
      rejected: { problem: stop.problem, rows: [stop.restored], written },
    });
  if (written === 0) return respondWithPlan(visit, table, { asked, history, planned });
  // Again, with what went with the rows.
  if ((await readTaken(visit, table, asked.ids)).length > 0) return redirect(asked.address);
  if (asked.from === "rows") return redirect(table.path);
  const [only] = planned;
  const isOne = planned.length === 1 && only !== undefined;
  const isLeft = isOne && !isCreation(only);
  return redirect(isLeft ? toRowPath(table.path, only.id) : toHistoryPath(table.path));
}

/** One row is also written over later changes, which its page shows. Of several rows, only those without. */
function isWritten(restored: Restored, { wanted }: Asked): boolean {
  if (restored.kind === "create") return true;
  if (restored.kind === "none") return false;
  if (restored.kind === "delete") return restored.why === undefined;
  return restored.later.length === 0 || wanted.isWhole === true || wanted.column !== undefined;
}

type Rejected = { problem: Problem; rows: readonly Restored[]; written: number };
type Shown = Planned & { asked: Asked; rejected?: Rejected };

async function respondWithPlan(
  visit: Visit,
  table: RowsTable,
  { asked, history, planned, rejected }: Shown,
): Promise<Response> {
  const lost = await findLost(visit, table, planned);
  const written = planned.filter((restored) => isWritten(restored, asked));
  const cancel = asked.from === undefined ? toHistoryPath(table.path) : table.path;
  const missing = asked.ids.length - history.changes.length;
  const taken = await readTaken(visit, table, asked.ids);
  const body =
    planned.length === 0
      ? renderEmpty(
          asked.from === "last"
            ? "No change of yours is stored."
            : "These changes are no longer stored.",
          renderLink("History", cancel),
        )
      : renderForm({
          action: asked.address,
          token: visit.token,
          hidden: {
            marks: written
              .flatMap((restored) =>
                restored.kind === "update" || restored.kind === "delete"
                  ? [`${restored.id}:${restored.now.etag.replaceAll('"', "")}`]
                  : [],
              )
              .join(" "),
            created: written.flatMap(({ kind, id }) => (kind === "create" ? [id] : [])).join(" "),
          },
          fields: [
            missing > 0 && (
              <p class="quiet">
                No longer stored, or more than one restore writes: {showCount(missing, "change")}.
              </p>
            ),
            planned.map((restored) =>
              renderRestored(table, restored, { asked, lost: lost.get(restored.id) ?? [] }),
            ),
          ],
          button: written.length === 0 ? "Nothing to restore" : nameWrites(written),
          cancel: renderCancel(cancel),
        });
  return respondWithRowsPage(table, {
    title: planned.length === 1 ? `Restore row ${shortenId(planned[0]?.id ?? "")}` : "Restore rows",
    body: [rejected && renderRejected(table, rejected), renderTaken(table, taken), body],
    status: rejected?.problem.status ?? 200,
  });
}

function nameWrites(written: readonly Restored[]): string {
  const deleted = written.filter(isCreation).length;
  const restored = written.length - deleted;
  return [
    ...(restored > 0 ? [`Restore ${showCount(restored, "row")}`] : []),
    ...(deleted > 0
      ? [`${restored > 0 ? "and delete" : "Delete"} ${showCount(deleted, "row")}`]
      : []),
  ].join(" ");
}

function renderRestored(
  table: RowsTable,
  restored: Restored,
  { asked, lost }: { asked: Asked; lost: Parameters<typeof renderLost>[1] },
): Html {
  const { id } = restored;
  const label = toRestoredLabel(table, restored);
  return (
    <section>
      <h2>
        <a href={toHistoryPath(toRowPath(table.path, id))} title={id}>
          <bdi>{label}</bdi>
        </a>
      </h2>
      {renderNote(restored, asked)}
      {renderLost(table, lost)}
      {(restored.kind === "update" || restored.kind === "create") &&
        renderVersions(table, restored)}
    </section>
  );
}

function toRestoredLabel({ definition }: RowsTable, restored: Restored): string {
  const now = "now" in restored ? restored.now.row : {};
  const label = toLabel(definition, restored.before) ?? toLabel(definition, now);
  return label ?? shortenId(restored.id);
}

function renderNote(restored: Restored, asked: Asked): Part {
  if (restored.kind === "none") return <p>{restored.why}.</p>;
  if (restored.kind === "delete")
    return (
      <p>
        {restored.why === undefined
          ? "The row was new: it is deleted."
          : `The row stays: ${restored.why}.`}
      </p>
    );
  if (restored.kind === "create") return <p>The deleted row gets its id and these values again.</p>;
  const { later } = restored;
  if (later.length === 0) return undefined;
  return (
    <p>
      Changed since: <bdi>{later.join(", ")}</bdi>.{" "}
      {isWritten(restored, asked)
        ? "Restoring overwrites it."
        : "The row stays as it is: its history can restore single values."}
    </p>
  );
}

type Valued = Extract<Restored, { kind: "update" | "create" }>;

function renderVersions(table: RowsTable, restored: Valued): Html {
  const { id, kind, values } = restored;
  const names = new Set(kind === "update" ? values.map(({ name }) => name) : values.keys());
  return renderValues(table, {
    label: `Values of row ${shortenId(id)}`,
    columns: table.definition.columns.filter(({ name }) => names.has(name)),
    versions: [
      ["Now", kind === "update" ? restored.now.row : undefined],
      ["Restored", readRow(toText(restored, new Map()))],
    ],
  });
}

function renderRejected(table: RowsTable, { problem, rows, written }: Rejected): Html {
  const details = (problem.details ?? []).map((detail) => explain(table, rows, detail));
  const message =
    problem.code === "precondition_failed"
      ? "A row has changed since it was shown here."
      : details.length === 0
        ? problem.message
        : "Some values cannot be restored.";
  const title = written === 0 ? "Nothing was restored." : `${showCount(written, "row")} restored.`;
  return renderError(`${title} ${message}`, details);
}

/** The row and the column of an issue. */
function explain(table: RowsTable, rows: readonly Restored[], { path, message }: Detail): string {
  const [, index = "", column = ""] = path.split("/");
  const restored = rows[Number(index)];
  if (restored === undefined) return message;
  const label = toRestoredLabel(table, restored);
  return `${label}${column === "" ? "" : `, ${column}`}: ${message}`;
}
