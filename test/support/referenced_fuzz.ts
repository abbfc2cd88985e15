/**
 * Compares random conditions on referenced rows, in lists, counts and groups, with an oracle: the client's own `matches()` over
 * rows that contain the rows of their references. Reads every page by cursor; rows are inserted between pages.
 *
 * @module
 */
import { createDataClient, DataError, matches } from "../../src/sdk/data.ts";
import { makeRandom } from "./query_fuzz.ts";
import {
  COLUMNS,
  compareBy,
  DRAW,
  drawOrder,
  fillApps,
  insert,
  type Random,
  REFERENCES,
  type Row,
  schema,
  type Table,
  type Tables,
} from "./related_fuzz.ts";
import type { TestService } from "./service.ts";

type Where = NonNullable<Parameters<typeof matches<object>>[1]>;
type Page = { rows: Row[]; next?: string | null; count?: number | null };
type AnyTable = {
  readonly list: (options: object) => Promise<Page>;
  readonly groups: (options: object) => Promise<{ count: number }[]>;
};

const UNCOMPARED = new Set(["id", "data", "code"]);
const PATTERNS = ["*", "*a*", "a*", "*\u00e9", ""];
const MAX_PAGES = 400;

export type Seen = { pages: number; queries: number; limited: number; found: number };

export async function fuzzReferenced(
  service: TestService,
  { seed, queries }: { seed: number; queries: number },
): Promise<Seen> {
  const random = makeRandom(seed);
  const { app, tables } = await fillApps(service, random);
  const client = createDataClient({ baseUrl: service.url, apiKey: app.key }) as unknown as Record<
    Table,
    AnyTable
  >;
  const seen: Seen = { pages: 0, queries: 0, limited: 0, found: 0 };
  for (let n = 0; n < queries; n++) {
    const table = random(4) === 0 ? "owners" : "items";
    const where = drawWhere(random, table, 2);
    const order = drawOrder(random, table);
    const at = `seed ${seed}, query ${n}: ${table} ${JSON.stringify({ where, order })}`;
    const isMatch = (row: Row) =>
      matches(expand(row, table, tables), where, schema.tables[table], schema.tables);
    const options = {
      where,
      orderBy: order.map(([column, isDescending]) => ({ [column]: isDescending ? "desc" : "asc" })),
      limit: 1 + random(30),
    };
    const expected = (tables[table] ?? []).filter(isMatch);
    const before = new Set((tables[table] ?? []).map(({ id }) => id));
    const hasInserts = n % 3 === 0;
    try {
      const found = await readAll(client[table], options, async (page) => {
        seen.pages++;
        if (!hasInserts || page > 3) return;
        await insert(service, app, { table: page === 1 ? "owners" : table, tables, random });
      });
      const all = new Map((tables[table] ?? []).map((row) => [row.id, row]));
      const rows = found.map(({ id }) => all.get(id) ?? fail(`${at}: ${id} is no row of the app`));
      const old = rows.filter(({ id }) => before.has(id));
      const sorted = expected.toSorted((a, b) => compareBy(order, a, b));
      if (!isSame(old, sorted))
        fail(`${at}: ${JSON.stringify(old)} instead of ${JSON.stringify(sorted)}`);
      if (!rows.every(isMatch)) fail(`${at}: a new row does not match`);
      if (new Set(rows).size < rows.length) fail(`${at}: a row is repeated`);
      const now = (tables[table] ?? []).filter(isMatch).length;
      const { count } = await client[table].list({ ...options, count: "exact" });
      const [group] = await client[table].groups({ where });
      if (count !== now || group?.count !== now)
        fail(`${at}: counts ${count} and ${group?.count} instead of ${now}`);
      seen.queries++;
      seen.found += rows.length;
    } catch (error) {
      const code = error instanceof DataError ? error.code : undefined;
      if (code !== "unsupported_query" && code !== "needs_index")
        throw new Error(at, { cause: error });
      seen.limited++;
    }
  }
  return seen;
}

async function readAll(
  table: AnyTable,
  options: object,
  onPage: (page: number) => Promise<void>,
): Promise<Row[]> {
  const rows: Row[] = [];
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { rows: more, next } = await table.list({ ...options, after });
    rows.push(...more);
    await onPage(page);
    if (typeof next !== "string") return rows;
    after = next;
  }
  throw new Error("The list has no end");
}

function fail(message: string): never {
  throw new Error(message);
}

function isSame(a: readonly Row[], b: readonly Row[]): boolean {
  return a.length === b.length && a.every(({ id }, index) => id === b[index]?.id);
}

/** The row with the rows of its references, two levels deep. */
function expand(row: Row, table: Table, tables: Tables, depth = 2): Row {
  const references = Object.entries(REFERENCES[table]).map(([column, target]) => {
    const found = (tables[target] ?? []).find(({ id }) => id === row[column]);
    if (found === undefined || depth === 0) return [column, null] as const;
    return [column, expand(found, target, tables, depth - 1)] as const;
  });
  return { ...row, ...Object.fromEntries(references) };
}

/** @param depth how many references can follow */
function drawWhere(random: Random, table: Table, depth: number, groups = 2): Where {
  const entries: [string, unknown][] = [];
  const names = COLUMNS[table].filter((name) => !UNCOMPARED.has(name));
  for (let n = 0; n <= random(2); n++) {
    const name = names[random(names.length)] ?? "label";
    const target = REFERENCES[table][name];
    const inner = () => drawWhere(random, table, depth, groups - 1);
    if (groups > 0 && random(5) === 0) entries.push(["or", [inner(), inner()]]);
    else if (groups > 0 && random(6) === 0) entries.push(["not", inner()]);
    else if (groups > 0 && random(8) === 0) entries.push(["and", [inner(), inner()]]);
    else if (target === undefined) entries.push([name, drawTest(random, name)]);
    else if (depth > 0) entries.push([name, drawWhere(random, target, depth - 1, groups - 1)]);
  }
  return entries.length === 0
    ? drawWhere(random, table, depth, groups)
    : Object.fromEntries(entries);
}

function drawTest(random: Random, name: string): unknown {
  const value = DRAW[name]?.(random) ?? null;
  if (value === null) return random(2) === 0 ? null : { not: { is: null } };
  const isText = name === "label" || name === "name";
  if (isText && random(4) === 0)
    return { [random(2) === 0 ? "like" : "ilike"]: PATTERNS[random(PATTERNS.length)] };
  if (random(5) === 0) return { in: [value, DRAW[name]?.(random) ?? value] };
  const ops = name === "flag" ? ["eq", "neq"] : ["eq", "eq", "neq", "lt", "lte", "gt", "gte"];
  const test = { [ops[random(ops.length)] ?? "eq"]: value };
  return random(4) === 0 ? { not: test } : test;
}
