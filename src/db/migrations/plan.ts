/**
 * What `rowhouse migrate` would do to a database: its steps, their locks, and how the code differs. Changes nothing, and no
 * request waits for it.
 *
 * @module
 */
import { splitStatements } from "../code/statements.ts";
import { readDialect } from "../dialects.ts";
import { type Database, readValue } from "../pool/mod.ts";
import { SIGNALS } from "../signals.ts";
import { rejectBlockers, type Send, toBlockedError } from "./blockers.ts";
import { type Run, readRun } from "./long_step.ts";
import { BECOME_OWNER, renderStart, renderTrial, send, UpgradeError } from "./message.ts";
import { rejectMismatch } from "./migrate.ts";
import { MIGRATIONS, type ServiceMigration } from "./mod.ts";
import { type CodeChanges, isSame, renderRenewal } from "./renew_code.ts";
import MAKE_ROLES from "./roles.sql" with { type: "text" };
import { MIGRATE_LOCK } from "./roles.ts";
import { compareMigrations, type MigrationState } from "./state.ts";

/** A lock on an existing table, and which statements wait for it. */
export type TableLock = {
  table: string;
  mode: string;
  blocks: "reads and writes" | "writes" | "nothing";
  /** Whether the lock is held while the table is read or rewritten. */
  isLong: boolean;
};

type PlannedFile = { name: string; runs: Run; locks: TableLock[] };

export type MigrationPlan = {
  later: MigrationState["later"];
  files: PlannedFile[];
  /** `undefined` if the code is current. `null`: it can be compared only after the files. */
  code: { changes: CodeChanges | null; locks: TableLock[] } | undefined;
};

export type PlanOptions = {
  readonly migrations?: readonly ServiceMigration[];
  /** How long it waits for another `migrate`. */
  readonly patienceMs?: number;
};

const PATIENCE_MS = 30_000;

/** @throws {UpgradeError} this release cannot use the database, or another transaction has locked it */
export async function planMigrate(
  admin: Database,
  { migrations = MIGRATIONS, patienceMs = PATIENCE_MS }: PlanOptions = {},
): Promise<MigrationPlan> {
  const state = await compareMigrations(admin, migrations);
  rejectMismatch(state);
  const { missing, later, hasCode } = state;
  if (later !== undefined) return { later, files: [], code: undefined };
  const absent = migrations.filter(({ number }) => missing.includes(number));
  const { files, created, trial } = readFiles(absent);
  const sendTrial: Send = (text) => sendWaiting(admin, text, patienceMs);
  await rejectBlockers(admin, absent, sendTrial);
  const changes = await tryCode(admin, trial, { sendTrial, hasCode });
  if (hasCode && changes !== null && isSame(changes)) return { later, files, code: undefined };
  const locks = changes === null ? [] : locksOf(changes);
  const inUse = locks.filter(({ table }) => !created.has(table));
  return { later, files, code: { changes, locks: inUse } };
}

/** The statements of missing files that lock no table in use, and whether these are all statements. */
type Trial = { first: string[]; others: string[]; isWhole: boolean };

const UNDEFINED = "undefined_column or undefined_table or undefined_function or undefined_object";

/** Creates the missing tables and the code, and undoes it. `null`: the code needs a statement that was left out. */
async function tryCode(
  admin: Database,
  { first, others, isWhole }: Trial,
  { sendTrial, hasCode }: { sendTrial: Send; hasCode: boolean },
): Promise<CodeChanges | null> {
  const renewal = renderRenewal(await readDialect(admin), "try", hasCode);
  const steps = [MAKE_ROLES, ...first, BECOME_OWNER, ...others, renewal];
  const text = renderTrial(steps, isWhole ? "" : `when ${UNDEFINED} then null;`);
  const [row] = (await sendTrial<{ found: CodeChanges | null }>(text)) ?? [];
  if (row === undefined) throw new Error("The trial of the code returned no changes");
  return row.found;
}

/** Sends a message that changes nothing, when no other migration runs. */
async function sendWaiting<Row>(
  admin: Database,
  trial: string,
  patienceMs: number,
): Promise<Row[]> {
  const text = `do $plan$ begin
  set local lock_timeout = ${patienceMs};
  perform ${MIGRATE_LOCK};
exception when lock_not_available then
  raise exception using errcode = '${SIGNALS.alreadyMigrated}';
end $plan$;
${renderStart("code", "false")}
${trial}`;
  const rows = await send<Row>(admin, text, () => undefined, 0).catch(async (error: unknown) => {
    if (!(error instanceof UpgradeError)) throw toBlockedError(error) ?? error;
    throw new UpgradeError(await describeLock(admin), { cause: error });
  });
  if (rows === undefined)
    throw new UpgradeError("Another rowhouse migrate is running: try again when it has ended");
  return rows;
}

async function describeLock(admin: Database): Promise<string> {
  const tables = await readValue<string | null>(
    admin,
    `select pg_catalog.string_agg(distinct pg_class.oid::pg_catalog.regclass::pg_catalog.text, ', ')
      from pg_catalog.pg_locks join pg_catalog.pg_class on pg_class.oid = relation
      where relnamespace = pg_catalog.to_regnamespace('rowhouse') and granted
        and mode = 'AccessExclusiveLock' and pid <> pg_catalog.pg_backend_pid()`,
  );
  return `Cannot list the steps: another transaction has locked ${tables ?? "a table of the service"}; end it (pg_stat_activity), then try again`;
}

const TABLE = /^(?:"(?:[^"]|"")*"|[^."]*)/;

function locksOf({ triggers, policies }: CodeChanges): TableLock[] {
  const changed = [
    ...Object.entries(policies).map(([key]) => ({ key, mode: "ACCESS EXCLUSIVE" })),
    ...Object.entries(triggers).map(([key, change]) => ({
      key,
      mode: change === "new" ? "SHARE ROW EXCLUSIVE" : "ACCESS EXCLUSIVE",
    })),
  ];
  return changed.map(({ key, mode }) => toLock(`rowhouse.${TABLE.exec(key)?.[0]}`, mode, false));
}

type ReadFiles = { files: PlannedFile[]; created: ReadonlySet<string>; trial: Trial };

function readFiles(missing: readonly ServiceMigration[]): ReadFiles {
  const created = new Set<string>();
  const trial: Trial = { first: [], others: [], isWhole: true };
  const files = missing.map((migration) => {
    const { number, name, sql } = migration;
    const runs = readRun(migration);
    const locks = splitStatements(sql).flatMap((statement) => {
      const [, table] = CREATED.exec(statement) ?? [];
      if (table !== undefined) created.add(table);
      // The first file locks only what it creates.
      if (number !== 1 && !isKnown(statement))
        throw new Error(
          `${name}.sql: which locks a statement takes is not known: add its form to LOCKS or LOCK_FREE\n${statement}`,
        );
      const found = findLocks(statement).filter((lock) => !created.has(lock.table));
      if (number === 1) trial.first.push(statement);
      else if (runs === "in one transaction" && isLockFree(statement, created))
        trial.others.push(...toTried(statement, found));
      else trial.isWhole = false;
      return found;
    });
    return { name, runs, locks };
  });
  return { files, created, trial };
}

const CREATED = /^create (?:unlogged )?table (?:if not exists )?([\w.]+)/;

/** Statements that create an object, and lock only the tables that they reference. */
const CREATES = /^create (?:(?:unlogged )?table|type|domain|sequence|schema|function)\b/;

function isLockFree(statement: string, created: ReadonlySet<string>): boolean {
  return CREATES.test(statement) || created.has(findOwnLock(statement)?.table ?? "");
}

/** A reference locks its table against writes: in the trial, an empty copy takes its place. */
function toTried(statement: string, referenced: readonly TableLock[]): string[] {
  const tables = new Set(referenced.map(({ table }) => table));
  return [
    ...[...tables].map(
      (table) => `create table if not exists ${table}__trial (like ${table} including indexes)`,
    ),
    statement.replace(REFERENCED, (text, table) => (tables.has(table) ? `${text}__trial` : text)),
  ];
}

const LOCK_FREE = /^(?:comment|grant|revoke|alter default privileges)\b/;

function isKnown(statement: string): boolean {
  const isFree = CREATES.test(statement) || LOCK_FREE.test(statement);
  return isFree || findOwnLock(statement) !== undefined;
}

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

function findOwnLock(statement: string): TableLock | undefined {
  for (const { form, mode, isLong } of LOCKS) {
    const [, table] = form.exec(statement) ?? [];
    if (table !== undefined) return toLock(table, mode, isLong(statement));
  }
  return undefined;
}

function findLocks(statement: string): TableLock[] {
  const referenced = /^(?:create|alter) (?:unlogged )?table\b/.test(statement)
    ? [...statement.matchAll(REFERENCED)].map(([, table = ""]) => table)
    : [];
  return [
    ...[findOwnLock(statement)].filter((lock) => lock !== undefined),
    ...referenced.map((table) => toLock(table, "SHARE ROW EXCLUSIVE", LONG.test(statement))),
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
