/**
 * Copies the rows of a table to another database in batches, as texts: the output of each type is also its input, as in a
 * dump. Then compares the numbers of rows and digests of all values. Memory is bounded by a batch.
 *
 * @module
 */
import { quoteLiteral, quoteName } from "../../std/quote.ts";
import { type Database, SERVICE_QUEUE } from "../pool/mod.ts";

export type Copying = {
  /** With its schema. */
  table: string;
  columns: readonly CopiedColumn[];
  /** The names and types of the primary key, in the old table. */
  key: readonly { name: string; type: string }[];
  /** A condition for the rows of the old table. */
  only?: string | undefined;
  /** The app whose rows are copied: row security hides all others. */
  appId?: string | undefined;
};

export type CopiedColumn = {
  name: string;
  /** The type in the new table. */
  type: string;
  /** The value, from columns of the old table. */
  sql: string;
};

export type Summary = { rows: string; digest: string };

const BATCH_ROWS = 1000;
/** A batch can exceed this by one row. */
const BATCH_BYTES = 4_000_000;
/** Reading or comparing a very large table. */
const LIMIT_MS = 43_200_000;

/** Settings affect how values are printed. Only PostgreSQL's own functions and operators are found. */
const SETTINGS = `set local search_path = pg_catalog;
set local timezone = 'UTC';
set local datestyle = 'ISO';
set local intervalstyle = 'postgres';
set local bytea_output = 'hex';
set local extra_float_digits = 1;
set local jit = off;`;

type Page = { count: number; lines: string | null; last: string | null };

/** Copies all rows; `onRows` gets the number of rows of each batch. */
export async function copyRows(
  { source, target }: { source: Database; target: Database },
  copying: Copying,
  onRows: (count: number) => void = () => undefined,
): Promise<void> {
  const insert = renderInsert(copying);
  for (let after: readonly string[] | undefined; ; ) {
    const [page] = await source.message<Page>(renderPage(copying, after), { timeoutMs: LIMIT_MS });
    if (page === undefined || page.lines === null || page.last === null) return;
    await target.query(insert, [page.lines, copying.appId ?? ""], {
      retry: "unsafe",
      queue: SERVICE_QUEUE,
    });
    onRows(page.count);
    after = JSON.parse(page.last) as string[];
  }
}

/** The number of rows and a digest of their values: in the old database as they are copied. */
export async function summarize(
  database: Database,
  copying: Copying,
  side: "source" | "target",
): Promise<Summary> {
  const read = side === "source" ? copying : asCopied(copying);
  const [summary] = await database.message<Summary>(
    `${renderSettings(copying)}
select count(*)::text as rows, coalesce(sum(
  ('x' || left(encode(sha256(convert_to(line, 'UTF8')), 'hex'), 15))::bit(60)::bigint), 0)::text as digest
from (${renderRows(read)}) as copied`,
    { timeoutMs: LIMIT_MS },
  );
  if (summary === undefined) throw new Error("A count returned no row");
  return summary;
}

/** Reads the values of the new table. */
function asCopied(copying: Copying): Copying {
  const columns = copying.columns.map((column) => ({ ...column, sql: quoteName(column.name) }));
  return { ...copying, columns, only: undefined };
}

function renderSettings({ appId = "" }: Copying): string {
  return `${SETTINGS}
select set_config('rowhouse.app_id', ${quoteLiteral(appId)}, true);`;
}

function renderRows(copying: Copying): string {
  return `select ${renderLine(copying)} as line from ${copying.table} ${renderWhere(copying)}`;
}

function renderLine({ columns }: Copying): string {
  return toList(columns.map(({ sql }) => `(${sql})::text`));
}

/** Not json_build_array(), which accepts 100 values. */
function toList(texts: readonly string[]): string {
  return `array_to_json(array[${texts.join(", ")}])::text`;
}

function renderWhere({ appId, only }: Copying, ...more: string[]): string {
  const own = appId === undefined ? [] : [`app_id = ${quoteLiteral(appId)}::uuid`];
  const all = [...own, ...(only === undefined ? [] : [`(${only})`]), ...more];
  return all.length === 0 ? "" : `where ${all.join(" and ")}`;
}

/** The rows after a key. */
function renderPage(copying: Copying, after: readonly string[] | undefined): string {
  const { table, key } = copying;
  const names = key.map(({ name }) => quoteName(name)).join(", ");
  const values = key.map(({ type }, index) => `${quoteLiteral(after?.[index] ?? "")}::${type}`);
  const next = after === undefined ? [] : [`(${names}) > (${values.join(", ")})`];
  return `${renderSettings(copying)}
select count(*)::integer as count, '[' || string_agg(line, ',' order by ordinal) || ']' as lines,
  (array_agg(key order by ordinal desc))[1] as last
from (
  select *, sum(octet_length(line)) over (order by ordinal) - octet_length(line) as before
  from (
    select row_number() over (order by ${names}) as ordinal, ${renderLine(copying)} as line,
      ${toList(key.map(({ name }) => `${quoteName(name)}::text`))} as key
    from ${table} ${renderWhere(copying, ...next)}
    order by ${names} limit ${BATCH_ROWS}
  ) as page
) as measured
where before < ${BATCH_BYTES}`;
}

/** Values are cast from their texts. The app is set before the first row is checked by row security. */
function renderInsert({ table, columns }: Copying): string {
  return `with entered as materialized (
  select pg_catalog.set_config('rowhouse.app_id', $2::pg_catalog.text, true))
insert into ${table} (${columns.map(({ name }) => quoteName(name)).join(", ")})
overriding system value
select ${columns.map(({ type }, index) => `(listed.line operator(pg_catalog.->>) ${index})::${type}`).join(", ")}
from entered, pg_catalog.json_array_elements($1::pg_catalog.text::pg_catalog.json) as listed (line)`;
}
