/**
 * Compares random lists with related rows with an oracle over the rows that were written, page by page by cursor. Rows are
 * inserted between pages. Another app has rows with the same values.
 *
 * @module
 */
import { defineSchema, type Json, t } from "../../src/schema/mod.ts";
import { makeRandom } from "./query_fuzz.ts";
import type { TestApp, TestService } from "./service.ts";

export const schema = defineSchema({
  groups: { name: t.string(), weight: t.decimal() },
  owners: t
    .model({
      group: t.ref("groups"),
      peer: t.ref("owners"),
      label: t.string(),
      at: t.timestamp(),
      rank: t.integer().required(),
    })
    .index("group", "label")
    .index("peer", "rank", "at"),
  items: t
    .model({
      owner: t.ref("owners"),
      other: t.ref("owners").required(),
      label: t.string(),
      at: t.timestamp(),
      day: t.date(),
      flag: t.boolean().required(),
      size: t.decimal(),
      code: t.uuid().required(),
      data: t.json(),
    })
    .index("owner", "label")
    .index("owner", "at")
    .index("owner", "flag", "at")
    .index("owner", "day", "label")
    .index("other", "code")
    .unique("other", "flag", "code"),
});

export type Row = { readonly [column: string]: Json } & { readonly id: string };
export type Tables = Record<string, Row[]>;
export type Random = (below: number) => number;
type Key = readonly [column: string, isDescending: boolean];
/** A selection: columns, and relations by the names of their members. */
type Asked = { readonly columns: readonly string[]; readonly related: readonly AskedRelation[] };
type AskedRelation = Asked & {
  readonly name: string;
  readonly table: string;
  readonly via: string;
  readonly children: { readonly limit: number; readonly order: readonly Key[] } | undefined;
};

const TEXTS = [null, "", "a", "B", "é", "\u{1f642}", "\uffee", 'say "x"', "a,b(c)", "\u{10400}"];
const TIMES = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z", "1999-12-31T23:59:59.5Z"];
export const DRAW: Readonly<Record<string, (random: Random) => Json>> = {
  label: (random) => TEXTS[random(TEXTS.length)] ?? null,
  name: (random) => TEXTS[random(TEXTS.length)] ?? null,
  at: (random) => TIMES[random(4)] ?? null,
  day: (random) => ["2026-01-01", "0001-01-01"][random(3)] ?? null,
  rank: (random) => random(3) - 1,
  flag: (random) => random(2) === 0,
  size: (random) => ["1.50", "12345678901234567890.1"][random(3)] ?? null,
  weight: (random) => ["0", "-1.0"][random(3)] ?? null,
  code: () => crypto.randomUUID(),
  data: (random) => [{ a: [1, null] }, "x"][random(3)] ?? null,
};
export const COLUMNS = {
  groups: ["id", "name", "weight"],
  owners: ["id", "group", "peer", "label", "at", "rank"],
  items: ["id", "owner", "other", "label", "at", "day", "flag", "size", "code", "data"],
} as const;
export type Table = keyof typeof COLUMNS;
export const REFERENCES: Readonly<Record<Table, Readonly<Record<string, Table>>>> = {
  groups: {},
  owners: { group: "groups", peer: "owners" },
  items: { owner: "owners", other: "owners" },
};
/** The orders of children that an index has. */
const ORDERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "owners.group": [[], ["label"]],
  "owners.peer": [[], ["rank", "at"]],
  "items.owner": [[], ["label"], ["at"], ["flag", "at"], ["day", "label"]],
  "items.other": [[], ["code"], ["flag", "code"]],
};
/** The columns of an order that can be null after its first column: no index has them in descending order. */
const ONLY_ASCENDING = [
  ["rank", "at"],
  ["flag", "at"],
  ["day", "label"],
].map(String);

/** An app with rows, and another with rows of the same values. */
export async function fillApps(
  service: TestService,
  random: Random,
): Promise<{ app: TestApp; tables: Tables }> {
  const [app, other] = [await service.makeApp(schema), await service.makeApp(schema)];
  const tables: Tables = { groups: [], owners: [], items: [] };
  for (const [table, rows] of [
    ["groups", 5],
    ["owners", 25],
    ["items", 150],
  ] as const)
    for (let n = 0; n < rows; n++) await insert(service, app, { table, tables, random });
  const others: Tables = { groups: [], owners: [], items: [] };
  for (const [table, rows] of [
    ["groups", 3],
    ["owners", 5],
    ["items", 20],
  ] as const)
    for (let n = 0; n < rows; n++) await insert(service, other, { table, tables: others, random });
  return { app, tables };
}

export async function fuzzRelated(
  service: TestService,
  { seed, queries }: { seed: number; queries: number },
): Promise<{ pages: number; unchanged: number }> {
  const random = makeRandom(seed);
  const { app, tables } = await fillApps(service, random);
  const count = { pages: 0, unchanged: 0 };
  for (let n = 0; n < queries; n++) {
    const table = (["groups", "owners", "items"] as const)[random(3)] ?? "items";
    const asked = drawSelection(random, table, 0);
    const order = drawOrder(random, table);
    const limit = 1 + random(6);
    const select = new URLSearchParams({
      select: toText(asked),
      limit: `${limit}`,
      ...(order.length === 0 ? {} : { order: order.map(toKey).join(",") }),
      ...Object.fromEntries(listOptions(asked)),
    });
    let after = "";
    // The first row of the page: a cursor names it, so rows that are inserted before it are not on the page.
    let first: string | undefined;
    for (let page = 0; page < 200; page++) {
      const path = `/v1/data/db/${table}?${select}${after}`;
      const found = await service.call(app, path);
      const at = `seed ${seed}, query ${n}: ${path}`;
      if (found.status !== 200) throw new Error(`${at}: ${found.status} ${found.text}`);
      const { rows, next } = found.json as { rows: Row[]; next: string | null };
      const sorted = (tables[table] ?? []).toSorted((a, b) => compareBy(order, a, b));
      const from = first === undefined ? 0 : sorted.findIndex(({ id }) => id === first);
      const expected = sorted.slice(from, from + limit);
      const wanted = expected.map((row) => toMember(row, asked, tables));
      if (JSON.stringify(sortKeys(rows)) !== JSON.stringify(sortKeys(wanted)))
        throw new Error(
          `${at}: ${JSON.stringify(sortKeys(rows))} instead of ${JSON.stringify(sortKeys(wanted))}`,
        );
      count.pages++;
      const headers = { "if-none-match": found.headers.get("etag") ?? "" };
      if ((await service.call(app, path, { headers })).status !== 304)
        throw new Error(`${at}: changed`);
      count.unchanged++;
      first = sorted[from + limit]?.id;
      if (n % 4 === 0 && page < 3)
        await insert(service, app, { table: page === 1 ? "owners" : "items", tables, random });
      if ((next === null) !== (first === undefined)) throw new Error(`${at}: ${next}`);
      if (next === null) break;
      after = `&after=${next}`;
    }
  }
  return count;
}

export async function insert(
  service: TestService,
  app: TestApp,
  { table, tables, random }: { table: Table; tables: Tables; random: Random },
): Promise<void> {
  const json = Object.fromEntries(
    COLUMNS[table].slice(1).map((column): [string, Json] => {
      const target = REFERENCES[table][column];
      if (target === undefined) return [column, DRAW[column]?.(random) ?? null];
      const rows = tables[target] ?? [];
      const isNull = column !== "other" && random(4) === 0;
      // Half of the references are to few rows.
      return [
        column,
        isNull ? null : (rows[random(random(2) === 0 ? 3 : rows.length)]?.id ?? null),
      ];
    }),
  );
  const {
    status,
    json: row,
    text,
  } = await service.call(app, `/v1/data/db/${table}`, { method: "POST", json });
  if (status !== 201) throw new Error(text);
  tables[table]?.push(row as Row);
}

function drawSelection(random: Random, table: Table, depth: number): Asked {
  const relations = [
    ...Object.entries(REFERENCES[table]).map(([name, target]) => ({
      ...{ name, table: target, via: name, isChild: false },
    })),
    ...Object.entries(REFERENCES).flatMap(([child, references]) =>
      Object.entries(references)
        .filter(([, target]) => target === table)
        .map(([via]) => ({ name: child, table: child as Table, via, isChild: true })),
    ),
  ].filter(() => depth < 2 && random(2 + depth) === 0);
  const names = new Set<string>();
  const chosen = relations
    .filter(({ name }) => !names.has(name) && names.add(name))
    .slice(0, 3)
    .map(
      ({ isChild, ...relation }): AskedRelation => ({
        ...relation,
        ...drawSelection(random, relation.table, depth + 1),
        children: isChild ? drawChildren(random, relation.table, relation.via) : undefined,
      }),
    );
  const columns = COLUMNS[table].filter((name) => !names.has(name) && random(3) > 0);
  return { columns: columns.length + chosen.length === 0 ? ["id"] : columns, related: chosen };
}

function drawChildren(random: Random, table: Table, via: string) {
  const orders = ORDERS[`${table}.${via}`] ?? [[]];
  const columns = orders[random(orders.length)] ?? [];
  const isDescending = random(2) === 0 && !ONLY_ASCENDING.includes(`${columns}`);
  const keys = columns.length === 0 && isDescending ? ["id"] : columns;
  return { limit: random(5), order: keys.map((column): Key => [column, isDescending]) };
}

export function drawOrder(random: Random, table: Table): Key[] {
  const names = COLUMNS[table].filter((name) => name !== "data" && !(name in REFERENCES[table]));
  return random(2) === 0
    ? []
    : names
        .filter(() => random(4) === 0)
        .slice(0, 2)
        .map((name): Key => [name, random(2) === 0]);
}

function toText({ columns, related }: Asked): string {
  return [
    ...columns,
    ...related.map((relation) => {
      const { name, via } = relation;
      const isOnly = Object.keys(REFERENCES[relation.table as Table]).length === 1;
      const by = relation.children === undefined || isOnly ? "" : `!${via}`;
      return `${name}${by}(${toText(relation)})`;
    }),
  ].join(",");
}

function listOptions({ related }: Asked, parent = ""): [string, string][] {
  return related.flatMap((relation): [string, string][] => {
    const path = `${parent}${relation.name}`;
    const { children } = relation;
    const own: [string, string][] =
      children === undefined
        ? []
        : [
            [`${path}.limit`, `${children.limit}`],
            ...(children.order.length === 0
              ? []
              : [[`${path}.order`, children.order.map(toKey).join(",")] as [string, string]]),
          ];
    return [...own, ...listOptions(relation, `${path}.`)];
  });
}

function toKey([column, isDescending]: Key): string {
  return `${column}${isDescending ? ".desc" : ""}`;
}

function toMember(row: Row, { columns, related }: Asked, tables: Tables): Json {
  const own = columns.map((column): [string, Json] => [column, row[column] ?? null]);
  const members = related.map((relation): [string, Json] => {
    const { name, table, via, children } = relation;
    const rows = tables[table] ?? [];
    if (children === undefined) {
      const target = rows.find(({ id }) => id === row[via]);
      return [name, target === undefined ? null : toMember(target, relation, tables)];
    }
    const all = rows
      .filter((child) => child[via] === row.id)
      .sort((a, b) => compareBy(children.order, a, b));
    const listed = all.slice(0, children.limit).map((child) => toMember(child, relation, tables));
    return [name, { rows: listed, hasMore: all.length > children.limit }];
  });
  return Object.fromEntries([...own, ...members]);
}

/** Nulls last, then by the id in the direction of the last key. */
export function compareBy(order: readonly Key[], a: Row, b: Row): number {
  const end: Key = ["id", order.at(-1)?.[1] ?? false];
  for (const [column, isDescending] of [...order, end]) {
    const [left = null, right = null] = [a[column], b[column]];
    if (left === null && right === null) continue;
    if (left === null) return 1;
    if (right === null) return -1;
    const way = compareValues(column, left, right);
    if (way !== 0) return isDescending ? -way : way;
  }
  return 0;
}

function compareValues(column: string, left: Json, right: Json): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (column === "size" || column === "weight") return Number(left) - Number(right);
  return Buffer.compare(Buffer.from(`${left}`), Buffer.from(`${right}`));
}

/** With the members of objects in one order. */
function sortKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([key, of]): [string, Json] => [key, sortKeys(of)]);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
