/**
 * The service's own rows of a database of another baseline: which tables and columns this release has, which it computes, and
 * which no one declared (`differences.ts`).
 *
 * @module
 */
import { quoteLiteral, quoteName } from "../../std/quote.ts";
import { type Database, readRows, readValue } from "../pool/mod.ts";
import { type CopiedColumn, type Copying, copyRows } from "./copy.ts";
import { ACTION, DIFFERENCES, NOT_MOVED } from "./differences.ts";

export type MovedDatabases = { source: Database; target: Database };

export type ServicePlan = {
  copyings: readonly Copying[];
  /** Tables and columns with values that nothing declares. */
  issues: readonly string[];
  /** Rows that stay in the old database, and why. */
  leftBehind: readonly string[];
};

type Column = {
  table: string;
  name: string;
  type: string;
  isGenerated: boolean;
  hasValue: boolean;
};
type Key = { table: string; name: string; type: string };
type Shape = {
  columns: Column[];
  keys: Key[];
  references: { child: string; parent: string }[];
  /** Tables whose rows only their app sees. */
  perApp: string[];
};

const SHAPE = `with tables as (
  select oid, relname, relforcerowsecurity from pg_catalog.pg_class
  where relnamespace = pg_catalog.to_regnamespace('rowhouse') and relkind in ('r', 'p'))
select pg_catalog.json_build_object(
  'columns', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'table', relname, 'name', attname, 'type', pg_catalog.format_type(atttypid, atttypmod),
      'isGenerated', attgenerated <> '',
      'hasValue', not attnotnull or atthasdef or attidentity <> '') order by relname, attnum), '[]')
    from tables join pg_catalog.pg_attribute on attrelid = tables.oid and attnum > 0 and not attisdropped),
  'keys', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'table', relname, 'name', attname, 'type', pg_catalog.format_type(atttypid, atttypmod)) order by relname, ordinal), '[]')
    from tables join pg_catalog.pg_constraint on conrelid = tables.oid and contype = 'p'
    cross join lateral pg_catalog.unnest(conkey) with ordinality as listed (number, ordinal)
    join pg_catalog.pg_attribute on attrelid = tables.oid and attnum = listed.number),
  'references', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('child', tables.relname, 'parent', parents.relname)), '[]')
    from tables join pg_catalog.pg_constraint on conrelid = tables.oid and contype = 'f'
    join tables as parents on parents.oid = confrelid and parents.oid <> tables.oid),
  'perApp', (select coalesce(pg_catalog.json_agg(relname), '[]') from tables where relforcerowsecurity)) as shape`;

async function readShape(database: Database): Promise<Shape> {
  return await readValue<Shape>(database, SHAPE);
}

/** Compares the tables of both databases. Reads rows of apps only. */
export async function planServiceRows({ source, target }: MovedDatabases): Promise<ServicePlan> {
  const [old, next] = await Promise.all([readShape(source), readShape(target)]);
  const apps = await readRows<{ id: string }>(
    source,
    "select id::pg_catalog.text from rowhouse.apps order by 1",
  );
  const tables = orderByReferences(
    [...new Set(next.columns.map(({ table }) => table))].filter((table) => !(table in NOT_MOVED)),
    next.references,
  );
  const found = new Set(old.columns.map(({ table }) => table));
  const planned = tables
    .filter((table) => found.has(table))
    .map((table) => planTable(table, old, next));
  const actions = await findUnknownActions({ source, target });
  const unknown = [...found].filter((table) => !(table in NOT_MOVED) && !tables.includes(table));
  return {
    leftBehind: [
      ...(await describeRejected(source, planned)),
      ...Object.entries(NOT_MOVED)
        .filter(([table]) => found.has(table))
        .map(([table, reason]) => `rowhouse.${table}: ${reason}`),
    ],
    issues: [
      ...unknown.map((table) => `Table rowhouse.${table} is not in this release`),
      ...planned.flatMap(({ issues }) => issues),
      ...actions.map((action) => `Action ${action} of the audit log is not in this release`),
    ],
    copyings: planned.flatMap(({ copying, isPerApp }) =>
      isPerApp ? apps.map(({ id }) => ({ ...copying, appId: id })) : [copying],
    ),
  };
}

/** The audit log accepts only declared actions. */
async function findUnknownActions({ source, target }: MovedDatabases): Promise<string[]> {
  const read = (database: Database, text: string) => readRows<{ name: string }>(database, text);
  const used = await read(source, `select distinct ${ACTION} as name from rowhouse.audit`);
  const declared = await read(target, "select name from rowhouse.audit_actions");
  const names = new Set(declared.map(({ name }) => name));
  return used.flatMap(({ name }) => (names.has(name) ? [] : [name]));
}

async function describeRejected(
  source: Database,
  planned: readonly { copying: Copying }[],
): Promise<string[]> {
  const lines: string[] = [];
  for (const { copying } of planned) {
    const { table, only } = copying;
    if (only === undefined) continue;
    const rows = await readValue<number>(
      source,
      `select pg_catalog.count(*)::pg_catalog.int4 as rows from ${table} where (${only}) is not true`,
    );
    if (rows > 0) lines.push(`rows of ${table} that this release would not store: ${rows}`);
  }
  return lines;
}

function planTable(
  table: string,
  old: Shape,
  next: Shape,
): { copying: Copying; issues: string[]; isPerApp: boolean } {
  const { computed = {}, only } = DIFFERENCES[table] ?? {};
  const of = ({ columns }: Shape) => columns.filter((column) => column.table === table);
  const found = new Set(of(old).map(({ name }) => name));
  const applied = Object.entries(computed).filter(([, { from }]) =>
    from.every((name) => found.has(name)),
  );
  const sources = new Map<string, string>([
    ...of(old).map(({ name }): [string, string] => [name, quoteName(name)]),
    ...applied.map(([name, { sql }]): [string, string] => [name, sql]),
  ]);
  const wanted = of(next).filter(({ isGenerated }) => !isGenerated);
  const columns = wanted.flatMap(({ name, type }): CopiedColumn[] => {
    const sql = sources.get(name);
    return sql === undefined ? [] : [{ name, type, sql }];
  });
  const used = new Set([
    ...of(next).map(({ name }) => name),
    ...applied.flatMap(([, { from }]) => from),
  ]);
  const issues = [
    ...[...found]
      .filter((name) => !used.has(name))
      .map((name) => `Column ${name} of rowhouse.${table} is not in this release`),
    ...wanted
      .filter(({ name, hasValue }) => !hasValue && !sources.has(name))
      .map(({ name }) => `Column ${name} of rowhouse.${table} is not in the old database`),
  ];
  const key = old.keys.filter((column) => column.table === table);
  const copying = { table: `rowhouse.${table}`, columns, key, only };
  return { copying, issues, isPerApp: next.perApp.includes(table) };
}

function orderByReferences(
  tables: readonly string[],
  references: readonly { child: string; parent: string }[],
): string[] {
  const ordered = new Set<string>();
  const add = (table: string) => {
    if (ordered.has(table)) return;
    for (const { child, parent } of references)
      if (child === table && tables.includes(parent)) add(parent);
    ordered.add(table);
  };
  for (const table of tables.toSorted()) add(table);
  return [...ordered];
}

/** Copies the rows of each table. The triggers of the tables have run in the old database, and do not run again. */
export async function moveServiceRows(
  databases: MovedDatabases,
  { copyings }: ServicePlan,
  onRows: (copying: Copying, count: number) => void,
): Promise<void> {
  const { target } = databases;
  const tables = [...new Set(copyings.map(({ table }) => table))];
  const setTriggers = (state: string) =>
    target.message(
      [...tables.map((table) => `alter table ${table} ${state} trigger user`), "select 1"].join(
        ";\n",
      ),
    );
  await setTriggers("disable");
  for (const copying of copyings)
    await copyRows(databases, copying, (count) => onRows(copying, count));
  await setTriggers("enable");
  await moveCounters(databases);
}

type Counter = { name: string; value: string };

/** Ids are never given again, and no process or client mistakes the new database for an earlier state of the old one. */
async function moveCounters({ source, target }: MovedDatabases): Promise<void> {
  const sequences = await readRows<Counter>(
    source,
    `select sequencename as name, last_value::pg_catalog.text as value from pg_catalog.pg_sequences
    where schemaname = 'rowhouse' and last_value is not null`,
  );
  const versions = await readRows<Counter>(
    source,
    "select name, version::pg_catalog.text as value from rowhouse.versions",
  );
  await target.message(
    [
      ...sequences.map(
        ({ name, value }) =>
          `select pg_catalog.setval(pg_catalog.to_regclass(${quoteLiteral(`rowhouse.${quoteName(name)}`)}), ${value})`,
      ),
      ...versions.map(
        ({ name, value }) =>
          `update rowhouse.versions set version = greatest(version, ${value}) + 1 where name = ${quoteLiteral(name)}`,
      ),
      "select 1",
    ].join(";\n"),
  );
}
