/**
 * `rowhouse migrate`: the service's own tables and roles. Idempotent, also concurrently; rejects a database that another
 * release set up.
 *
 * @module
 */

import { quoteLiteral } from "../../std/quote.ts";
import { ONLY_HERE } from "../node_settings.ts";
import type { Database } from "../pool/mod.ts";
import { readRows, readValue } from "../read_rows.ts";
import { SIGNALS } from "../signals.ts";
import { readSqlState, SignalError } from "../sqlstate.ts";
import { MIGRATIONS, type ServiceMigration } from "./mod.ts";
import { MIGRATE_LOCK } from "./roles.ts";

/** Roles are shared by all databases of a cluster: concurrent set-ups can collide on their catalog rows. */
const COLLISIONS = new Set(["XX000", "23505", "40001", "40P01"]);
const ATTEMPTS = 8;

/** A database whose record of migrations does not match this release. */
export const OTHER_BASELINE = {
  message: "was set up by another release of Rowhouse and cannot be upgraded by this one",
  remedy:
    'run rowhouse dev --reset if it is the embedded database of rowhouse dev, otherwise move its rows to a new database (docs/operating.md, "A database of another baseline")',
} as const;

export class BaselineError extends Error {
  constructor() {
    super(`This database ${OTHER_BASELINE.message}: ${OTHER_BASELINE.remedy}`);
  }
}

/** The migrations that a database has recorded, compared with this release. */
export type MigrationState = {
  /** The numbers of missing migrations. */
  missing: number[];
  /** Whether the database has an unknown migration, or another text under a known number. */
  isOtherBaseline: boolean;
};

/**
 * Applies the missing migrations; returns their names.
 *
 * @throws {BaselineError} the database was set up by another release; nothing was changed
 */
export async function migrate(admin: Database): Promise<string[]> {
  const { missing, isOtherBaseline } = await compareMigrations(admin);
  if (isOtherBaseline) throw new BaselineError();
  const done: string[] = [];
  for (const migration of MIGRATIONS) {
    if (missing.includes(migration.number) && (await apply(admin, migration)))
      done.push(`${String(migration.number).padStart(4, "0")}_${migration.name}`);
  }
  return done;
}

export async function compareMigrations(db: Database): Promise<MigrationState> {
  const applied = await readApplied(db);
  const ours = new Map(MIGRATIONS.map((migration) => [migration.number, checksum(migration)]));
  return {
    missing: [...ours.keys()].filter((number) => !applied.has(number)),
    isOtherBaseline: [...applied].some(([number, recorded]) => ours.get(number) !== recorded),
  };
}

async function readApplied(db: Database): Promise<Map<number, string>> {
  const isThere = await readValue<boolean>(
    db,
    "select pg_catalog.to_regclass('rowhouse.service_migrations') is not null as found",
  );
  if (!isThere) return new Map();
  const rows = await readRows<{ number: number; checksum: string }>(
    db,
    "select number, checksum from rowhouse.service_migrations",
  );
  return new Map(rows.map((row) => [row.number, row.checksum]));
}

/** Returns whether this call applied the migration; false if a concurrent process did. */
async function apply(admin: Database, migration: ServiceMigration): Promise<boolean> {
  const text = toMessage(migration);
  for (let attempt = 1; ; attempt++) {
    try {
      await admin.message(text);
      return true;
    } catch (error) {
      if (error instanceof SignalError && error.signal === SIGNALS.alreadyMigrated) return false;
      if (attempt === ATTEMPTS || !COLLISIONS.has(readSqlState(error) ?? "")) throw error;
      await Bun.sleep(50 * attempt);
    }
  }
}

function toMessage(migration: ServiceMigration): string {
  // A cluster would repeat each statement on its other nodes, as a role that cannot log in there.
  return `
${ONLY_HERE};
do $rowhouse$
begin
  perform ${MIGRATE_LOCK};
  -- The catalog itself is read: names looked up before the wait are remembered as unknown.
  if exists (
    select from pg_catalog.pg_class join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
    where nspname = 'rowhouse' and relname = 'service_migrations'
  ) then
    if exists (select from rowhouse.service_migrations where number = ${migration.number}) then
      raise exception 'already applied' using errcode = '${SIGNALS.alreadyMigrated}';
    end if;
  end if;
end
$rowhouse$;
${migration.sql}
insert into rowhouse.service_migrations (number, name, checksum)
values (${migration.number}, ${quoteLiteral(migration.name)}, ${quoteLiteral(checksum(migration))});
select ${migration.number} as number;`;
}

function checksum(migration: ServiceMigration): string {
  return `sha256:${new Bun.CryptoHasher("sha256").update(migration.sql).digest("hex")}`;
}
