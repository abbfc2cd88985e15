/** Another session that locks a table or a row, like a forgotten transaction of an operator. @module */
import postgres from "postgres";
import { askNodes, type Database, readRows } from "../../src/db/mod.ts";
import { citusUrl } from "./citus.ts";
import { withDatabase } from "./cluster.ts";
import { eventually } from "./eventually.ts";

const MAX_HOLD_S = 60;

/** Runs `use` while another session holds the table `data.<name>` in access exclusive mode. */
export async function whileLocked<Result>(
  adminUrl: string,
  name: string,
  use: () => Promise<Result>,
): Promise<Result> {
  const mark = crypto.randomUUID();
  const held = withDatabase(adminUrl, (holder) =>
    holder.message(
      `lock table data."${name}" in access exclusive mode; select pg_sleep(${MAX_HOLD_S}) /* ${mark} */`,
      { timeoutMs: 2 * MAX_HOLD_S * 1000 },
    ),
  ).then(
    () => new Error("The lock was held for too short a time"),
    () => undefined,
  );
  return await withDatabase(adminUrl, async (other) => {
    const findHolder = (column: string) =>
      readRows<{ pid: number }>(
        other,
        `select pid, ${column} from pg_stat_activity join pg_locks using (pid)
        where position($1::text in query) > 0 and mode = 'AccessExclusiveLock' and granted
          and relation = to_regclass($2) and pid <> pg_backend_pid()`,
        [mark, `data."${name}"`],
      );
    await eventually(async () => (await findHolder("true")).length > 0, {
      describe: () => `the lock of ${name}`,
    });
    const result = await use().finally(() => findHolder("pg_terminate_backend(pid)"));
    const early = await held;
    if (early !== undefined) throw early;
    return result;
  });
}

/** Runs `use` while another session has locked a row of `data.todos`, and then ends that session's transaction. */
export async function whileRowLocked<Result>(
  adminUrl: string,
  id: string,
  use: (session: postgres.TransactionSql) => Promise<Result>,
): Promise<Result> {
  const [row] = await withDatabase(adminUrl, (admin) =>
    readRows<{ app: string }>(admin, "select app_id as app from data.todos where id = $1", [id]),
  );
  const text = "select id from data.todos where app_id = $1 and id = $2 for update";
  return await whileDone(adminUrl, { text, values: [row?.app ?? "", id] }, use);
}

/** Runs `use` while another session has an open transaction with a finished statement, and then ends the transaction. */
export async function whileDone<Result>(
  adminUrl: string,
  { text, values = [] }: { text: string; values?: string[] },
  use: (session: postgres.TransactionSql) => Promise<Result>,
): Promise<Result> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => undefined });
  const hold = async (session: postgres.TransactionSql) => {
    // In a deadlock, PostgreSQL must cancel the service's session, not this one.
    await session.unsafe("set local deadlock_timeout = '30s'");
    await session.unsafe(text, values);
    return { result: await use(session) };
  };
  try {
    return (await sql.begin(hold)).result;
  } finally {
    await sql.end();
  }
}

/** Returns the number of sessions that wait for a lock, on every node of a distributed database. */
export async function countLockWaits(admin: Database): Promise<number> {
  const count = `select count(*)::int4 as result from pg_stat_activity
    where wait_event_type = 'Lock' and datname = current_database()`;
  const responses =
    citusUrl() === undefined
      ? await readRows<{ result: number }>(admin, count)
      : await askNodes(admin, count);
  return responses.reduce((sum, { result }) => sum + Number(result), 0);
}
