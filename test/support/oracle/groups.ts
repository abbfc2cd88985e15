/** Groups of rows in memory, with sums in whole numbers. @module */
import { AGGREGATES, type Aggregate, isSorted, VALUES } from "../../../src/kinds/mod.ts";
import type { Json, NamedColumn, TableDefinition } from "../../../src/schema/mod.ts";
import { makeCompare } from "../../../src/sdk/matches.ts";
import { pick, type Random } from "../random.ts";
import type { Row } from "./rules.ts";

export type GroupQuery = { readonly by: readonly NamedColumn[] } & Readonly<
  Record<Aggregate, readonly NamedColumn[]>
>;
type Group = { readonly by: Readonly<Record<string, Json>>; readonly count: number } & Partial<
  Record<Aggregate, Readonly<Record<string, Json>>>
>;

/** PostgreSQL rounds an average to 16 or more digits. */
const AVERAGE_DIGITS = 15n;

export function drawGroups({ columns }: TableDefinition, random: Random): GroupQuery {
  const draw = (list: readonly NamedColumn[]) =>
    list.length === 0
      ? []
      : [...new Set(Array.from({ length: random(3) }, () => pick(random, list)))];
  const of = (aggregate: Aggregate) =>
    draw(columns.filter(({ kind }) => VALUES[kind].aggregates?.includes(aggregate)));
  const by = draw(columns.filter(({ kind }) => isSorted({ kind })));
  return { by, sum: of("sum"), avg: of("avg"), min: of("min"), max: of("max") };
}

export function toNames(query: GroupQuery): object {
  return Object.fromEntries(
    (["by", ...AGGREGATES] as const)
      .filter((name) => query[name].length > 0)
      .map((name) => [name, query[name].map((column) => column.name)]),
  );
}

type Found = { readonly rows: readonly Row[]; readonly key: readonly Json[] };

/** The groups in the order of a response. */
export function findGroups(rows: readonly Row[], { by }: GroupQuery): readonly Found[] {
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
  query: GroupQuery,
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
