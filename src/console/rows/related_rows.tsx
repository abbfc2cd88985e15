/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The rows related to a row: the labels of the rows that it references, and the first rows that reference it. The list endpoint
 * returns them with the row.
 *
 * @module
 */

import { MAX_RELATIONS } from "../../data/mod.ts";
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
import type { TableDefinition } from "../../schema/mod.ts";
import { isObject, tryParseJson } from "../../std/json.ts";
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
type RelatedRow = { readonly id: string; readonly label: string | undefined };
type ReferringRows = { readonly rows: readonly RelatedRow[]; readonly hasMore: boolean };

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
  const columns = new Set(table.definition.columns.map(({ name }) => name));
  return listReferrers(table).flatMap((found) => {
    const { name } = found.referrer;
    // A selection prefers the column.
    if (columns.has(name)) return [];
    const label = findLabelColumn(found.referrer);
    const text = `${name}!${found.column.name}(${["id", label?.name].filter((part) => part !== undefined).join(",")})`;
    return [{ name, text, target: found.referrer, referrer: found }];
  });
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
  const query = new URLSearchParams({
    ...{ id: `eq.${row.id}`, limit: "1", select: group.map(({ text }) => text).join(",") },
    ...Object.fromEntries(
      group
        .filter(({ referrer }) => referrer !== undefined)
        .map(({ name }) => [`${name}.limit`, `${MAX_LISTED}`]),
    ),
  });
  const text = await callRows(visit, { appId, path: `${table}?${query}` }).then(
    (response) => response.text,
    (error) => void toRejection(error),
  );
  const page = tryParseJson(text ?? "");
  const found = isObject(page) && Array.isArray(page["rows"]) ? page["rows"][0] : undefined;
  const labels = new Map<string, string>();
  const referring = new Map<Referrer["column"], ReferringRows>();
  for (const { name, target, referrer } of isObject(found) ? group : []) {
    const value = found[name];
    if (!isObject(value)) continue;
    const { rows, hasMore } = value;
    const toRow = (related: unknown) => toRelatedRow(target, related);
    if (referrer !== undefined && Array.isArray(rows))
      referring.set(referrer.column, { rows: rows.flatMap(toRow), hasMore: hasMore === true });
    else for (const { id, label } of toRow(value)) if (label !== undefined) labels.set(id, label);
  }
  return { labels, referring };
}

function toRelatedRow(definition: TableDefinition, related: unknown): RelatedRow[] {
  return isObject(related) && typeof related["id"] === "string"
    ? [{ id: related["id"], label: toLabel(definition, related) }]
    : [];
}

/** The rows that reference a row, by column. */
export function renderReferrers(table: RowsTable, row: Row, { referring }: RelatedRows): Part {
  const referrers = listReferrers(table);
  if (referrers.length === 0) return undefined;
  return (
    <div class="field referrers">
      <h2>Referenced by</h2>
      {referrers.map((found) => {
        const path = toRowsPath(table.slug, found.referrer.name);
        const first = referring.get(found.column);
        return renderRows({ ...found, path, id: row.id }, first);
      })}
    </div>
  );
}

type ReferrerList = Referrer & Readonly<Record<"path" | "id", string>>;

/** Without the first rows, which could not be read, it is a link to all of them. */
function renderRows({ referrer, column, path, id }: ReferrerList, first?: ReferringRows): Html {
  const { rows = [], hasMore = true } = first ?? {};
  const name = `${referrer.name}.${column.name}`;
  return (
    <section aria-label={`Rows of ${name}`}>
      <h3>
        <bdi>{name}</bdi>
      </h3>
      {rows.length === 0 ? (
        !hasMore && <p class="quiet">No rows</p>
      ) : (
        <ul>
          {rows.map((row) => (
            <li>
              <a href={toRowPath(path, row.id)} title={row.id}>
                {row.label === undefined ? (
                  <span class="mono">{shortenId(row.id)}</span>
                ) : (
                  <bdi>{row.label}</bdi>
                )}
              </a>
            </li>
          ))}
        </ul>
      )}
      {hasMore && (
        <a href={`${path}#where=${column.name}.eq.${id}`}>
          {rows.length > 0 && "And more: "}
          {rows.length > 0 ? "show" : "Show"} all rows of <bdi>{name}</bdi>
        </a>
      )}
    </section>
  );
}
