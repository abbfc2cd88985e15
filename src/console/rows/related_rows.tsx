/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The rows related to a row: the labels of the rows that it references, and the first rows that reference it. The list endpoint
 * returns them with the row.
 *
 * @module
 */

import { MAX_RELATIONS } from "../../data/mod.ts";
import { FIELDS, shortenId } from "../../kinds/mod.ts";
import {
  findLabelColumn,
  type Html,
  type Labels,
  type Part,
  type Row,
  readRow,
  renderCell,
  toLabel,
  toRowPath,
} from "../../pages/mod.ts";
import type { NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { inDigits } from "../../std/count.ts";
import { isObject, tryParseJson } from "../../std/json.ts";
import { splitList, splitObject } from "../../std/json_text.ts";
import { mapBounded } from "../../std/map_bounded.ts";
import type { Visit } from "../enter.tsx";
import { toRowsPath } from "../paths.ts";
import { callRows, toRejection } from "./call.ts";
import { findTable, listReferrers } from "./related.ts";
import type { RowsTable } from "./table.tsx";

/** Max rows of each list. */
const MAX_LISTED = 10;
/** Max concurrent lists. */
const MAX_CALLS = 4;

type Referrer = ReturnType<typeof listReferrers>[number];
type ReferringRows = {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  /** The number of all rows, if it is known. */
  readonly count?: number | undefined;
};

export type RelatedRows = {
  /** The labels of referenced rows. */
  readonly labels: Labels;
  /** The first rows of each referring column. A list that could not be read is absent. */
  readonly referring: ReadonlyMap<Referrer["column"], ReferringRows>;
};

/** A reference of the row, or a column that references it, as a part of a selection. */
type Relation = {
  /** The member of the row in the response. */
  readonly name: string;
  readonly text: string;
  readonly target: TableDefinition;
  readonly referrer?: Referrer;
};

export async function readRelatedRows(
  visit: Visit,
  table: RowsTable,
  row: Row,
): Promise<RelatedRows> {
  const groups = groupRelations([...listReferences(table, row), ...listChildren(table)]);
  const found = await mapBounded(groups, MAX_CALLS, (group) =>
    readGroup(visit, table, { row, group }),
  );
  return {
    labels: new Map(found.flatMap(({ labels }) => [...labels])),
    referring: new Map(found.flatMap(({ referring }) => [...referring])),
  };
}

function listReferences(table: RowsTable, row: Row): Relation[] {
  return table.definition.columns.flatMap(({ name, table: of }) => {
    const target = of !== undefined && row[name] !== null ? findTable(table, of) : undefined;
    const label = target && findLabelColumn(target);
    return target === undefined || label === undefined
      ? []
      : [{ name, target, text: `${name}(id,${label.name})` }];
  });
}

function listChildren(table: RowsTable): Relation[] {
  const names = new Set(table.definition.columns.map(({ name }) => name));
  return listReferrers(table).flatMap((found) => {
    const { name } = found.referrer;
    // A selection prefers the column.
    if (names.has(name)) return [];
    const shown = listShown(found).map((column) => column.name);
    const text = `${name}!${found.column.name}(${["id", ...shown].join(",")})`;
    return [{ name, text, target: found.referrer, referrer: found }];
  });
}

/** Too large, or only an id. */
const UNSHOWN: readonly string[] = ["json", "reference"];

/** The label of a referring row, and the first other value. */
function listShown({ referrer, column }: Referrer): NamedColumn[] {
  const label = findLabelColumn(referrer);
  const other = referrer.columns.find(
    (candidate) =>
      candidate !== label &&
      candidate !== column &&
      !UNSHOWN.includes(FIELDS[candidate.kind].control),
  );
  return [label, other].filter((shown) => shown !== undefined);
}

/** A selection has a limited number of relations, each with its own name. Few selections: those with the most equal names first. */
function groupRelations(relations: readonly Relation[]): Relation[][] {
  const groups: Relation[][] = [];
  const same = Map.groupBy(relations, ({ name }) => name);
  for (const relation of [...same.values()].toSorted((a, b) => b.length - a.length).flat()) {
    const free = groups.find(
      (group) => group.length < MAX_RELATIONS && group.every(({ name }) => name !== relation.name),
    );
    if (free === undefined) groups.push([relation]);
    else free.push(relation);
  }
  return groups;
}

type Group = { readonly row: Row; readonly group: readonly Relation[] };

/** Nothing if the endpoint rejects the list, such as while an index is built, or because a text is too long. */
async function readGroup(
  visit: Visit,
  { appId, table }: RowsTable,
  { row, group }: Group,
): Promise<RelatedRows> {
  const children = group.flatMap(({ name, referrer }) => (referrer === undefined ? [] : [name]));
  const query = new URLSearchParams({
    ...{ id: `eq.${row.id}`, limit: "1", select: group.map(({ text }) => text).join(",") },
    // The newest first.
    ...Object.fromEntries(
      children.flatMap((name) => [
        [`${name}.limit`, `${MAX_LISTED}`],
        [`${name}.order`, "id.desc"],
      ]),
    ),
  });
  const text = await callRows(visit, { appId, path: `${table}?${query}` }).then(
    (response) => response.text,
    (error) => void toRejection(error),
  );
  const [first = "{}"] = splitList(splitObject(text ?? "{}").get("rows") ?? "[]");
  const members = splitObject(first);
  const labels = new Map<string, string>();
  const referring = new Map<Referrer["column"], ReferringRows>();
  for (const { name, target, referrer } of group) {
    const member = members.get(name) ?? "null";
    if (member === "null") continue;
    if (referrer !== undefined) {
      referring.set(referrer.column, await readReferring(visit, { appId, referrer, row, member }));
      continue;
    }
    const related = readRow(member);
    const label = toLabel(target, related);
    if (label !== undefined) labels.set(related.id, label);
  }
  return { labels, referring };
}

type Member = { appId: string; referrer: Referrer; row: Row; member: string };

async function readReferring(
  visit: Visit,
  { appId, referrer: { referrer, column }, row, member }: Member,
): Promise<ReferringRows> {
  const list = splitObject(member);
  const rows = splitList(list.get("rows") ?? "[]").map(readRow);
  if (list.get("hasMore") !== "true") return { rows, hasMore: false };
  const query = new URLSearchParams({ [column.name]: `eq.${row.id}`, limit: "1", select: "id" });
  const headers = { prefer: "count=exact" };
  // Without the count, the link says "all".
  const body = await callRows(visit, { appId, path: `${referrer.name}?${query}`, headers }).then(
    ({ text }) => tryParseJson(text),
    (error) => void toRejection(error),
  );
  const count = isObject(body) ? body["count"] : undefined;
  return { rows, hasMore: true, count: typeof count === "number" ? count : undefined };
}

/** The rows that reference a row, by column. */
export function renderReferrers(table: RowsTable, row: Row, { referring }: RelatedRows): Part {
  const referrers = listReferrers(table);
  if (referrers.length === 0) return undefined;
  return (
    <div class="field referrers">
      <h2>Referenced by</h2>
      {referrers.map((found) =>
        renderReferring(found, { table, id: row.id, ...referring.get(found.column) }),
      )}
    </div>
  );
}

/** Without the first rows, which could not be read, it is a link to all of them. */
function renderReferring(
  found: Referrer,
  {
    table,
    id,
    rows = [],
    hasMore = true,
    count,
  }: Partial<ReferringRows> & { table: RowsTable; id: string },
): Html {
  const { referrer, column } = found;
  const name = `${referrer.name}.${column.name}`;
  const path = toRowsPath(table.slug, referrer.name);
  const label = findLabelColumn(referrer);
  const columns = listShown(found);
  const others = columns.filter((shown) => shown !== label);
  const all = count === undefined ? "rows" : inDigits(count);
  return (
    <section aria-label={`Rows of ${name}`}>
      <h3>
        <bdi>{name}</bdi>
      </h3>
      {rows.length === 0 && !hasMore && <p class="quiet">No rows</p>}
      {rows.length > 0 && (
        <table class="referring" aria-label={`Newest rows of ${name}`}>
          <thead>
            <tr>
              <th scope="col">{label?.name ?? "id"}</th>
              {others.map((other) => (
                <th scope="col">{other.name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((referring) => (
              <tr>
                <td>
                  <a href={toRowPath(path, referring.id)} title={referring.id} data-row-link>
                    {renderName(toLabel(referrer, referring), referring.id)}
                  </a>
                </td>
                {others.map((other) => renderCell(other, referring, { tables: table.tables }))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {hasMore && (
        <a href={`${path}#where=${column.name}.eq.${id}`}>
          All {all} of <bdi>{name}</bdi>
        </a>
      )}
    </section>
  );
}

/** The label of a row, or its id. */
function renderName(label: string | undefined, id: string): Html {
  return label === undefined ? <span class="mono">{shortenId(id)}</span> : <bdi>{label}</bdi>;
}
