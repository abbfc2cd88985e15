/** Another session that holds a table or a row, as an operator's forgotten transaction would. @module */
import postgres from "postgres";
import { askNodes, type Database, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { citusUrl } from "./citus.ts";
import { withDatabase } from "./cluster.ts";
import { eventually } from "./eventually.ts";

const LONGEST_S = 60;

/** Runs `use` while another session holds the table `data.<name>` in access exclusive mode. */
export async function whileLocked<Result>(
  adminUrl: string,
  name: string,
  use: () => Promise<Result>,
): Promise<Result> {
  const mark = crypto.randomUUID();
  const held = withDatabase(adminUrl, (holder) =>
    holder.message(
      `lock table data."${name}" in access exclusive mode; select pg_sleep(${LONGEST_S}) /* ${mark} */`,
      { timeoutMs: 2 * LONGEST_S * 1000 },
    ),
  ).then(
    () => new Error("The lock was held for too short a time"),
    () => undefined,
  );
  return await withDatabase(adminUrl, async (other) => {
    const ask = (what: string) =>
      other.query<{ pid: number }>(
        `select pid, ${what} from pg_stat_activity join pg_locks using (pid)
        where position($1::text in query) > 0 and mode = 'AccessExclusiveLock' and granted
          and relation = to_regclass($2) and pid <> pg_backend_pid()`,
        [mark, `data."${name}"`],
        { retry: "safe", queue: SERVICE_QUEUE },
      );
    await eventually(async () => (await ask("true")).length > 0, {
      describe: () => `the lock of ${name}`,
    });
    const result = await use().finally(() => ask("pg_terminate_backend(pid)"));
    const early = await held;
    if (early !== undefined) throw early;
    return result;
  });
}

/** Runs `use` while another session has locked a row of `data.todos`; ends its transaction then. */
export async function whileRowLocked<Result>(
  adminUrl: string,
  id: string,
  use: (session: postgres.TransactionSql) => Promise<Result>,
): Promise<Result> {
  const [row] = await withDatabase(adminUrl, (admin) =>
    admin.query<{ app: string }>("select app_id as app from data.todos where id = $1", [id], {
      retry: "safe",
      queue: SERVICE_QUEUE,
    }),
  );
  const text = "select id from data.todos where app_id = $1 and id = $2 for update";
  return await whileDone(adminUrl, { text, values: [row?.app ?? "", id] }, use);
}

/** Runs `use` while another session has run a statement and not ended its transaction, which it does then. */
export async function whileDone<Result>(
  adminUrl: string,
  { text, values = [] }: { text: string; values?: string[] },
  use: (session: postgres.TransactionSql) => Promise<Result>,
): Promise<Result> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => undefined });
  const hold = async (session: postgres.TransactionSql) => {
    // Of two sessions that wait for each other, the service's is to find out first.
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

/** How many sessions wait for a lock, on every node of a distributed database. */
export async function countLockWaits(admin: Database): Promise<number> {
  const count = `select count(*)::int4 as result from pg_stat_activity
    where wait_event_type = 'Lock' and datname = current_database()`;
  const responses =
    citusUrl() === undefined
      ? await admin.query<{ result: number }>(count, [], { retry: "safe", queue: SERVICE_QUEUE })
      : await askNodes(admin, count);
  return responses.reduce((sum, { result }) => sum + Number(result), 0);
}
