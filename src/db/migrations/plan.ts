/**
 * What `rowhouse migrate` would do to a database: its steps, their locks, and how the code differs. Changes nothing, and no
 * request waits for it.
 *
 * @module
 */
import { splitStatements } from "../code/statements.ts";
import { readDialect } from "../dialects.ts";
import { type Database, readRows, readValue } from "../pool/mod.ts";
import { SIGNALS } from "../signals.ts";
import { rejectBlockers, type Send, toBlockedError } from "./blockers.ts";
import { type Run, readRun } from "./long_step.ts";
import { BECOME_OWNER, renderStart, renderTrial, send, UpgradeError } from "./message.ts";
import { rejectMismatch } from "./migrate.ts";
import { type MeasuredLock, MIGRATIONS, type ServiceMigration } from "./mod.ts";
import { type CodeChanges, isSame, renderRenewal } from "./renew_code.ts";
import MAKE_ROLES from "./roles.sql" with { type: "text" };
import { MIGRATE_LOCK } from "./roles.ts";
import { compareMigrations, type MigrationState } from "./state.ts";

/** A lock on an existing table, and which statements wait for it. */
export type TableLock = Omit<MeasuredLock, "statement"> & {
  blocks: "reads and writes" | "writes" | "nothing";
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
  const { missing, later, hasCode, isContracted } = state;
  if (later !== undefined) return { later, files: [], code: undefined };
  const absent = migrations.filter(({ number }) => missing.includes(number));
  const existing = await selectExisting(
    admin,
    absent.flatMap(({ locks }) => locks),
  );
  const { files, trial } = readFiles(absent, existing);
  const sendTrial: Send = (text) => sendWaiting(admin, text, patienceMs);
  await rejectBlockers(admin, { missing: absent, isContracted }, sendTrial);
  const changes = await tryCode(admin, trial, { sendTrial, state });
  if (hasCode && changes !== null && isSame(changes)) return { later, files, code: undefined };
  const locks = changes === null ? [] : await locksOf(admin, changes);
  return { later, files, code: { changes, locks } };
}

/** The statements of missing files that lock no table in use, and whether these are all statements. */
type Trial = { first: string[]; others: string[]; isWhole: boolean };

const UNDEFINED = "undefined_column or undefined_table or undefined_function or undefined_object";

/** Creates the missing tables and the code, and undoes it. `null`: the code needs a statement that was left out. */
async function tryCode(
  admin: Database,
  { first, others, isWhole }: Trial,
  { sendTrial, state }: { sendTrial: Send; state: MigrationState },
): Promise<CodeChanges | null> {
  const renewal = renderRenewal(await readDialect(admin), "try", state);
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

async function locksOf(admin: Database, { triggers, policies }: CodeChanges): Promise<TableLock[]> {
  const toTaken = (key: string, mode: Taken["mode"]): Taken => ({
    table: `rowhouse.${TABLE.exec(key)?.[0]}`,
    mode,
    isLong: false,
  });
  const taken = [
    ...Object.keys(policies).map((key) => toTaken(key, "ACCESS EXCLUSIVE")),
    ...Object.entries(triggers).map(([key, change]) =>
      toTaken(key, change === "new" ? "SHARE ROW EXCLUSIVE" : "ACCESS EXCLUSIVE"),
    ),
  ];
  const existing = await selectExisting(admin, taken);
  return merge(taken.filter(({ table }) => existing.has(table)));
}

async function selectExisting(
  admin: Database,
  locks: readonly { table: string }[],
): Promise<ReadonlySet<string>> {
  const rows = await readRows<{ name: string }>(
    admin,
    `select name from pg_catalog.jsonb_array_elements_text($1::pg_catalog.text::pg_catalog.jsonb) as listed (name)
      where pg_catalog.to_regclass(name) is not null`,
    [JSON.stringify(locks.map(({ table }) => table))],
  );
  return new Set(rows.map(({ name }) => name));
}

type ReadFiles = { files: PlannedFile[]; trial: Trial };

/** `existing`: the tables in use. A table that a missing file creates is not. */
function readFiles(missing: readonly ServiceMigration[], existing: ReadonlySet<string>): ReadFiles {
  const trial: Trial = { first: [], others: [], isWhole: true };
  const files = missing.map((migration) => {
    const { number, name, sql } = migration;
    const runs = readRun(migration);
    const locks = migration.locks.filter(({ table }) => existing.has(table));
    splitStatements(sql).forEach((statement, index) => {
      const taken = locks.filter((lock) => lock.statement === index);
      const isTried = taken.length === 0 || CREATES.test(statement);
      if (number === 1) trial.first.push(statement);
      else if (runs === "in one transaction" && isTried)
        trial.others.push(...toTried(statement, taken));
      else trial.isWhole = false;
    });
    return { name, runs, locks: merge(locks) };
  });
  return { files, trial };
}

/** A new table locks those that it references. */
const CREATES = /^create (?:unlogged )?table\b/;
const REFERENCED = /\breferences ([\w.]+)/g;

/** A reference locks its table against writes: in the trial, an empty copy takes its place. */
function toTried(statement: string, referenced: readonly MeasuredLock[]): string[] {
  const tables = new Set(referenced.map(({ table }) => table));
  return [
    ...[...tables].map(
      (table) => `create table if not exists ${table}__trial (like ${table} including indexes)`,
    ),
    statement.replace(REFERENCED, (text, table) => (tables.has(table) ? `${text}__trial` : text)),
  ];
}

/** From the weakest. */
const BLOCKS = {
  "ROW EXCLUSIVE": "nothing",
  "SHARE UPDATE EXCLUSIVE": "nothing",
  SHARE: "writes",
  "SHARE ROW EXCLUSIVE": "writes",
  EXCLUSIVE: "writes",
  "ACCESS EXCLUSIVE": "reads and writes",
} as const satisfies Record<MeasuredLock["mode"], TableLock["blocks"]>;
const MODES = Object.keys(BLOCKS);

type Taken = Omit<MeasuredLock, "statement">;

/** The strongest lock on each table: the statements of a file are one transaction. */
function merge(locks: readonly Taken[]): TableLock[] {
  return [...Map.groupBy(locks, ({ table }) => table).values()].map((taken) => {
    const { table, mode, isLong } = taken.reduce((left, right) => ({
      ...(MODES.indexOf(left.mode) < MODES.indexOf(right.mode) ? right : left),
      isLong: left.isLong || right.isLong,
    }));
    return { table, mode, blocks: BLOCKS[mode], isLong };
  });
}
