import { defineSchema, t } from "../../src/schema/mod.ts";
import type { TestApp, TestService } from "./service.ts";

export const SCHEMA = defineSchema({
  owners: { name: t.string() },
  items: {
    title: t.string().required(),
    tag: t.string().unique(),
    rank: t.integer(),
    size: t.number(),
    amount: t.decimal(),
    is_done: t.boolean(),
    moment: t.timestamp(),
    day: t.date(),
    meta: t.json(),
    color: t.enum(["red", "green"]),
    token: t.uuid(),
    owner: t.ref("owners", { onDelete: "cascade" }),
    helper: t.ref("owners", { onDelete: "set null" }),
    above: t.ref("items", { onDelete: "cascade" }),
    beside: t.ref("items", { onDelete: "set null" }),
    changed_at: t.timestamp().default("now").onUpdate("now"),
  },
});

/** Values as JSON text, so that no digit is lost. */
export const VALUES: Record<string, readonly string[]> = {
  title: ['"a"', '"b"', '""', '"\\u00e9 \\ud83d\\ude00"', '"null"', '"line\\nline"', '"\'\\"\\\\"'],
  tag: ["null", '"one"', '"two"', '"three"', '"four"'],
  rank: ["null", "0", "1", "2", "-9007199254740991", "9007199254740991"],
  size: [
    ...["null", "0", "-0", "0.1", "1e300", "1.7976931348623157e308", "5e-324"],
    ...["123456789012345680000"],
  ],
  amount: ["null", '"1.5"', '"1.50"', '"-0.00"', '"123456789012345678901234567890.000000000001"'],
  is_done: ["null", "true", "false"],
  moment: [
    "null",
    '"2026-01-02T03:04:05.123456Z"',
    '"0001-01-01T00:00:00Z"',
    '"9999-12-31T23:59:59.999999Z"',
  ],
  day: ["null", '"0001-01-01"', '"2026-02-28"', '"9999-12-31"'],
  meta: [
    "null",
    "{}",
    '"text"',
    "0",
    "[1,1.0,1.00]",
    "12345678901234567890",
    "12345678901234567891",
    '{"a":0.1000000000000000055}',
    '{"a":0.1000000000000000056}',
    '{"__proto__":1,"id":2,"":3}',
  ],
  color: ["null", '"red"', '"green"'],
  token: [
    "null",
    '"00000000-0000-0000-0000-000000000000"',
    '"0198c1f0-0000-7000-8000-00000000abcd"',
  ],
};
export const COLUMNS = [...Object.keys(VALUES), "owner", "helper", "above", "beside", "changed_at"];

export type Values = Readonly<Record<string, string | null>>;
export type Rows = ReadonlyMap<string, Values>;
export type Change = {
  id: number;
  table: string;
  row: string;
  before: Values;
  after: Values | null;
  at: string;
  keys: string[];
  caused: boolean;
};

type Place = { readonly service: TestService; readonly app: TestApp };

const read = async <Row extends Record<string, unknown>>(
  { service, app }: Place,
  sql: string,
  ...more: number[]
) =>
  await service.query<Row>(
    `with entered as materialized (select set_config('rowhouse.app_id', $1::text, true)) ${sql}`,
    [app.id, ...more],
  );

/** A column's value as text, in one notation for rows and for the history. */
const OF_ROW = (name: string) =>
  name === "meta"
    ? "meta::text"
    : name === "size"
      ? "nullif(size::text, '')"
      : name === "amount"
        ? "amount::text"
        : `to_jsonb(t.${name}) #>> '{}'`;
const OF_CHANGE = (record: string, name: string) =>
  name === "meta"
    ? `nullif((${record} -> 'meta')::text, 'null')`
    : name === "size"
      ? `${record} ->> 'size'`
      : `${record} ->> '${name}'`;
const toObject = (term: (name: string) => string) =>
  `json_build_object(${COLUMNS.map((name) => `'${name}', ${term(name)}`).join(", ")})`;

export async function readItems(place: Place): Promise<Rows> {
  const rows = await read<{ id: string; values: Values }>(
    place,
    `select t.id::text, ${toObject(OF_ROW)} as values from entered, data.items as t where t.app_id = $1::uuid order by t.id`,
  );
  return new Map(rows.map(({ id, values }) => [id, values]));
}
/** The recorded changes above an id, oldest first. */
export const readChanges = async (place: Place, above: number) =>
  await read<Change>(
    place,
    `select id::int, table_name as table, row_id::text as row, changed_at::text as at, ${toObject((name) => OF_CHANGE("before", name))} as before,
    case when after is not null then ${toObject((name) => OF_CHANGE("after", name))} end as after,
    coalesce((select json_agg(key) from jsonb_object_keys(after) as key), '[]') as keys,
    is_caused as caused
    from entered, rowhouse.row_changes where app_id = $1::uuid and id > $2::bigint and not is_created order by id`,
    above,
  );
