/**
 * Compares random counts and groups on random schemas and rows with an oracle: the client's own `matches()`, and sums in whole
 * numbers. Another app has rows with the same values.
 *
 * @module
 */

import { AGGREGATES, type Aggregate, VALUES } from "../../src/kinds/mod.ts";
import type { Json, NamedColumn, TableDefinition } from "../../src/schema/mod.ts";
import { createDataClient, DataError } from "../../src/sdk/data.ts";
import { makeCompare, matches } from "../../src/sdk/matches.ts";
import { MAX_GROUPS } from "../../src/std/limits.ts";
import { drawQuery, drawTable, fill, makeRandom, pick, type Row, toKinds } from "./query_fuzz.ts";
import type { TestService } from "./service.ts";

export type GroupsFuzzOptions = {
  readonly seed: number;
  readonly schemas: number;
  /** Requests of groups, and as many counts, per schema. */
  readonly queries: number;
  /** Rows per app. */
  readonly rows: number;
};

export type GroupsFuzzOutcome = {
  groupings: number;
  groups: number;
  counts: number;
  /** Requests that exceeded a limit. */
  rejected: number;
  uncounted: number;
};

type Random = ReturnType<typeof makeRandom>;
type Query = { readonly where: object; readonly by: readonly NamedColumn[] } & Readonly<
  Record<Aggregate, readonly NamedColumn[]>
>;
type Group = { readonly by: Readonly<Record<string, Json>>; readonly count: number } & Partial<
  Record<Aggregate, Readonly<Record<string, Json>>>
>;

/** Codes of requests that exceed a limit. */
const REJECTED = ["needs_index", "too_many_groups"];
/** PostgreSQL rounds an average to 16 or more digits. */
const AVERAGE_DIGITS = 15n;

/** @throws {Error} a count or a group differs from the oracle's; with the request */
export async function fuzzGroups(
  service: TestService,
  { seed, schemas, queries, rows }: GroupsFuzzOptions,
): Promise<GroupsFuzzOutcome> {
  const random = makeRandom(seed);
  const outcome = { groupings: 0, groups: 0, counts: 0, rejected: 0, uncounted: 0 };
  for (let schema = 0; schema < schemas; schema++) {
    const table = drawTable(random, `groups_${seed}_${schema}`);
    const state = random(2 ** 31);
    await fill(service, { table, rows, random: makeRandom(state) });
    const app = await fill(service, { table, rows, random: makeRandom(state) });
    const client = createDataClient<Record<string, { row: Row; insert: object; update: object }>>({
      baseUrl: service.url,
      apiKey: app.key,
    });
    const list = client[table.name];
    if (list === undefined) throw new Error("The client has no such table");
    const all: Row[] = [];
    for await (const row of list.all()) all.push(row);
    const ids = all.map(({ id }) => id);
    for (let asked = 0; asked < queries; asked++) {
      const query = drawGroups(table, ids, random);
      const matching = all.filter((row) => matches(row, query.where, toKinds(table)));
      const described = JSON.stringify({ table, query });
      const options = { ...toNames(query), where: query.where };
      try {
        const groups = (await list.groups(options as object)) as unknown as readonly Group[];
        outcome.groupings++;
        outcome.groups += groups.length;
        const wrong = compareGroups(groups, findGroups(matching, query), query);
        if (wrong !== undefined) throw new Error(`${wrong}: ${described}`);
      } catch (error) {
        if (!(error instanceof DataError) || !REJECTED.includes(error.code))
          throw error instanceof DataError ? new Error(described, { cause: error }) : error;
        outcome.rejected++;
        const isMany = findGroups(matching, query).length > MAX_GROUPS;
        if (error.code === "too_many_groups" && !isMany)
          throw new Error(`There are not too many groups: ${described}`, { cause: error });
      }
      const count = pick(random, ["exact", "estimated"] as const);
      const page = await list.list({ where: query.where, count, limit: 1 } as object);
      if (page.count === undefined) throw new Error(`The page has no count: ${described}`);
      if (page.count === null) outcome.uncounted++;
      else outcome.counts++;
      if (page.count !== null && page.count !== matching.length)
        throw new Error(`Counted ${page.count} rows, expected ${matching.length}: ${described}`);
    }
  }
  return outcome;
}

export function drawGroups(table: TableDefinition, ids: readonly string[], random: Random): Query {
  const { columns } = table;
  const groupable = columns.filter(({ kind }) => VALUES[kind].operators.length > 0);
  const draw = (list: readonly NamedColumn[], max: number) =>
    list.length === 0
      ? []
      : [...new Set(Array.from({ length: random(max + 1) }, () => pick(random, list)))];
  const computed = (aggregate: Aggregate) =>
    draw(
      columns.filter(({ kind }) => VALUES[kind].aggregates?.includes(aggregate)),
      2,
    );
  return {
    where: random(4) === 0 ? {} : drawQuery(table, ids, random).where,
    by: draw(groupable, 2),
    sum: computed("sum"),
    avg: computed("avg"),
    min: computed("min"),
    max: computed("max"),
  };
}

export function toNames(query: Query): object {
  return Object.fromEntries(
    (["by", ...AGGREGATES] as const)
      .filter((name) => query[name].length > 0)
      .map((name) => [name, query[name].map((column) => column.name)]),
  );
}

type Found = { readonly rows: readonly Row[]; readonly key: readonly Json[] };

/** The groups in the order of a response. */
export function findGroups(rows: readonly Row[], { by }: Query): readonly Found[] {
  if (by.length === 0) return [{ rows, key: [] }];
  const compare = (a: Row, b: Row) =>
    by
      .map((column) => compareCells(column, a[column.name] ?? null, b[column.name] ?? null))
      .find((difference) => difference !== 0) ?? 0;
  const groups: Row[][] = [];
  for (const row of rows.toSorted(compare)) {
    const last = groups.at(-1);
    if (last?.[0] !== undefined && compare(last[0], row) === 0) last.push(row);
    else groups.push([row]);
  }
  return groups.map((group) => ({
    rows: group,
    key: by.map(({ name, kind }) => {
      const values = group.map((row) => row[name] ?? null);
      return kind === "decimal" ? longest(values) : (values[0] ?? null);
    }),
  }));
}

/** Equal decimals are shown with the most digits. */
function longest(values: readonly Json[]): Json {
  return values.reduce((a, b) => (`${b}`.length > `${a}`.length ? b : a), values[0] ?? null);
}

function compareCells(column: NamedColumn, a: Json, b: Json): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return makeCompare(column)(a as string, b as string);
}

export function compareGroups(
  groups: readonly Group[],
  wanted: readonly Found[],
  query: Query,
): string | undefined {
  if (groups.length !== wanted.length)
    return `Found ${groups.length} groups instead of ${wanted.length}`;
  for (const [index, { rows, key }] of wanted.entries()) {
    const group = groups[index];
    if (group === undefined) return "A group is missing";
    const keys = query.by.map(({ name }) => group.by[name]);
    if (JSON.stringify(keys) !== JSON.stringify(key.map(toShown)))
      return `A group has the values ${JSON.stringify(keys)} instead of ${JSON.stringify(key)}`;
    if (group.count !== rows.length)
      return `A group has ${group.count} rows instead of ${rows.length}`;
    for (const aggregate of AGGREGATES)
      for (const column of query[aggregate]) {
        const value = group[aggregate]?.[column.name];
        const values = rows.map((row) => row[column.name] ?? null).filter((cell) => cell !== null);
        const wrong = checkValue(aggregate, column, { value, values });
        if (wrong !== undefined)
          return `${aggregate} of ${column.name} is ${JSON.stringify(value)}, expected ${wrong} of ${JSON.stringify(values)}`;
      }
  }
  return undefined;
}

const toShown = (value: Json) => (Object.is(value, -0) ? 0 : value);

/** What was expected, if the value differs. */
function checkValue(
  aggregate: Aggregate,
  column: NamedColumn,
  { value, values }: { value: Json | undefined; values: readonly Json[] },
): string | undefined {
  if (values.length === 0) return value === null ? undefined : "null";
  if (aggregate === "min" || aggregate === "max") {
    const sorted = values.toSorted((a, b) => compareCells(column, a, b));
    const end = sorted.at(aggregate === "min" ? 0 : -1) ?? null;
    const equal = sorted.filter((other) => compareCells(column, other, end) === 0);
    const wanted = toShown(column.kind === "decimal" ? longest(equal) : end);
    return value === wanted ? undefined : JSON.stringify(wanted);
  }
  if (typeof value !== "string") return "a text";
  const scale = Math.max(...[...values, value].map(scaleOf));
  const sum = values.reduce<bigint>((total, other) => total + toWhole(other, scale), 0n);
  const read = toWhole(value, scale);
  if (aggregate === "sum") {
    const digits = column.kind === "decimal" ? Math.max(...values.map(scaleOf)) : undefined;
    if (digits !== undefined && digits !== scaleOf(value)) return `${digits} digits`;
    if (digits === undefined && value !== value.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""))
      return "no zeros at the end";
    return read === sum ? undefined : `${sum}e-${scale}`;
  }
  const error = abs(read * BigInt(values.length) - sum);
  return error * 2n * 10n ** AVERAGE_DIGITS <= abs(sum) ? undefined : `${sum}e-${scale} ÷ count`;
}

const abs = (value: bigint) => (value < 0n ? -value : value);

/** A number as digits with an exponent. */
function splitNumber(value: Json): { digits: string; exponent: number } {
  const [digits = "", exponent = "0"] = `${value}`.split("e");
  const [whole = "", fraction = ""] = digits.split(".");
  return { digits: whole + fraction, exponent: Number(exponent) - fraction.length };
}

function scaleOf(value: Json): number {
  return Math.max(0, -splitNumber(value).exponent);
}

function toWhole(value: Json, scale: number): bigint {
  const { digits, exponent } = splitNumber(value);
  return BigInt(digits) * 10n ** BigInt(exponent + scale);
}
