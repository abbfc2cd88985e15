/**
 * `rowhouse migrate`: the service's own roles, tables and code. Idempotent, also concurrently, and after a process that was
 * killed. Changes nothing in a database that this release cannot upgrade.
 *
 * @module
 */

import { quoteLiteral } from "../../std/quote.ts";
import { readDialect } from "../dialects.ts";
import { ONLY_HERE } from "../node_settings.ts";
import type { Database } from "../pool/mod.ts";
import { SIGNALS } from "../signals.ts";
import { readSqlState, SignalError } from "../sqlstate.ts";
import { checksum, MIGRATIONS, type ServiceMigration } from "./mod.ts";
import { type CodeChanges, renderRenewal } from "./renew_code.ts";
import MAKE_ROLES from "./roles.sql" with { type: "text" };
import { MIGRATE_LOCK } from "./roles.ts";
import {
  COMPATIBLE_FROM,
  compareMigrations,
  DIGEST,
  findMismatch,
  type MigrationState,
  OTHER_BASELINE,
  type Release,
  releaseOf,
} from "./state.ts";

/** Roles are shared by all databases of a cluster: concurrent set-ups can collide on their catalog rows. */
const COLLISIONS = new Set(["XX000", "23505", "40001", "40P01"]);
const ATTEMPTS = 8;

/** Requests wait behind a statement that waits for a table, so each wait is short, and repeated. */
const LOCK_TIMEOUT_MS = 200;
const LOCK_PATIENCE_MS = 60_000;
const LOCK_REJECTED = "55P03";

const MESSAGE_TIMEOUT_MS = 600_000;

/** The database is not one that this release can use or upgrade. */
export class UpgradeError extends Error {}

/** The tables are from before the first numbered file. */
export class BaselineError extends UpgradeError {
  constructor() {
    super(`This database ${OTHER_BASELINE.message}: ${OTHER_BASELINE.remedy}`);
  }
}

export type Migrated = {
  /** The names of the applied files. */
  applied: string[];
  /** What changed in the code; `undefined` if it was current. */
  code: CodeChanges | undefined;
  /** The later release of the database, which was not changed. */
  later: MigrationState["later"];
};

export type MigrateOptions = {
  readonly migrations?: readonly ServiceMigration[];
  readonly report?: (line: string) => void;
};

/** @throws {UpgradeError} this release cannot use the database */
export function rejectMismatch(state: MigrationState): void {
  if (state.isOtherBaseline) throw new BaselineError();
  const mismatch = findMismatch(state);
  if (mismatch !== undefined)
    throw new UpgradeError(`This database ${mismatch.message}: ${mismatch.remedy}`);
}

/**
 * Applies the missing files in order, and then the code. Changes nothing in a database of a later release.
 *
 * @throws {UpgradeError} this release cannot use the database; nothing was changed
 */
export async function migrate(
  admin: Database,
  { migrations = MIGRATIONS, report = () => undefined }: MigrateOptions = {},
): Promise<Migrated> {
  const state = await compareMigrations(admin, migrations);
  rejectMismatch(state);
  const { later } = state;
  if (later !== undefined) return { applied: [], code: undefined, later };
  const release = releaseOf(migrations);
  const applied: string[] = [];
  for (const migration of migrations) {
    if (!state.missing.includes(migration.number)) continue;
    if ((await send(admin, renderFile(migration, release), report)) === undefined) continue;
    applied.push(migration.name);
    report(`Applied ${migration.name}`);
  }
  if (state.hasCode) return { applied, code: undefined, later };
  const dialect = await readDialect(admin);
  const text = renderCode(renderRenewal(dialect), release);
  const [row] = (await send<{ changes: CodeChanges }>(admin, text, report)) ?? [];
  return { applied, code: row?.changes, later };
}

/** The rows of a message; `undefined` if a concurrent process was faster. */
async function send<Row>(
  admin: Database,
  text: string,
  report: (line: string) => void,
): Promise<Row[] | undefined> {
  const startedAt = performance.now();
  let collisions = 0;
  for (let waits = 0; ; ) {
    try {
      return await admin.message<Row>(text, { timeoutMs: MESSAGE_TIMEOUT_MS });
    } catch (error) {
      if (error instanceof SignalError && error.signal === SIGNALS.alreadyMigrated)
        return undefined;
      const state = readSqlState(error) ?? "";
      if (state === LOCK_REJECTED) {
        if (performance.now() - startedAt > LOCK_PATIENCE_MS) throw toLockError(error);
        if (waits++ === 0) report("Waiting for a table that another transaction has locked");
        await Bun.sleep(LOCK_TIMEOUT_MS * (1 + Math.random()));
      } else {
        collisions += 1;
        if (collisions === ATTEMPTS || !COLLISIONS.has(state)) throw error;
        await Bun.sleep(50 * collisions);
      }
    }
  }
}

function toLockError(cause: unknown): UpgradeError {
  return new UpgradeError(
    "Cannot lock a table of the service: other transactions have used it for a minute; end long transactions (pg_stat_activity), then run rowhouse migrate again",
    { cause },
  );
}

function renderFile(migration: ServiceMigration, release: Release): string {
  const { number, name, sql } = migration;
  return `${renderStart(
    "service_migrations",
    `exists (select from rowhouse.service_migrations where number = ${number})`,
  )}
${number === 1 ? MAKE_ROLES : "set local role rowhouse_owner;"}
${sql}
insert into rowhouse.service_migrations (number, name, checksum)
values (${number}, ${quoteLiteral(name)}, ${quoteLiteral(checksum(migration))});
${number === 1 ? "" : renderRecord(release, undefined)}
select ${number} as number;`;
}

function renderCode(renewal: string, release: Release): string {
  return `${renderStart("code", `exists (select from rowhouse.code where digest = ${quoteLiteral(DIGEST)})`)}
${MAKE_ROLES}
${renewal}
${renderRecord(release, DIGEST)}
select pg_catalog.current_setting('rowhouse.renewed')::pg_catalog.json as changes;`;
}

/** Waits for other migrations, and stops if `isDone`, which reads a table that may not exist. */
function renderStart(table: string, isDone: string): string {
  // A cluster would repeat each statement on its other nodes, as a role that cannot log in there.
  return `
${ONLY_HERE};
set local search_path = pg_catalog, pg_temp;
do $rowhouse$
begin
  perform ${MIGRATE_LOCK};
  -- The catalog itself is read: names looked up before the wait are remembered as unknown.
  if exists (
    select from pg_catalog.pg_class join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
    where nspname = 'rowhouse' and relname = '${table}'
  ) then
    if ${isDone} then
      raise exception 'already applied' using errcode = '${SIGNALS.alreadyMigrated}';
    end if;
  end if;
end
$rowhouse$;
set local lock_timeout = '${LOCK_TIMEOUT_MS}ms';`;
}

/** From the first change on, the database says which earlier releases may still serve it. */
function renderRecord({ version, tables }: Release, digest: string | undefined): string {
  const from = COMPATIBLE_FROM;
  const values = [quoteLiteral(version), tables, quoteLiteral(from.version), from.tables];
  return `insert into rowhouse.code (digest, version, tables, compatible_from, compatible_tables)
values (${[quoteLiteral(digest ?? ""), ...values].join(", ")})
on conflict (is_only) do update set (digest, version, tables, compatible_from, compatible_tables,
  renewed_at) = (${[digest === undefined ? "code.digest" : "excluded.digest", ...values].join(", ")},
  ${digest === undefined ? "code.renewed_at" : "pg_catalog.now()"});`;
}
