/** Measures the locks of the service's files: each statement runs in a transaction, and PostgreSQL lists what it holds. @module */
import { splitStatements } from "../../src/db/code/statements.ts";
import { readRun } from "../../src/db/migrations/long_step.ts";
import { BECOME_OWNER } from "../../src/db/migrations/message.ts";
import type { MeasuredLock, ServiceMigration } from "../../src/db/migrations/mod.ts";
import MAKE_ROLES from "../../src/db/migrations/roles.sql" with { type: "text" };
import type { Database } from "../../src/db/mod.ts";

const TABLES = `select pg_class.oid, pg_class.oid::regclass::text as name, relfilenode,
    coalesce(seq_scan, 0) + coalesce(idx_scan, 0) + n_tup_ins as used
  from pg_class join pg_stat_xact_user_tables on relid = pg_class.oid
  where relkind = 'r' and schemaname = 'rowhouse'`;

const WEAKER = "'AccessShareLock', 'RowShareLock'";

/** Applies a file without its record and the code. Returns its locks on tables that existed before it. */
export async function measureLocks(
  admin: Database,
  migration: Pick<ServiceMigration, "number" | "name" | "sql">,
): Promise<MeasuredLock[]> {
  const { number, sql } = migration;
  if (number === 1) {
    await admin.message(
      `set local search_path = pg_catalog, pg_temp; ${MAKE_ROLES} ${sql}; select 1`,
    );
    return [];
  }
  const [held] = await admin.message<{ names: string[] }>(
    `select coalesce(json_agg(name), '[]') as names from (${TABLES}) as found`,
  );
  const before = new Set(held?.names);
  const locks: MeasuredLock[] = [];
  for (const [statement, text] of splitStatements(sql).entries()) {
    // It cannot run in a transaction, which alone could list its locks.
    const isApart = readRun(migration) === "concurrently";
    const taken = isApart ? await runApart(admin, text) : await run(admin, text);
    locks.push(
      ...taken.filter(({ table }) => before.has(table)).map((lock) => ({ statement, ...lock })),
    );
  }
  return locks;
}

type Taken = Omit<MeasuredLock, "statement">;

async function run(admin: Database, statement: string): Promise<Taken[]> {
  const rows = await admin.message<Taken>(`
    set local search_path = pg_catalog, pg_temp;
    create temporary table earlier on commit drop as ${TABLES};
    ${BECOME_OWNER}
    ${statement};
    reset role;
    select distinct on (earlier.name) earlier.name as "table", upper(regexp_replace(
        replace(mode, 'Lock', ''), '([a-z])([A-Z])', '\\1 \\2', 'g')) as mode,
      coalesce(now.relfilenode <> earlier.relfilenode or now.used > earlier.used, false) as "isLong"
    from earlier join pg_locks on relation = earlier.oid and pid = pg_backend_pid()
      left join (${TABLES}) as now on now.oid = earlier.oid
    where mode not in (${WEAKER})
    order by earlier.name, array_position(array['AccessExclusiveLock', 'ExclusiveLock',
      'ShareRowExclusiveLock', 'ShareLock', 'ShareUpdateExclusiveLock'], mode)`);
  return rows;
}

async function runApart(admin: Database, statement: string): Promise<Taken[]> {
  const [, table = ""] = /\bon ([\w.]+)/.exec(statement) ?? [];
  await admin.message(statement);
  return [{ table, mode: "SHARE UPDATE EXCLUSIVE", isLong: true }];
}
