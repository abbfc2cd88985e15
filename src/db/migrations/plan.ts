/**
 * What `rowhouse migrate` would do to a database: its steps, their locks, and how the code differs. Changes nothing, and locks
 * no table.
 *
 * @module
 */
import { CODE } from "../code/mod.ts";
import { splitStatements } from "../code/statements.ts";
import { readDialect } from "../dialects.ts";
import { ONLY_HERE } from "../node_settings.ts";
import type { Database } from "../pool/mod.ts";
import { readRows } from "../read_rows.ts";
import { type Run, readRun } from "./long_step.ts";
import { rejectMismatch } from "./migrate.ts";
import { MIGRATIONS, type ServiceMigration } from "./mod.ts";
import { type Change, type CodeChanges, renderRenewal } from "./renew_code.ts";
import { compareMigrations, type MigrationState } from "./state.ts";

/** A lock on an existing table, and which statements wait for it. */
export type TableLock = {
  table: string;
  mode: string;
  blocks: "reads and writes" | "writes" | "nothing";
  /** Whether the lock is held while the table is read or rewritten. */
  isLong: boolean;
};

export type PlannedFile = { name: string; runs: Run; locks: TableLock[] };

export type MigrationPlan = {
  later: MigrationState["later"];
  files: PlannedFile[];
  /** `undefined` if the code is current. With missing files, only names and bodies of functions are compared. */
  code: { changes: CodeChanges; locks: TableLock[] } | undefined;
};

/** @throws {UpgradeError} this release cannot use the database */
export async function planMigrate(
  admin: Database,
  migrations: readonly ServiceMigration[] = MIGRATIONS,
): Promise<MigrationPlan> {
  const state = await compareMigrations(admin, migrations);
  rejectMismatch(state);
  const { missing, later, hasCode } = state;
  if (later !== undefined) return { later, files: [], code: undefined };
  const files = planFiles(migrations.filter(({ number }) => missing.includes(number)));
  if (hasCode) return { later, files, code: undefined };
  const changes = missing.length === 0 ? await tryCode(admin) : await compareBodies(admin);
  return { later, files, code: { changes, locks: locksOf(changes) } };
}

async function tryCode(admin: Database): Promise<CodeChanges> {
  const renewal = renderRenewal(await readDialect(admin), { isDry: true });
  const [row] = await admin.message<{ changes: CodeChanges }>(`${ONLY_HERE};
set local lock_timeout = '200ms';
set local role rowhouse_owner;
${renewal}
select pg_catalog.current_setting('rowhouse.renewed')::pg_catalog.json as changes`);
  if (row === undefined) throw new Error("The trial of the code returned no changes");
  return row.changes;
}

async function compareBodies(admin: Database): Promise<CodeChanges> {
  const rows = await readRows<{ name: string; body: string | null }>(
    admin,
    `select proname as name, prosrc as body from pg_catalog.pg_proc
      where pronamespace = pg_catalog.to_regnamespace('rowhouse')`,
  );
  const found = new Map(rows.map(({ name, body }) => [name, body]));
  const functions: Record<string, Change> = {};
  for (const [name, sql] of Object.entries(CODE.functions)) {
    const body = found.get(name);
    if (body === undefined) functions[name] = "new";
    else if (body !== null && body !== "" && !sql.includes(body)) functions[name] = "changed";
  }
  const dropped = [...found.keys()].filter((name) => !(name in CODE.functions));
  for (const name of dropped) functions[name] = "dropped";
  return { functions, triggers: {}, policies: {}, granted: [], revoked: [] };
}

function locksOf({ triggers, policies }: CodeChanges): TableLock[] {
  const changed = [
    ...Object.entries(policies).map(([key]) => ({ key, mode: "ACCESS EXCLUSIVE" })),
    ...Object.entries(triggers).map(([key, change]) => ({
      key,
      mode: change === "new" ? "SHARE ROW EXCLUSIVE" : "ACCESS EXCLUSIVE",
    })),
  ];
  return changed.map(({ key, mode }) => toLock(`rowhouse.${key.split(".")[0]}`, mode, false));
}

function planFiles(missing: readonly ServiceMigration[]): PlannedFile[] {
  const created = new Set<string>();
  return missing.map((migration) => {
    const statements = splitStatements(migration.sql);
    for (const statement of statements) {
      const [, table] = CREATED.exec(statement) ?? [];
      if (table !== undefined) created.add(table);
    }
    const locks = statements.flatMap(findLocks).filter(({ table }) => !created.has(table));
    return { name: migration.name, runs: readRun(migration), locks };
  });
}

const CREATED = /^create (?:unlogged )?table (?:if not exists )?([\w.]+)/;

/** Parts of a change of a table that read or rewrite its rows. */
const LONG =
  /\bset not null\b|\btype\b|\badd (?:constraint \w+ )?(?:check|foreign key|primary key|unique|exclude)\b(?![\s\S]*\bnot valid\b)|\bgenerated\b|\breferences\b|\bvalidate constraint\b|\bdefault (?:gen_random_uuid|clock_timestamp|random)\b/;

/** By the start of a statement: the lock on the table that it names. Others lock rows only. */
const LOCKS: readonly { form: RegExp; mode: string; isLong: (statement: string) => boolean }[] = [
  {
    form: /^alter table (?:only )?([\w.]+) validate constraint\b/,
    mode: "SHARE UPDATE EXCLUSIVE",
    isLong: () => true,
  },
  {
    form: /^(?:alter|drop) table (?:if exists |only )?([\w.]+)/,
    mode: "ACCESS EXCLUSIVE",
    isLong: (statement) => LONG.test(statement),
  },
  {
    form: /^create (?:unique )?index concurrently [\s\S]*?\bon ([\w.]+)/,
    mode: "SHARE UPDATE EXCLUSIVE",
    isLong: () => true,
  },
  {
    form: /^create (?:unique )?index [\s\S]*?\bon ([\w.]+)/,
    mode: "SHARE",
    isLong: () => true,
  },
  {
    form: /^(?:update|delete from|insert into) ([\w.]+)/,
    mode: "ROW EXCLUSIVE",
    isLong: () => true,
  },
];

const REFERENCED = /\breferences ([\w.]+)/g;

function findLocks(statement: string): TableLock[] {
  const own = LOCKS.find(({ form }) => form.test(statement));
  const [, table = ""] = own?.form.exec(statement) ?? [];
  const referenced = /^(?:create|alter) (?:unlogged )?table\b/.test(statement)
    ? [...statement.matchAll(REFERENCED)].map(([, parent = ""]) => parent)
    : [];
  return [
    ...(own === undefined ? [] : [toLock(table, own.mode, own.isLong(statement))]),
    ...referenced.map((parent) => toLock(parent, "SHARE ROW EXCLUSIVE", LONG.test(statement))),
  ];
}

const BLOCKS: Readonly<Record<string, TableLock["blocks"]>> = {
  "ACCESS EXCLUSIVE": "reads and writes",
  "SHARE ROW EXCLUSIVE": "writes",
  SHARE: "writes",
};

function toLock(table: string, mode: string, isLong: boolean): TableLock {
  return { table, mode, blocks: BLOCKS[mode] ?? "nothing", isLong };
}
