/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The history of a table and of a row: who or what changed or deleted rows, and the values before. Nothing here writes: links lead
 * to the preview of what restoring would write.
 *
 * @module
 */

import { readParameters } from "../../http/mod.ts";
import { shortenId } from "../../kinds/mod.ts";
import {
  findLabelColumn,
  type Html,
  type Labels,
  type Part,
  type Row,
  toLabel,
  toRowPath,
} from "../../pages/mod.ts";
import type { Import, RowChange } from "../../records/console/mod.ts";
import { inDigits, showCount } from "../../std/count.ts";
import type { Visit } from "../enter.tsx";
import { renderEmpty, renderLink, renderTable, renderText, renderTime } from "../parts.tsx";
import { toKeysPath, toPersonPath, toSwitchPath } from "../paths.ts";
import { listChanged, toKind, toRowBefore } from "./history_plan.ts";
import {
  endPage,
  type History,
  readChangeId,
  readGroups,
  readHistory,
  toDeletedPath,
  toHistoryPath,
  toRestorePath,
} from "./history_read.ts";
import { listImports, MAX_IMPORTS, toImportCells } from "./imports.tsx";
import { findRows } from "./list.ts";
import { type RowsTable, renderValues, respondWithRowsPage } from "./table.tsx";

export async function handleTableHistory(visit: Visit, table: RowsTable): Promise<Response> {
  const query = new Map(readParameters(visit.context.query));
  const isDeleted = query.get("deleted") === "yes";
  const before = readChangeId(query.get("before"));
  const page = await readGroups(visit, table, {
    ...{ isDeleted, before, above: readChangeId(query.get("above")) },
  });
  const { history } = page;
  const imports = isDeleted
    ? []
    : await listImports(visit, table, { before, max: MAX_IMPORTS + 1 });
  const last = imports[MAX_IMPORTS - 1]?.place ?? 0;
  const isLong = imports.length > MAX_IMPORTS && last > page.border;
  const { groups, older, border } = isLong ? endPage(page, last) : page;
  const shown = imports.filter(
    ({ place, kept }) => place >= border && kept.created + kept.changed + kept.deleted > 0,
  );
  const path = toHistoryPath(table.path);
  return respondWithRowsPage(table, {
    title: isDeleted ? "Deleted rows" : "History",
    actions: [
      isDeleted
        ? renderLink("All changes", path)
        : renderLink("Deleted rows", toDeletedPath(table.path)),
    ],
    body: [
      renderState(table, history),
      groups.length + shown.length > 0 &&
        renderGroups(
          { ...table, now: visit.deps.now(), labels: await readGroupLabels(visit, table, groups) },
          { groups, imports: shown },
        ),
      groups.length + shown.length === 0 && history.isOn && renderEmpty("No changes are stored."),
      older && renderOlder(path, { ...(isDeleted ? { deleted: "yes" } : {}), ...older }),
    ],
  });
}

/** What is stored, and what is not. */
function renderState({ slug }: RowsTable, { isOn, days, isEdited }: History): Part {
  if (!isOn)
    return renderEmpty(
      "This app has no history: changes of its rows are not stored.",
      renderLink("Turn on the history", toSwitchPath(slug, "history"), "primary"),
    );
  return (
    <>
      <p class="quiet">
        Updates and deletes of the last {days} days, by keys, people and administrators, also by “on
        delete” of another row, and new rows of people and administrators. Not stored: new rows of
        keys, and changes by pushes and imports of apps.
      </p>
      {isEdited && (
        <p class="quiet">
          A column or table was renamed or dropped: earlier changes are shown again after they have
          been rewritten, within minutes.
        </p>
      )}
    </>
  );
}

function renderOlder(path: string, place: Readonly<Record<string, string | number>>): Html {
  const query = Object.entries(place).map(([name, value]) => [name, String(value)]);
  return <p>{renderLink("Older", `${path}?${new URLSearchParams(query)}`)}</p>;
}

type Group = readonly RowChange[];
type Shown = RowsTable & { readonly now: number };
type Listed = Shown & { readonly labels: Labels };

/** The labels of rows that changed alone, as they are now: an update without the label has not stored it. */
async function readGroupLabels(
  visit: Visit,
  { appId, table, definition }: RowsTable,
  groups: readonly Group[],
): Promise<Labels> {
  const column = findLabelColumn(definition);
  if (column === undefined) return new Map();
  const lacking = groups.flatMap((group) => {
    const [change] = group;
    const isOne = change !== undefined && group.every(({ rowId }) => rowId === change.rowId);
    return isOne && toLabel(definition, toRowBefore(change)) === undefined ? [change.rowId] : [];
  });
  const ids = [...new Set(lacking)];
  const found = await findRows(visit, { appId, table, ids, select: `id,${column.name}` });
  return new Map(
    found.flatMap(({ row }) => {
      const label = toLabel(definition, row);
      return label === undefined ? [] : [[row.id, label] as const];
    }),
  );
}

type Lines = { readonly groups: readonly Group[]; readonly imports: readonly Import[] };

function renderGroups(table: Listed, { groups, imports }: Lines): Html {
  const ofImports = imports.map((of) => ({
    place: of.place,
    cells: toImportCells(table, of, table.now),
  }));
  const ofGroups = groups.flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { id: place } = first;
    return {
      place,
      cells: [
        renderTime(first.at, table.now),
        renderActor(table, first.by),
        renderGroup(table, group),
        renderLink(
          first.after === null ? "Restore" : "Undo",
          toRestorePath(table.path, { changes: group }),
        ),
      ],
    };
  });
  const lines = [...ofGroups, ...ofImports].toSorted((a, b) => b.place - a.place);
  const cells = lines.map((line) => line.cells);
  return renderTable("Changes", ["When", "Who", "What", "Undo"], cells);
}

function renderGroup(table: Listed, group: Group): Part {
  const [first] = group;
  const rows = new Set(group.map(({ rowId }) => rowId));
  const what =
    rows.size === 1 && first !== undefined
      ? renderRow(table, first)
      : showCount(inDigits(rows.size), "row");
  const cause = group.every(({ isCaused }) => isCaused) && CAUSE;
  const kind = first && toKind(first);
  if (kind === "created") return <>Created {what}</>;
  if (kind === "deleted")
    return (
      <>
        Deleted {what}
        {cause}
      </>
    );
  const names = new Set(group.flatMap((change) => listChanged(change, table.definition)));
  return (
    <>
      Changed <bdi>{[...names].join(", ")}</bdi> of {what}
      {cause}
    </>
  );
}

/** What changed a row that the request did not name. */
const CAUSE = " by “on delete” of another row";

function renderRow({ path, definition, labels }: Listed, change: RowChange): Html {
  const { rowId } = change;
  const label = toLabel(definition, toRowBefore(change)) ?? labels.get(rowId);
  return (
    <a href={toHistoryPath(toRowPath(path, rowId))} title={rowId}>
      <bdi>{label ?? shortenId(rowId)}</bdi>
    </a>
  );
}

/** Who changed rows. */
function renderActor({ slug }: RowsTable, by: RowChange["by"]): Html {
  if (by === null) return <>a person or key that no longer exists</>;
  const { kind, id, name } = by;
  const path = kind === "key" ? toKeysPath(slug) : toPersonPath(id);
  const place = { key: "key", person: "person", console: "Console" }[kind];
  return (
    <>
      <a href={path}>{renderText(name)}</a> <span class="quiet">{place}</span>
    </>
  );
}

export async function handleRowHistory(visit: Visit, table: RowsTable): Promise<Response> {
  const row = visit.context.params["row"] ?? "";
  const before = readChangeId(new Map(readParameters(visit.context.query)).get("before"));
  const history = await readHistory(visit, table, {
    row,
    before,
  });
  const { changes } = history;
  const last = changes.at(-1);
  return respondWithRowsPage(table, {
    title: `History of row ${shortenId(row)}`,
    actions: [renderLink("Row", toRowPath(table.path, row))],
    body: [
      renderState(table, history),
      changes.map((change) => renderChange({ ...table, now: visit.deps.now() }, change)),
      changes.length === 0 && history.isOn && renderEmpty("No changes of this row are stored."),
      // A page can be shorter if its values are large.
      last && renderOlder(toHistoryPath(toRowPath(table.path, row)), { before: last.id }),
    ],
  });
}

function renderChange(table: Shown, change: RowChange): Html {
  const { path } = table;
  const kind = toKind(change);
  return (
    <section class="sheet">
      <h2>
        {NAMES[kind]} {renderTime(change.at, table.now)}
        {change.isCaused && CAUSE}
      </h2>
      <p>By {renderActor(table, change.by)}</p>
      {kind !== "created" && renderVersions(table, change)}
      <div class="action-buttons">
        {kind !== "changed"
          ? renderLink(
              kind === "deleted" ? "Restore the row" : "Undo the new row",
              toRestorePath(path, { changes: [change] }),
            )
          : [
              renderLink("Undo this change", toRestorePath(path, { changes: [change] })),
              renderLink(
                "Restore the row as it was before",
                toRestorePath(path, { changes: [change], isWhole: true }),
              ),
            ]}
      </div>
    </section>
  );
}

const NAMES = { created: "Created", changed: "Changed", deleted: "Deleted" } as const;

/** The values before, and those after an update. */
function renderVersions(table: RowsTable, change: RowChange): Html {
  const { after } = change;
  const names = new Set(listChanged(change, table.definition));
  const toLink = (column: string) => (
    <a
      href={toRestorePath(table.path, { changes: [change], column })}
      aria-label={`Restore ${column}`}
    >
      Restore
    </a>
  );
  return renderValues(table, {
    label: `Values of change ${change.id}`,
    columns: table.definition.columns.filter(({ name }) => names.has(name)),
    versions: [
      ["Before", toRowBefore(change)],
      ["After", after === null ? undefined : toRowBefore({ ...change, before: after })],
    ],
    toLink: after === null ? undefined : toLink,
  });
}

/** The link to the history of a row, if this service has one. */
export function renderHistoryLink(
  { deps }: Visit,
  { path }: RowsTable,
  { id }: Pick<Row, "id">,
): Part {
  return (
    deps.previews.includes("history") && (
      <>{renderLink("History", toHistoryPath(toRowPath(path, id)))} </>
    )
  );
}
